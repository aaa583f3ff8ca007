"""What is told of a model: losses and accuracies, over samples and over clients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sims.training.samples import Sampler

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Evaluation:
    """A model on all data of all clients, and on the test data.

    train_loss, train_accuracy     mean over all training samples: a client counts as its data do
    client_loss, client_accuracy   mean over clients of their means: every client counts the same
    client_loss_std, client_accuracy_std, worst_client_accuracy   spread over clients, and the least of them
    test_loss, test_accuracy       mean over all test samples; NaN if there are none (`unmeasured`)
    client_test_accuracy_std       spread over clients of client_test_accuracies
    client_losses, client_accuracies   of each client on its data, (N,)
    client_test_accuracies         for each client, the accuracy on the test samples of each class, times the share of
                                   that class in its data: what test data mixed as its own would show; NaN for one
                                   who has a class without test samples, (N,)
    """

    train_loss: Any
    train_accuracy: Any
    client_loss: Any
    client_accuracy: Any
    client_loss_std: Any
    client_accuracy_std: Any
    worst_client_accuracy: Any
    test_loss: Any
    test_accuracy: Any
    client_test_accuracy_std: Any
    client_losses: Any
    client_accuracies: Any
    client_test_accuracies: Any


def evaluated(
    sampler: Sampler,
    mixes: FloatArray,
    losses: FloatArray,
    right: npt.NDArray[np.bool_],
    test: tuple[FloatArray, npt.NDArray[np.bool_], npt.NDArray[np.int64]] | None = None,
) -> Evaluation:
    """The evaluation of one model.

    mixes          shares of the classes in the clients' data, `class_mixes`
    losses, right  of each sample (n,), and whether its class is right
    test           the same of test samples, and their classes
    """
    order, owner, sizes = sampler.order, sampler.owner, sampler.sizes
    of_clients = [np.bincount(owner, values[order], len(sizes)) / sizes for values in (losses, right)]
    test_loss = test_accuracy = np.nan
    test_of_clients = np.full(len(sizes), np.nan)
    if test is not None:
        test_loss, test_accuracy = (values.mean(dtype=np.float64) for values in test[:2])
        test_of_clients = _on_test_data_of_their_own(mixes, *test[1:])
    return Evaluation(
        train_loss=losses[order].mean(dtype=np.float64),
        train_accuracy=right[order].mean(),
        client_loss=of_clients[0].mean(),
        client_accuracy=of_clients[1].mean(),
        client_loss_std=of_clients[0].std(),
        client_accuracy_std=of_clients[1].std(),
        worst_client_accuracy=of_clients[1].min(),
        test_loss=test_loss,
        test_accuracy=test_accuracy,
        client_test_accuracy_std=test_of_clients.std(),
        client_losses=of_clients[0],
        client_accuracies=of_clients[1],
        client_test_accuracies=test_of_clients,
    )


def unmeasured(name: str, mixes: FloatArray, test_classes: npt.NDArray[np.int64]) -> str:
    """Why this part of an evaluation is NaN, in words, for test samples of these classes; "" where it is a number."""
    if "test" in name and not test_classes.size:
        return "there are no test samples"
    if name.startswith("client_test"):
        absent = np.setdiff1d(np.flatnonzero(mixes.any(axis=0)), test_classes)
        return f"no test sample is of class {absent[0]}, counted from 0, which clients have" if absent.size else ""
    return ""


def class_mixes(sampler: Sampler, targets: npt.NDArray[np.int64]) -> FloatArray:
    """The shares of the classes in the data of each client, (N, classes), for the classes of all samples (n,)."""
    classes = targets[sampler.order]
    counts = np.zeros((len(sampler.sizes), 1 + int(classes.max())))
    np.add.at(counts, (sampler.owner, classes), 1)
    return counts / sampler.sizes[:, None]


def _on_test_data_of_their_own(
    mixes: FloatArray, right: npt.NDArray[np.bool_], classes: npt.NDArray[np.int64]
) -> FloatArray:
    """`client_test_accuracies`, of whether the class of each test sample is right."""
    there, hits = (np.bincount(classes, of, mixes.shape[1])[: mixes.shape[1]] for of in (None, right))
    with np.errstate(invalid="ignore"):
        of_classes = hits / there  # NaN for a class without test samples
    accuracies: FloatArray = np.where(mixes > 0, mixes * of_classes, 0).sum(axis=1)
    return accuracies
