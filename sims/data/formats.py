"""Two formats of images, read without an imaging library: IDX and PNG."""

from __future__ import annotations

import gzip
import struct
import zlib

import numpy as np
import numpy.typing as npt

from fltheory.errors import InputError
from sims.data.arrays import Array

Bytes = npt.NDArray[np.uint8]

_PNG = b"\x89PNG\r\n\x1a\n"
_IDX_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_idx(raw: bytes, file: str = "file") -> Array:
    """The array of an IDX file, gzipped or not (MNIST's format: two zeros, type, axes, big-endian sizes, values).

    Raises InputError, naming `file`, for anything else.
    """
    try:
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        kind, axes = _IDX_TYPES[raw[2]], raw[3]
        shape = struct.unpack(f">{axes}I", raw[4 : 4 + 4 * axes])
        if raw[:2] != b"\0\0" or axes == 0:
            raise ValueError("no IDX header")
        return np.frombuffer(raw, kind, offset=4 + 4 * axes).reshape(shape)
    except (OSError, EOFError, zlib.error, KeyError, IndexError, struct.error, ValueError) as error:
        raise InputError(file, f"{len(raw)} bytes", f"an IDX file ({error!r})") from None


def read_png(raw: bytes, file: str = "file") -> Bytes:
    """The pixels (height, width, channels) of a PNG with 8 bits a channel, grey or RGB, not interlaced.

    Rows filtered by Sub or Up are undone a row at a time or all at once, the rare others pixel by pixel.
    Raises InputError, naming `file`, for anything else.
    """
    try:
        if not raw.startswith(_PNG):
            raise ValueError("no PNG signature")
        at, packed = len(_PNG), []
        width, height, bits, colour, *how = struct.unpack(">IIBBBBB", raw[at + 8 : at + 21])
        if bits != 8 or colour not in (0, 2) or any(how):
            raise ValueError("not 8 bits a channel in grey or RGB, or interlaced")
        while at < len(raw):
            (size,) = struct.unpack(">I", raw[at : at + 4])
            if raw[at + 4 : at + 8] == b"IDAT":
                packed.append(raw[at + 8 : at + 8 + size])
            at += 12 + size
        channels = 3 if colour == 2 else 1
        rows = np.frombuffer(zlib.decompress(b"".join(packed)), np.uint8).reshape(height, 1 + width * channels)
        return _unfilter(rows[:, 0], rows[:, 1:].reshape(height, width, channels).copy())
    except (struct.error, zlib.error, ValueError) as error:
        raise InputError(file, f"{len(raw)} bytes", f"a PNG, 8 bits, grey or RGB, not interlaced ({error})") from None


def _unfilter(filters: Bytes, pixels: Bytes) -> Bytes:
    sub = filters == 1
    pixels[sub] = np.cumsum(pixels[sub], axis=1, dtype=np.uint8)  # all at once: no row needs another
    for row in np.flatnonzero(filters > 1):
        up = pixels[row - 1] if row else np.zeros_like(pixels[0])
        if filters[row] == 2:
            pixels[row] += up
        elif filters[row] in (3, 4):
            _unfilter_row(int(filters[row]), pixels[row], up.astype(int))
        else:
            raise ValueError(f"filter {filters[row]}")
    return pixels


def _unfilter_row(kind: int, row: Bytes, up: npt.NDArray[np.int_]) -> None:
    """Average (3) and Paeth (4), in place: each pixel needs the one on its left."""
    left = corner = np.zeros(row.shape[1], int)
    for j in range(len(row)):
        if kind == 3:
            guess = (left + up[j]) // 2
        else:
            line = left + up[j] - corner
            a, b, c = abs(line - left), abs(line - up[j]), abs(line - corner)
            guess = np.where((a <= b) & (a <= c), left, np.where(b <= c, up[j], corner))
        left = (row[j] + guess) & 255
        row[j], corner = left, up[j]
