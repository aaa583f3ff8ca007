"""How much memory there is, by what the system says: made files stand for those of Linux."""

import math
import resource
import subprocess
import sys

import pytest

from sims.training import room

GIB = 2**30


@pytest.fixture
def system(tmp_path, monkeypatch):
    """Writes files of /proc and /sys/fs/cgroup; 8 GiB are free."""
    monkeypatch.setattr(room, "PROC", tmp_path / "proc")
    monkeypatch.setattr(room, "CGROUPS", tmp_path / "cgroup")

    def write(**files):
        for name, text in files.items():
            path = tmp_path / name.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")

    write(proc__meminfo=f"MemTotal: {16 * 2**20} kB\nMemAvailable: {8 * 2**20} kB")
    return write


def test_what_is_free_counts_and_not_what_there_is(system):
    assert room.of_the_machine() == 8 * GIB


def test_the_tightest_of_the_control_groups_around_a_process_counts(system):
    system(proc__self__cgroup="0::/a/b")
    system(cgroup__a__b__memory_dot_max="max", cgroup__a__b__memory_dot_current=GIB)
    system(cgroup__a__memory_dot_max=4 * GIB, cgroup__a__memory_dot_current=3 * GIB)
    assert room.of_the_machine() == GIB
    system(cgroup__a__memory_dot_stat=f"anon {2 * GIB}\ninactive_file {GIB // 2}")
    assert room.of_the_machine() == GIB + GIB // 2
    system(cgroup__a__memory_dot_current=9 * GIB)
    assert room.of_the_machine() == 0


def test_control_groups_of_the_first_version(system):
    system(proc__self__cgroup="3:cpu,cpuacct:/a\n4:memory:/not/there")
    system(cgroup__memory__memory_dot_limit_in_bytes=3 * GIB, cgroup__memory__memory_dot_usage_in_bytes=GIB)
    assert room.of_the_machine() == 2 * GIB


def test_a_limit_of_the_shell_counts_less_what_is_mapped(system, monkeypatch):
    system(proc__self__statm=f"{GIB // resource.getpagesize()} 5 5 5")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (3 * GIB, resource.RLIM_INFINITY))
    assert room.of_the_process() == 2 * GIB
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert room.of_the_process() == math.inf


def test_a_real_limit_is_seen():
    script = "from sims.training import room; print(room.of_the_process())"
    limited = f"ulimit -v {4 * 2**20}; exec {sys.executable} -c '{script}'"
    found = int(subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=True).stdout)
    assert 3 * GIB < found < 4 * GIB


@pytest.mark.torch
def test_torch_that_does_not_fit_under_a_real_limit_is_not_said_to_be_missing():
    """64 MiB more than is mapped when all else is imported; torch's libraries are hundreds."""
    pytest.importorskip("torch", reason="needs the training extra")
    script = """
import resource
from sims.training import problem
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + 2**26, resource.getrlimit(resource.RLIMIT_AS)[1]))
try:
    problem.require_torch()
except ValueError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.startswith("problem must be asked for where memory holds torch (")
