"""Small artefacts of the kinds that packages ship."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np


def idx(array: np.ndarray, *, zipped: bool = False) -> bytes:
    kinds = {"u1": 0x08, "i4": 0x0C, "f4": 0x0D}
    kind = array.dtype.str[1:]
    raw = bytes([0, 0, kinds[kind], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    raw += array.astype(">" + kind).tobytes()
    return gzip.compress(raw) if zipped else raw


def png(pixels: np.ndarray, filters: list[int] | None = None, *, interlace: int = 0) -> bytes:
    """A PNG of uint8 pixels (height, width, channels), row r filtered by filters[r] (0 to 4)."""
    height, width, channels = pixels.shape
    rows = []
    for r in range(height):
        x = pixels[r].astype(int)
        left = np.vstack([np.zeros((1, channels), int), x[:-1]])
        up = pixels[r - 1].astype(int) if r else np.zeros_like(x)
        corner = np.vstack([np.zeros((1, channels), int), up[:-1]])
        line = left + up - corner
        a, b, c = abs(line - left), abs(line - up), abs(line - corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        kind = filters[r] if filters else 0
        guess = [0 * x, left, up, (left + up) // 2, paeth][kind]
        rows.append(bytes([kind]) + (x - guess).astype(np.uint8).tobytes())
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, interlace)
    packed = zlib.compress(b"".join(rows))
    chunks = [(b"IHDR", head), (b"IDAT", packed[:7]), (b"IDAT", packed[7:]), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return b"\x89PNG\r\n\x1a\n" + body


def tar(files: dict[str, bytes], mode: str = "gz") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=f"w:{mode}") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def deb(files: dict[str, bytes]) -> bytes:
    members = {"debian-binary": b"2.0\n", "control.tar.xz": b"odd", "data.tar.xz": tar(files, "xz")}
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        out += b"\n" * (len(content) % 2)
    return out


def wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def leaf(path: Path, users: dict[str, tuple[list[Any], list[Any]]]) -> Path:
    """A LEAF file of users with inputs and labels."""
    content = {
        "users": list(users),
        "num_samples": [len(y) for _, y in users.values()],
        "user_data": {user: {"x": x, "y": y} for user, (x, y) in users.items()},
    }
    path.write_text(json.dumps(content))
    return path
