"""Labels and groups of files: in whatever form they come, the same ones are the same."""

from __future__ import annotations

import numpy as np
import pytest

from fltheory.errors import InputError
from sims.data.arrays import unpack
from sims.data.files import read_files
from tests.sims.data import made


def test_whole_numbers_that_are_floats_are_labels_and_groups(tmp_path):
    given = [2.0, 0.0, -1.0]
    for part in ("train", "test"):
        made.leaf(tmp_path / f"{part}.json", {"ann": ([[1], [2], [3]], given)})
        np.savez(tmp_path / f"{part}.npz", x=np.ones((3, 1)), y=given, groups=given)
    for kind in ("json", "npz"):
        found = read_files([tmp_path / f"{part}.{kind}" for part in ("train", "test")])
        assert unpack(found["classes"]) == ("-1", "0", "2")
        assert found["test_labels"].tolist() == [2, 1, 0]
    assert unpack(found["group_names"]) == ("-1", "0", "2")
    for wrong in (0.5, np.nan, np.inf, 2.0**53):
        np.savez(tmp_path / "train.npz", x=np.ones((3, 1)), y=[0, 1, wrong], groups=given)
        with pytest.raises(InputError, match=r"^labels must be whole numbers or names"):
            read_files([tmp_path / f"{part}.npz" for part in ("train", "test")])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([3.0, 1.0, 0.0], ["3", "1", "0"]),
        (["3.0", "1", "0"], [3, 1, 0]),
        (np.array([3, 1, 0], np.float16), ["3.00", "1", "0"]),
        (np.array([3, 1, 0], np.uint64), [3, 1, 0]),
        (np.array([2e7, 1e6, 0], np.float32), ["20000000", "1000000", "0"]),  # as text 2e+07
        (np.array([2048, 1, 0], np.float16), [2048, 1, 0]),
    ],
)
def test_labels_and_groups_of_several_forms_are_the_same(tmp_path, first, second, recwarn):
    for name, given in (("train_a", first), ("train_b", second), ("test", second)):
        np.savez(tmp_path / f"{name}.npz", x=np.ones((3, 1)), y=given, groups=given)
    rows = "".join(f"{label},{label},1\n" for label in second)
    (tmp_path / "train_c.csv").write_text(f"label,group,x\n{rows}")
    found = read_files(sorted(tmp_path.iterdir()))
    assert len(unpack(found["classes"])) == 3
    assert (
        set(unpack(found["classes"])) == set(unpack(found["group_names"])) == {str(int(float(one))) for one in second}
    )
    assert found["train_labels"].tolist() == found["train_labels"][:3].tolist() * 3
    assert found["train_labels"].tolist() == found["groups"].tolist()
    assert not recwarn.list


def test_names_that_are_refused_alone_are_refused_beside_others(tmp_path):
    np.savez(tmp_path / "train_a.npz", x=np.ones((2, 1)), y=["a", "1"])
    np.savez(tmp_path / "test.npz", x=np.ones((2, 1)), y=["a", "1"])
    for wrong, shown in (
        ([0.5, 1], "0.5"),
        ([True, False], "'type bool'"),
        (np.ones(2, np.clongdouble), f"'type {np.dtype(np.clongdouble)}'"),
        (np.array(["2020-01-01"] * 2, "M8[D]"), r"'type datetime64\[D\]'"),
    ):
        np.savez(tmp_path / "train_b.npz", x=np.ones((2, 1)), y=wrong)
        with pytest.raises(InputError, match=f"^labels must be whole numbers or names, one a sample; got {shown}$"):
            read_files(sorted(tmp_path.iterdir()))


def test_large_ids_stay_apart(tmp_path):
    ids = [2**63 - 1, 2**63 - 2, -(2**63)]
    for part in ("train", "test"):
        np.savez(tmp_path / f"{part}.npz", x=np.ones((3, 1)), y=ids, groups=np.array(ids, np.int64).view(np.uint64))
    found = read_files(sorted(tmp_path.iterdir()))
    assert unpack(found["classes"]) == (str(-(2**63)), str(2**63 - 2), str(2**63 - 1))
    assert set(unpack(found["group_names"])) == {str(2**63 - 1), str(2**63 - 2), str(2**63)}
    assert found["train_labels"].tolist() == [2, 1, 0]
    (tmp_path / "large.csv").write_text(f"label,x\n{10**20},2\n{10**20 + 1},2\n")
    found = read_files([tmp_path / "large.csv"], hold_out=2)
    assert unpack(found["classes"]) == (str(10**20), str(10**20 + 1))


def test_labels_are_numbers_in_all_files_or_in_none(tmp_path):
    """Whether 01 is 1 does not hang on what else the same file holds."""
    (tmp_path / "train.csv").write_text("label,v\n01,1\n1,2\nx,3\n")
    (tmp_path / "test.csv").write_text("label,v\n01,1\n1,2\n")
    found = read_files(sorted(tmp_path.iterdir()))
    assert unpack(found["classes"]) == ("01", "1", "x")
    assert found["test_labels"].tolist() == [0, 1]
    (tmp_path / "train.csv").write_text(f"label,v\n{2**63 - 1},1\n9,2\n01,3\n")
    np.savez(tmp_path / "train.npz", x=np.ones((3, 1)), y=[2**63 - 1, 9, 1])
    found = read_files(sorted(tmp_path.iterdir()))
    assert unpack(found["classes"]) == ("1", "9", str(2**63 - 1))
    assert found["test_labels"].tolist() == [0, 0]
    assert found["train_labels"].tolist() == [2, 1, 0] * 2
    (tmp_path / "tweets.csv").write_text("label,text\n0,bad\n4,fun\n4,fun\n")
    found = read_files([tmp_path / "tweets.csv"], hold_out=3)  # of one length, and no characters
    assert unpack(found["vocabulary"]) == ("<pad>", "<unk>")
