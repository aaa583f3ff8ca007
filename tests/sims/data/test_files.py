"""The user's files: IDX, .npz, CSV and LEAF JSON become the same arrays; what is malformed is one sentence."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from fltheory.errors import InputError
from sims import data
from sims.data.arrays import unpack
from sims.data.files import TEST_NAME, read_files
from tests.sims.data import made

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 4, 3), np.uint8)
LABELS = np.array([2, 0, 1, 2, 0, 1], np.uint8)


def zipped(members):
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return raw.getvalue()


def test_idx_files(tmp_path):
    for part, few in (("train", slice(4)), ("t10k", slice(4, 6))):
        (tmp_path / f"{part}-images-idx3-ubyte").write_bytes(made.idx(IMAGES[few]))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(made.idx(LABELS[few], zipped=True))
    found = read_files(sorted(tmp_path.iterdir()))
    assert np.array_equal(found["train_inputs"], IMAGES[:4, ..., None])
    assert np.array_equal(found["test_inputs"], IMAGES[4:, ..., None])
    assert found["train_labels"].tolist() == [2, 0, 1, 2]
    assert found["test_labels"].dtype == np.int64
    assert unpack(found["classes"]) == ("0", "1", "2")
    turned = read_files(sorted(tmp_path.iterdir()), transposed=True)
    assert np.array_equal(turned["train_inputs"][..., 0], IMAGES[:4].swapaxes(1, 2))


@pytest.mark.parametrize("keys", [("x_train", "y_train", "x_test", "y_test"), ("train_inputs", "train_labels")])
def test_npz(tmp_path, keys):
    colour = RNG.integers(0, 256, (5, 2, 2, 3), np.uint8)
    np.savez_compressed(
        tmp_path / "both.npz", **dict(zip(keys, [colour, LABELS[:5], colour[:2], LABELS[:2]], strict=False))
    )
    files = [tmp_path / "both.npz"]
    if len(keys) == 2:
        np.savez(tmp_path / "test.npz", X=colour[:2], y=LABELS[:2, None])
        files.append(tmp_path / "test.npz")
    found = read_files(files)
    assert np.array_equal(found["train_inputs"], colour)
    assert np.array_equal(found["test_labels"], [2, 0])


def test_labels_need_not_begin_at_zero(tmp_path):
    np.savez(tmp_path / "train.npz", x=IMAGES, y=[10, 1, 9, 10, 1, 9])  # as SVHN numbers its digits
    found = read_files([tmp_path / "train.npz"], hold_out=3)
    assert unpack(found["classes"]) == ("1", "9", "10")
    assert found["train_labels"].tolist() == [2, 0, 2, 0]
    assert found["test_labels"].tolist() == [1, 1]  # the third and the sixth
    assert np.array_equal(found["test_inputs"], IMAGES[[2, 5], ..., None])


def test_csv_of_pixels_or_features(tmp_path):
    for name, few in (("train.csv", IMAGES[:4]), ("test.csv", IMAGES[4:])):
        rows = [f"{label}," + ",".join(map(str, image.ravel())) for image, label in zip(few, LABELS, strict=False)]
        header = "label," + ",".join(f"pixel{i}" for i in range(12))
        (tmp_path / name).write_text("\n".join([header, *rows]) + "\n")
    files = [tmp_path / "train.csv", tmp_path / "test.csv"]
    assert np.array_equal(read_files(files, shape=(4, 3, 1))["train_inputs"][..., 0], IMAGES[:4])
    features = read_files(files)["train_inputs"]
    assert features.dtype == np.float32
    assert np.array_equal(features, IMAGES[:4].reshape(4, 12))


def test_csv_as_excel_and_pandas_write_it(tmp_path):
    """A byte order mark before the header; a feature without a name; a feature that is called y."""
    for name in ("train.csv", "test.csv"):
        (tmp_path / name).write_text("label, x \n1,2\n0,3\n", encoding="utf-8-sig")
    found = read_files([tmp_path / "train.csv", tmp_path / "test.csv"])
    assert found["train_labels"].tolist() == [1, 0]
    (tmp_path / "bare.csv").write_text("1,2\n1000000000000,3\n", encoding="utf-8-sig")
    found = read_files([tmp_path / "bare.csv"], columns=["label", "x"], hold_out=2)
    assert unpack(found["classes"]) == ("1", "1000000000000")
    (tmp_path / "frame.csv").write_text("y,label,\n5,1,0\n6,0,1\n")
    found = read_files([tmp_path / "frame.csv"], hold_out=2)
    assert (found["train_labels"].tolist(), found["train_inputs"].tolist()) == ([1], [[5, 0]])


def test_csv_in_which_pandas_made_floats_of_whole_numbers(tmp_path):
    (tmp_path / "train.csv").write_text("label,group,x\n0,7,1\n2,8,2\n", encoding="utf-8")
    (tmp_path / "test.csv").write_text("label,group,x\n2.0,7.0,1\n0.00,8,2\n-1.0,8,2\n", encoding="utf-8")
    found = read_files([tmp_path / "train.csv", tmp_path / "test.csv"])
    assert unpack(found["classes"]) == ("-1", "0", "2")
    assert found["test_labels"].tolist() == [2, 1, 0]
    assert unpack(found["group_names"]) == ("7", "8")
    assert found["test_groups"].tolist() == [0, 1, 1]
    (tmp_path / "test.csv").write_text("label,group,x\n1.5,7,1\n", encoding="utf-8")
    found = read_files([tmp_path / "train.csv", tmp_path / "test.csv"])
    assert unpack(found["classes"]) == ("0", "1.5", "2")


def test_csv_of_characters_may_end_in_a_space(tmp_path):
    (tmp_path / "lines.csv").write_text("label,text\n ,to be\no,o be \n")
    assert unpack(read_files([tmp_path / "lines.csv"], hold_out=2)["classes"]) == (" ", "b", "e", "o", "t")


def test_csv_of_tweets_with_users(tmp_path):
    rows = [(0, "ann", "Bad day"), (4, "bob", "good day, good"), (4, "ann", "Été good"), (0, "cy", "day")]
    text = "\n".join(f'"{label}","1","Mon","NO","{user}","{tweet}"' for label, user, tweet in rows)
    (tmp_path / "training.csv").write_bytes(text.encode("latin-1"))
    columns = ("label", "id", "date", "query", "group", "text")
    found = read_files([tmp_path / "training.csv"], columns=columns, encoding="latin-1", hold_out=2, length=3)
    assert unpack(found["classes"]) == ("0", "4")
    assert unpack(found["group_names"]) == ("ann", "bob", "cy")
    assert (found["groups"].tolist(), found["test_groups"].tolist()) == ([0, 0], [1, 2])
    words = unpack(found["vocabulary"])
    assert words == ("<pad>", "<unk>")  # no word occurs twice in the training part
    assert found["train_inputs"].tolist() == [[0, 1, 1], [0, 1, 1]]


def test_digits_are_characters_of_leaf(tmp_path):
    train = made.leaf(tmp_path / "train.json", {"ann": (["3141", "1415", "4159"], ["5", "9", "2"])})
    found = read_files([train, made.leaf(tmp_path / "test.json", {"ann": (["5926"], ["5"])})])
    assert unpack(found["vocabulary"]) == tuple("1234569")
    assert found["train_labels"].tolist() == [4, 6, 1]


def test_leaf_images(tmp_path):
    flat = (IMAGES.reshape(6, 12) / 255).tolist()
    train = made.leaf(tmp_path / "all_data_0_train.json", {"w1": (flat[:3], [0, 1, 1]), "w0": (flat[3:4], [5])})
    more = made.leaf(tmp_path / "all_data_1_train.json", {"w1": (flat[4:5], [0])})
    test = made.leaf(tmp_path / "all_data_0_test.json", {"w0": (flat[5:], [1])})
    found = read_files([train, more, test], shape=(4, 3, 1))
    assert np.array_equal(found["train_inputs"][..., 0], IMAGES[:5])
    assert unpack(found["group_names"]) == ("w0", "w1")
    assert found["groups"].tolist() == [1, 1, 1, 0, 1]
    assert found["train_labels"].tolist() == [0, 1, 1, 2, 0]


def test_leaf_characters(tmp_path):
    train = made.leaf(tmp_path / "train.json", {"HAMLET": (["to be", "o be "], [" ", "o"])})
    test = made.leaf(tmp_path / "test.json", {"HAMLET": ([" be o"], ["r"])})
    found = read_files([train, test])
    symbols = unpack(found["vocabulary"])
    assert symbols == (" ", "b", "e", "o", "r", "t") == unpack(found["classes"])
    assert "".join(symbols[i] for i in found["train_inputs"][0]) == "to be"
    assert "".join(symbols[i] for i in found["test_inputs"][0]) == " be o"
    assert [symbols[i] for i in (*found["train_labels"], *found["test_labels"])] == [" ", "o", "r"]


def test_leaf_tweets(tmp_path):
    rows = [["1", "Mon", "q", "ann", "good day"], ["2", "Tue", "q", "ann", "good night"]]
    files = [made.leaf(tmp_path / f"{part}.json", {"ann": (rows, [1, 0])}) for part in ("train", "test")]
    found = read_files(files, length=2)
    assert unpack(found["vocabulary"])[2:] == ("good",)
    assert found["test_inputs"].tolist() == [[2, 1], [2, 1]]


@pytest.mark.parametrize("name", ["latest.npz", "contest.csv", "train.json"])
def test_only_the_word_test_makes_a_test_file(name):
    assert not TEST_NAME.search(name)


def test_what_the_page_on_data_says_of_two_formats(folder, tmp_path, monkeypatch):
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "loadmat" in block)
    monkeypatch.chdir(tmp_path)
    colour = RNG.integers(0, 256, (100, 32, 32, 3), np.uint8)
    fine = np.roll(np.arange(100), 5)
    binary = {}
    for part in ("train", "test"):
        scipy.io.savemat(f"{part}_32x32.mat", {"X": colour.transpose(1, 2, 3, 0), "y": 1 + fine[:, None] % 10})
        rows = [
            bytes([3, label]) + image.transpose(2, 0, 1).tobytes() for label, image in zip(fine, colour, strict=True)
        ]
        binary[f"cifar-100-binary/{part}.bin"] = b"".join(rows)
    Path("cifar-100-binary.tar.gz").write_bytes(made.tar(binary))
    exec(code, {})
    for name, labels in (("svhn", (1 + fine) % 10), ("cifar-100", fine)):
        data.add(name, [f"{name}.npz"])
        loaded = data.load(name)
        assert np.array_equal(loaded.train_inputs, colour)
        assert np.array_equal(loaded.test_inputs, colour)
        assert loaded.classes == tuple(map(str, range(len(set(labels)))))
        assert loaded.train_labels.tolist() == labels.tolist()


def bad(tmp_path, name, content):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    np.savez(tmp_path / "fine_test.npz", x=IMAGES, y=LABELS)
    return [tmp_path / name, tmp_path / "fine_test.npz"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "", r"a well-formed one of its format \(ValueError: no column called label in \[\]\)"),
        ("a.csv", "label,x\n1\n", r"1 fields in row 1, 2 columns"),
        ("a.csv", "label,x\n1,two\n", "a well-formed one of its format"),
        ("a.csv", "label,x,Label \n1,2,1\n", "two columns called label"),
        ("a.csv", "label,x\n1,2\n\n ,2\n", r"no label in row 2, line 4 of the file"),
        ("a.csv", "x,label\n1,b\n2,NaN\n", r"no label in row 2, line 3 of the file"),
        ("a.csv", "label,group,text\n1,ann,good\n1,,good\n", r"no group in row 2, line 3 of the file"),
        ("a.csv", b"label,text\n1,\xff\n", "a well-formed one of its format"),
        ("a.csv", "label,text\n1,two words\n", "of one kind in both parts"),
        ("a.csv", "label,x\n1,2\n", r"test inputs must be of shape \(1,\)"),
        ("a.csv", "label,x\n1.5,2\n", r"test inputs|labels"),
        ("a.csv", 'label,text\n0,good day\n1,"so he said\n0,hello\n', "unexpected end of data"),
        (
            "a.npz",
            zipped({"x.npy": b"\x93NUMPY\1\0\4\0{(((", "y.npy": b""}),
            "a well-formed one of its format .TokenError",
        ),
        ("a.csv", ",label,x\n0,1,2\n", r"the first column has no name, as pandas' row numbers"),
        ("a.npz", zipped({"x": b"raw"}), "x is no array with an entry for each sample"),
        ("a.csv", "label\n1\n", r"inputs must be of at least one number a sample; got \(1, 0\)"),
        ("a.json", "{", "a well-formed one of its format"),
        ("a.json", "[]", "a well-formed one of its format"),
        pytest.param("a.json", "[" * 100_000, "a well-formed one of its format", id="deep"),
        ("a.json", '{"users": ["u"], "user_data": {"u": {"x": [[1]], "y": []}}}', "1 inputs and 0 labels"),
        (
            "a.json",
            '{"users": ["u"], "num_samples": [2], "user_data": {"u": {"x": [[1]], "y": [1]}}}',
            "user u has 1 samples, and num_samples says 2",
        ),
        (
            "a.json",
            '{"users": ["u"], "num_samples": [1, 1], "user_data": {"u": {"x": [[1]], "y": [1]}}}',
            "num_samples of 2 users, and 1 users",
        ),
        (
            "a.json",
            '{"users": ["u"], "num_samples": null, "user_data": {"u": {"x": [[1]], "y": [1]}}}',
            "num_samples is no list of numbers",
        ),
        ("a.json", '{"users": ["u", "u"], "user_data": {"u": {"x": [[1]], "y": [1]}}}', "user 'u' twice"),
        ("a.json", '{"users": ["1", "1.0"], "user_data": {"1": {"x": [[1]], "y": [1]}}}', "user '1' twice"),
        *(
            ("a.json", f'{{"users": ["u"], "user_data": {{"u": {{"x": ["a", {other}], "y": [1, 2]}}}}}}', sentence)
            for other in ("null", "[1, 2]", "5")
            for sentence in ["1 of 2 inputs are texts, and the others are not"]
        ),
        (
            "a.json",
            '{"users": ["u"], "user_data": {"u": {"x": [["good", "u"]], "y": [1]}}}',
            "an input of 2 texts: one is a text, or a tweet",
        ),
        ("a.json", '{"users": [], "user_data": {}}', "as many inputs as labels, at least one"),
        ("a.bin", "text", "file must be IDX, .npz, .csv or LEAF's .json"),
        ("a.npz", b"PKxxx", "a well-formed one of its format"),
        ("a.idx", b"\0\0\7", "must be an IDX file"),
        ("a.idx", made.idx(IMAGES), "files must be complete for the train part; got 'no labels'"),
    ],
    ids=count(),
)
def test_malformed_files(tmp_path, name, content, sentence):
    with pytest.raises(InputError, match=sentence):
        read_files(bad(tmp_path, name, content))


def test_files_that_do_not_fit(tmp_path):
    def saved(name, **arrays):
        np.savez(tmp_path / name, **arrays)
        return tmp_path / name

    fine, test = saved("train.npz", x=IMAGES, y=LABELS), saved("test.npz", x=IMAGES, y=LABELS)
    flat, flat_test = (saved(f"flat_{file.name}", x=IMAGES.reshape(6, 12), y=LABELS) for file in (fine, test))
    cases = [
        ([], {}, "at least one file"),
        ([fine], {}, "with one whose name says test"),
        ([fine], {"hold_out": 7}, "hold_out must be at most 6"),
        ([fine], {"hold_out": 1}, "hold_out must be a whole number of at least 2"),
        ([test], {}, "complete for the train part"),
        ([saved("a.npz", x=IMAGES, y=LABELS[:5]), test], {}, "as many inputs as labels"),
        ([saved("b.npz", x=IMAGES, q=LABELS), test], {}, "array in b.npz must be x, y or groups"),
        ([saved("c.npz", x=IMAGES, y=LABELS, groups=LABELS), test], {}, "in the training and in the test part"),
        ([saved("d.npz", x=IMAGES * 2.0, y=LABELS), test], {}, "whole numbers from 0 to 255, or numbers from 0 to 1"),
        (
            [saved("e.npz", x=IMAGES * np.nan, y=LABELS), test],
            {},
            r"inputs\[0\] must be of finite numbers of 32 bits; got nan",
        ),
        ([saved("f.npz", x=IMAGES, y=LABELS / 2), test], {}, "labels must be whole numbers or names"),
        ([saved("o.npz", x=IMAGES, y=[*"abcab", ""])], {"hold_out": 2}, "labels must be .* got \"the name ''"),
        ([saved("p.npz", x=IMAGES, y=LABELS, groups=[*"abcab", "nan"])], {"hold_out": 6}, "groups must be whole"),
        ([saved("g.npz", x=IMAGES[:, 0, 0], y=LABELS), test], {}, "inputs must be of shape"),
        ([saved("r.npz", x=np.float64(3), y=LABELS), test], {}, "x is no array with an entry for each sample"),
        ([saved("s.npz", x=IMAGES, y=LABELS, groups=3), test], {}, "groups is no array with an entry for each"),
        ([saved("t.npz", x=IMAGES[:, :0], y=LABELS), test], {}, r"at least one number a sample; got \(6, 0, 3\)"),
        (
            [saved("u.npz", x=np.full((6, 2), 1e300), y=LABELS), test],
            {},
            r"inputs\[0\] must be of finite .* got 1e\+300",
        ),
        ([saved("q.npz", x=np.zeros((6, 3, 5, 5)), y=LABELS), test], {}, r"channels come last; got \(6, 3, 5, 5\)"),
        ([flat, flat_test], {"shape": (5, 5, 1)}, r"shape must be \(height, width, channels\) of 12 numbers"),
        ([fine, test], {"shape": (4, 3, 1)}, r"shape must be left out: the files hold images of shape \(4, 3\)"),
        ([fine, test], {"columns": ["label", "x"]}, "columns must be left out: no file is a CSV"),
        ([fine, test], {"hold_out": 2}, "hold_out must be left out: the files have a test part; got 2"),
        ([fine, saved("h.npz", x=IMAGES[:, 1:], y=LABELS), test], {}, "inputs of several shapes"),
        ([tmp_path / "none.npz"], {}, "one that can be read"),
    ]
    for files, options, sentence in cases:
        with pytest.raises(InputError, match=sentence):
            read_files(files, **options)
    half = tmp_path / "half.json"
    half.write_text('{"users": ["u"], "user_data": {"u": {"x": [[1], [2]], "y": ["\\ud800", "b"]}}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"^files must be of whole characters; got '\\ud800'$"):
        read_files([half], hold_out=2)
    objects = saved("i.npz", x=np.array([{}], object), y=LABELS)
    with pytest.raises(InputError, match="a well-formed one of its format"):  # objects would have to be unpickled
        read_files([objects, test])


def test_files_become_a_data_set_of_their_own(folder, tmp_path):
    np.savez(tmp_path / "mine_train.npz", x=IMAGES, y=LABELS, groups=["a", "b", "a", "b", "a", "b"])
    np.savez(tmp_path / "mine_test.npz", x=IMAGES[:2], y=LABELS[:2], groups=["b", "b"])
    files = [tmp_path / "mine_train.npz", tmp_path / "mine_test.npz"]
    path = data.add("my-letters", files, licence="mine")
    assert path == folder / "my-letters.npz" == data.path("my-letters") == data.fetch("my-letters")
    assert data.verify("my-letters")
    assert "my-letters" in data.names()
    loaded = data.load("my-letters")
    assert (loaded.name, loaded.licence, loaded.n_classes) == ("my-letters", "mine", 3)
    assert loaded.source == "files: mine_train.npz, mine_test.npz"
    assert re.fullmatch("[0-9a-f]{64}", loaded.hash)
    assert loaded.groups.tolist() == [0, 1, 0, 1, 0, 1]
    entry = next(entry for entry in data.describe() if entry["name"] == "my-letters")
    assert entry["state"] == "cached"
    assert sorted(file.name for file in folder.iterdir()) == ["my-letters.json", "my-letters.npz"]
    with pytest.raises(InputError, match="small letters, digits and hyphens"):
        data.add("../elsewhere", files)
    with pytest.raises(InputError, match=r"content hash of mnist must be .* it was not used"):
        data.add("mnist", files)
    with pytest.raises(InputError, match="a log is read from its own file"):
        data.add("phone-activity", files)


def test_a_known_name_knows_that_its_images_are_turned(folder, tmp_path):
    images = RNG.integers(0, 256, (10, 28, 28), np.uint8)
    np.savez(tmp_path / "emnist.npz", x_train=images, y_train=range(10), x_test=images, y_test=range(10))
    data.add("emnist-digits", [tmp_path / "emnist.npz"])
    assert np.array_equal(data.load("emnist-digits").train_inputs[..., 0], images.swapaxes(1, 2))


@pytest.mark.parametrize(
    ("name", "x", "n_classes", "sentence"),
    [
        ("svhn", np.zeros((12, 4, 4), np.uint8), 3, r"images \(32, 32, 3\), as svhn is, or given under another name"),
        ("svhn", np.zeros((12, 32, 32, 3), np.uint8), 3, "files must be of 10 classes.*; got '3 classes'"),
        ("cifar-100", np.zeros((100, 16)), 100, r"images \(32, 32, 3\), as cifar-100 is.*; got '16 numbers'"),
        ("cinic-10", np.zeros((12, 32, 32, 1), np.uint8), 10, r"got 'images \(32, 32, 1\)'"),
        ("emnist-digits", np.zeros((99, 28, 28), np.uint8), 26, "of 10 classes, as emnist-digits is"),
        ("femnist", np.zeros((12, 14, 56), np.uint8), 10, r"images \(28, 28, 1\), as femnist is.*images \(14, 56, 1\)"),
        ("sentiment140", np.zeros((12, 4, 4), np.uint8), 2, "files must be texts, as sentiment140 is"),
    ],
)
def test_a_known_name_is_not_for_other_data(folder, tmp_path, name, x, n_classes, sentence):
    np.savez(tmp_path / "ok.npz", x=x, y=np.arange(len(x)) % n_classes)
    with pytest.raises(InputError, match=sentence):
        data.add(name, [tmp_path / "ok.npz"], hold_out=3)
    assert not data.is_fetched(name)
    data.add("my-own", [tmp_path / "ok.npz"], hold_out=3)


def test_digits_are_nobody_elses(folder, tmp_path):
    np.savez(tmp_path / "mine.npz", x=IMAGES, y=LABELS)
    with pytest.raises(InputError, match="name must be another one: digits come with scikit-learn; got 'digits'"):
        data.add("digits", [tmp_path / "mine.npz"], hold_out=2)
    data.add("mine", [tmp_path / "mine.npz"], hold_out=2)
    for suffix in ("json", "npz"):  # as an older version wrote them
        (folder / f"mine.{suffix}").rename(folder / f"digits.{suffix}")
    assert "digits" not in data.names()
    for unknown in (data.load, data.fetch):
        with pytest.raises(InputError, match=r"one of cifar-10, .*digits.* \(did you mean digits\?\)"):
            unknown("digit")
