"""IDX, PNG and our own arrays: what is written is what is read, and anything else is one sentence."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fltheory.errors import InputError
from sims.data.archives import deb_members, tar_members, wheel_members
from sims.data.arrays import content_hash, map_arrays, pack, save_arrays, unpack
from sims.data.formats import read_idx, read_png
from tests.sims.data import made


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("kind", ["u1", "i4", "f4"])
@pytest.mark.parametrize("shape", [(3,), (2, 4, 5), (0, 3)])
def test_idx(zipped, kind, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    found = read_idx(made.idx(array, zipped=zipped))
    assert found.shape == shape
    assert np.array_equal(found, array)


GOOD = made.idx(np.arange(6, dtype="u1").reshape(2, 3))


@pytest.mark.parametrize(
    "raw",
    [b"", b"\0\0", b"\x1f\x8bx", GOOD[:-1], GOOD + b"!", b"\0\1" + GOOD[2:], b"\0\0\7\1" + GOOD[4:], b"\0\0\x08\0"],
)
def test_what_is_no_idx(raw):
    with pytest.raises(InputError, match="train-labels must be an IDX file"):
        read_idx(raw, "train-labels")


@given(st.integers(1, 6), st.integers(1, 7), st.sampled_from([1, 3]), st.data())
def test_png_with_every_filter(height, width, channels, data):
    seed = data.draw(st.integers(0, 1000))
    filters = data.draw(st.lists(st.integers(0, 4), min_size=height, max_size=height))
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, channels), np.uint8)
    assert np.array_equal(read_png(made.png(pixels, filters)), pixels)


def test_png_of_an_imaging_library():
    image = pytest.importorskip("PIL.Image")
    import io

    pixels = np.random.default_rng(0).integers(0, 256, (5, 9, 3), np.uint8)
    out = io.BytesIO()
    image.fromarray(pixels).save(out, "png")
    assert np.array_equal(read_png(out.getvalue()), pixels)


PICTURE = made.png(np.zeros((2, 3, 3), np.uint8))


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"GIF89a" + bytes(40),
        PICTURE[:20],
        PICTURE.replace(b"IDAT", b"IDOT"),
        made.png(np.zeros((2, 3, 3), np.uint8), interlace=1),
        PICTURE[:24] + b"\x10" + PICTURE[25:],  # 16 bits
        PICTURE[:16] + b"\0\0\0\4" + PICTURE[20:],  # another width
    ],
)
def test_what_is_no_png_of_the_kind(raw):
    with pytest.raises(InputError, match="batch must be a PNG, 8 bits, grey or RGB, not interlaced"):
        read_png(raw, "batch")


ARRAYS = {
    "images": np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1),
    "labels": np.array([3, 1]),
    "vectors": np.ones((3, 5), np.float32),
    "none": np.zeros((0, 4), np.int32),
    "transposed": np.arange(6.0).reshape(2, 3).T,
}


def test_arrays_are_mapped_aligned_and_the_same_bytes_each_time(tmp_path):
    file, again = tmp_path / "a.npz", tmp_path / "b.npz"
    save_arrays(file, ARRAYS)
    save_arrays(again, ARRAYS)
    assert file.read_bytes() == again.read_bytes()
    found = map_arrays(file)
    with np.load(file, allow_pickle=False) as plain:  # any reader of .npz reads it
        for name, array in ARRAYS.items():
            assert np.array_equal(plain[name], array)
            assert np.array_equal(found[name], array)
            assert found[name].dtype == array.dtype
    assert isinstance(found["images"], np.memmap)
    assert all(array.ctypes.data % 64 == 0 for array in found.values() if array.size)
    with pytest.raises(ValueError, match="read-only"):
        found["labels"][0] = 1


def test_what_cannot_be_mapped(tmp_path):
    file = tmp_path / "a.npz"
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        save_arrays(file, {"objects": np.array([None])})
    np.savez_compressed(file, x=np.ones(3))
    with pytest.raises(InputError, match=r"uncompressed .npz of plain arrays"):
        map_arrays(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", b"text")
    with pytest.raises(InputError, match=r"uncompressed .npz of plain arrays"):
        map_arrays(file)
    file.write_bytes(b"text")
    with pytest.raises(InputError, match=r"uncompressed .npz of plain arrays"):
        map_arrays(file)


def test_the_content_hash_is_of_the_content():
    known = content_hash(ARRAYS)
    assert known == content_hash(dict(reversed(ARRAYS.items())))
    assert known == content_hash({**ARRAYS, "classes": pack(["a", "b"])})
    assert known == content_hash({**ARRAYS, "vectors": ARRAYS["vectors"].astype(">f4")})
    assert known != content_hash({**ARRAYS, "labels": np.array([3, 2])})
    assert known != content_hash({**ARRAYS, "labels": np.array([3, 1], np.int32)})
    assert known != content_hash({**ARRAYS, "vectors": ARRAYS["vectors"].reshape(5, 3)})


def test_words_are_packed():
    words = ("a", "\n", '"', "é—", "")
    assert unpack(pack(words)) == words


def test_members_of_archives(tmp_path):
    files = {"a/x": b"1", "a/y": b"2", "b": b"3"}
    file = tmp_path / "archive"
    file.write_bytes(made.deb({f"./{name}": content for name, content in files.items()}))
    assert deb_members(file, ["a/y"]) == {"a/y": b"2"}
    with pytest.raises(InputError, match=r"an archive with b2, c"):
        deb_members(file, ["c", "b2", "b"])
    file.write_bytes(made.tar(files))
    assert tar_members(file, ["b", "a/x"]) == {"a/x": b"1", "b": b"3"}
    with pytest.raises(InputError, match=r"a Debian package with a data.tar"):
        deb_members(file, ["b"])
    made.wheel(file, files)
    assert wheel_members(file, "a/") == {"a/x": b"1", "a/y": b"2"}
    with pytest.raises(InputError, match=r"a wheel with c\*"):
        wheel_members(file, "c")
    with pytest.raises(InputError, match="a tar archive that can be read"):
        tar_members(file, ["b"])
    file.write_bytes(b"text")
    with pytest.raises(InputError, match="a wheel that can be read"):
        wheel_members(file, "a")
