"""Simulating on a Dask cluster: the same bits, and one sentence where there is none."""

import importlib.util
import sys

import pytest

from fltheory.errors import InputError
from tests.analysis.simulate_command.made import quietly

HAS_DASK = importlib.util.find_spec("distributed") is not None


def test_without_dask_the_extra_is_named(file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "dask.distributed", None)
    with pytest.raises(
        InputError, match=r"backend must be installed first: pip install 'fltheory\[cluster\]'; got 'dask'"
    ):
        quietly(file, tmp_path / "store", backend="dask")


@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere://", "127.0.0.1"])
def test_a_scheduler_that_is_not_there_is_one_sentence(file, tmp_path, monkeypatch, address):
    from sims.montecarlo import simulate as module

    monkeypatch.setattr(module, "CONNECT", 1)
    with pytest.raises(InputError, match="scheduler must be the address of a running Dask scheduler") as caught:
        quietly(file, tmp_path / "store", backend="dask", scheduler=address)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_scheduler_without_workers_is_one_sentence(file, tmp_path, monkeypatch):
    from dask.distributed import LocalCluster

    from sims.montecarlo import simulate as module

    monkeypatch.setattr(module, "CONNECT", 1)
    says = r"^scheduler must be a Dask scheduler with a worker \(none took a task in 1 s\); got 'tcp://.*'$"
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster, pytest.raises(InputError, match=says):
        quietly(file, tmp_path / "store", backend="dask", scheduler=cluster.scheduler_address)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_DASK, reason="needs the extra `cluster`")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_dask_cluster_of_two_processes_gives_the_same_bits(file, tmp_path):
    from dask.distributed import LocalCluster

    whole = quietly(file, tmp_path / "whole")
    assert quietly(file, tmp_path / "own", workers=2, backend="dask").sha256 == whole.sha256
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        found = quietly(file, tmp_path / "given", backend="dask", scheduler=cluster.scheduler_address)
    assert found.sha256 == whole.sha256
