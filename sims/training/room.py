"""How much memory there is: for all processes together, and for each by itself.

What is free, the limits of the control groups (containers), and those of the shell (`ulimit -v`) are looked at. Only
Linux tells the first two; elsewhere all of the machine's memory counts as free.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

PROC, CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")
LIMITS = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))  # version 2, then 1


def of_the_machine() -> int:
    """Bytes that processes on this machine may take together."""
    free = _number_after(PROC / "meminfo", "MemAvailable:")
    everything = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(0, min([everything if free is None else 1024 * free, *_of_control_groups()]))


def of_the_process() -> float:
    """Bytes that this process may still map into its address space, files too; infinite without a limit."""
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return math.inf
    try:
        mapped = int((PROC / "self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        mapped = 0
    return max(0, most - mapped)


def of_device(device: torch.device) -> int:
    """Bytes that are free on the device of a model."""
    if device.type != "cuda":
        return of_the_machine()
    import torch

    return int(torch.cuda.mem_get_info(device)[0])


def of_disk() -> int:
    """Bytes that are free in the folder for temporary files."""
    return shutil.disk_usage(tempfile.gettempdir()).free


def in_words(n: float) -> str:
    """Bytes in the unit that suits them."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n / 2**10:.1f} KiB"


def _of_control_groups() -> Iterator[int]:
    """What is left of the limit of each group that this process is in, the groups around it included."""
    try:
        lines = (PROC / "self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        mounted = CGROUPS / "memory" if kinds else CGROUPS
        own = mounted / path.lstrip("/")
        for group in (own, *own.parents):
            if not group.is_relative_to(mounted):
                break
            yield from _left_of(group)


def _left_of(group: Path) -> Iterator[int]:
    for most, used in LIMITS:
        try:
            limit, taken = ((group / name).read_text().strip() for name in (most, used))
        except OSError:
            continue
        if limit != "max":
            given_back = _number_after(group / "memory.stat", "inactive_file") or 0  # copies of files, dropped at need
            yield int(limit) - int(taken) + given_back


def _number_after(file: Path, name: str) -> int | None:
    """The number that stands after a name at the beginning of a line; None if it is not there."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return None
    return next((int(words[1]) for words in lines if words and words[0] == name), None)
