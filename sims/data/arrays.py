"""Arrays in one uncompressed `.npz` whose members can be mapped into memory, and the hash of their content.

Every member starts at a multiple of 64 bytes, so a mapped array is aligned as one in memory is. Equal arrays give
equal files: nothing in a file depends on when or where it was written. Lists of words travel as JSON in bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError

Array = npt.NDArray[Any]
_ALIGN = 64
_PADDING = 0xD935  # the header id that zip tools use for padding
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")


def save_arrays(target: Path, arrays: Mapping[str, Array]) -> None:
    """Write the arrays to `target`, uncompressed. Raises ValueError for an array of objects: nothing is pickled."""
    with target.open("wb") as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            member.create_system = 3
            start = stream.tell() + _LOCAL_HEADER.size + len(member.filename) + 4
            padding = -start % _ALIGN
            member.extra = struct.pack("<HH", _PADDING, padding) + bytes(padding)
            member.file_size = array.nbytes + 1024  # what decides whether the header is a long one
            with archive.open(member, "w") as out:
                np.lib.format.write_array(out, np.ascontiguousarray(array), allow_pickle=False)


def map_arrays(file: Path) -> dict[str, Array]:
    """The arrays of an uncompressed `.npz`, mapped read-only: what is not looked at is not read.

    Raises InputError for a file that is none, that is compressed or that holds objects.
    """
    try:
        with zipfile.ZipFile(file) as archive, file.open("rb") as stream:
            return {member.filename.removesuffix(".npy"): _map(file, stream, member) for member in archive.infolist()}
    except (OSError, ValueError, struct.error, zipfile.BadZipFile, SyntaxError) as error:
        raise InputError("file", str(file), f"an uncompressed .npz of plain arrays ({error})") from None


def _map(file: Path, stream: Any, member: zipfile.ZipInfo) -> Array:
    if member.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.filename} is compressed")
    stream.seek(member.header_offset)
    header = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
    stream.seek(header[-2] + header[-1], 1)
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read_header(stream)
    if dtype.hasobject or fortran:
        raise ValueError(f"{member.filename} holds objects or is in Fortran order")
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.memmap(file, dtype, "r", stream.tell(), shape)


def content_hash(arrays: Mapping[str, Array]) -> str:
    """SHA-256 of names, types, shapes and values (little-endian), whatever file they stand in.

    What the classes are called ("classes") does not count: sources spell it differently.
    """
    digest = hashlib.sha256()
    for name in sorted(set(arrays) - {"classes"}):
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.reshape(-1).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def pack(words: Sequence[str]) -> npt.NDArray[np.uint8]:
    """A list of texts as an array of bytes."""
    return np.frombuffer(json.dumps(list(words), ensure_ascii=False).encode(), np.uint8)


def unpack(packed: Array) -> tuple[str, ...]:
    """The texts that `pack` packed."""
    return tuple(json.loads(packed.tobytes()))
