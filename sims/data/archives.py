"""Members of the archives that package registries hand out, read without unpacking or installing anything."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from fltheory.errors import InputError

_AR = b"!<arch>\n"


def wheel_members(wheel: Path, prefix: str, suffix: str = "") -> dict[str, bytes]:
    """All files of a wheel whose names begin with `prefix` and end with `suffix`, by name, in order of names."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = sorted(n for n in archive.namelist() if n.startswith(prefix) and n.endswith(suffix))
            found = {name: archive.read(name) for name in names}
    except (zipfile.BadZipFile, OSError, NotImplementedError) as error:
        raise InputError("artefact", str(wheel), f"a wheel that can be read ({error})") from None
    if not found:
        raise InputError("artefact", str(wheel), f"a wheel with {prefix}*{suffix}")
    return found


def tar_members(tarball: Path | io.BytesIO, names: Iterable[str]) -> dict[str, bytes]:
    """The named files of a tar archive, compressed or not, in one pass."""
    wanted, found = set(names), {}
    try:
        with tarfile.open(**({"fileobj": tarball} if isinstance(tarball, io.BytesIO) else {"name": tarball})) as tar:
            for member in tar:
                name = member.name.removeprefix("./")
                if name in wanted and (stream := tar.extractfile(member)) is not None:
                    found[name] = stream.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise InputError("artefact", _name(tarball), f"a tar archive that can be read ({error})") from None
    if missing := wanted - set(found):
        raise InputError("artefact", _name(tarball), f"an archive with {', '.join(sorted(missing))}")
    return found


def deb_members(package: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The named files of a Debian package: an `ar` archive whose member data.tar.* holds them."""
    raw = package.read_bytes()
    at, data = len(_AR), None
    while raw.startswith(_AR) and at + 60 <= len(raw) and data is None:
        name, size = raw[at : at + 16].decode("ascii", "replace").strip(" /"), raw[at + 48 : at + 58].strip()
        if not size.isdigit():
            break
        if name.startswith("data.tar"):
            data = raw[at + 60 : at + 60 + int(size)]
        at += 60 + int(size) + int(size) % 2  # members start at even places
    if data is None:
        raise InputError("artefact", str(package), "a Debian package with a data.tar")
    return tar_members(io.BytesIO(data), names)


def _name(tarball: Path | io.BytesIO) -> str:
    return "data.tar" if isinstance(tarball, io.BytesIO) else str(tarball)
