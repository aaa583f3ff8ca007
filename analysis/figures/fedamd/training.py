"""FedAMD's figures on training: probabilities of an anchor, large batches, local steps, EMNIST (section 5, Appendix F).

A training loss is recorded on the training data here; the paper's is the mean over the local steps of the miners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import ROUND, Shown, panels
from analysis.figures.style import Picture
from analysis.measured import labels
from analysis.stored_runs import asked, asked_labels
from sims.store import Run

HERE = "experiments/fedamd"
COHORTS = {"": 20, "-40": 40, "-100": 100}  # end of a file's name -> participants of the paper's 100 clients
PROBABILITIES = ("FedAMD, p = 0.9", "FedAMD, optimal p", "FedAMD, {0,1}", "FedAMD, {0,0,1}")
METHODS = ("FedAvg", "SCAFFOLD", "BVR-L-SGD", "FedPAGE", "FedAMD, constant", "FedAMD, sequential")
AS_IN_TABLE2 = {"FedAMD, constant": "FedAMD, optimal p", "FedAMD, sequential": "FedAMD, {0,1}"}
ACCURACY, LOSS, COST = ("test_accuracy", ROUND), ("train_loss", ROUND), ("train_loss", "gradient_samples")

figures: dict[str, Exhibit] = {}


def files(name: str) -> tuple[str, ...]:
    """The three files of an experiment, in the order of `COHORTS`."""
    ends = {"": "-20"} if name == "table2" else {}
    return tuple(f"{HERE}/{name}{ends.get(end, end)}.toml" for end in COHORTS)


def participants(experiment: Mapping[str, Any], paper: int) -> str:
    """The title of a column: who takes part in a run, and how many do in the paper if they are others."""
    cohort, everyone = experiment["process"]["cohort_size"], experiment["problem"]["partition"]["n_clients"]
    return f"{cohort} of {everyone} clients" + (f" (paper: {paper})" if cohort != paper else "")


def shown(run: Run, wanted: tuple[str, ...], names: Mapping[str, str] | None = None) -> Shown:
    """Those of these algorithms that a run has, under their labels or these names."""
    called = names or {}
    return {called.get(label, label): (run, label) for label in wanted if label in labels(run)}


def _of(number: int, about: str, steps: int, name: str, wanted: tuple[str, ...], rows: list[tuple[str, str]]) -> None:
    """Enter a figure whose columns are the three numbers of participants."""
    sources = dict(zip(files(name), COHORTS.values(), strict=True))

    @enter(figures, f"fig{number}", f"Figure {number}: {about}", *sources)
    def draw(given: Given) -> Picture:
        columns = {participants(run.experiment, sources[file]): shown(run, wanted) for file, run in given.runs.items()}
        everyone = {participants(asked(file, given.scale), paper): file for file, paper in sources.items()}
        declared = dict.fromkeys(everyone, wanted)
        picture = panels(
            given, columns, rows, declared=declared,
            trained=lambda title, scale: asked_labels(everyone[title], scale),
        )  # fmt: skip
        own = {
            a["local_steps"] for run in given.runs.values() for a in run.experiment["algorithm"] if "local_steps" in a
        }
        local = f"K = {', '.join(map(str, sorted(own)))} local steps" + (f" (paper: {steps})" if own != {steps} else "")
        return replace(picture, notes=[local, *picture.notes])


_of(1, "test accuracy by the probability of an anchor, K = 10", 10, "probabilities", PROBABILITIES, [ACCURACY])
for _number, _steps, _name in ((5, 10, "probabilities"), (6, 20, "probabilities-K20"), (7, 5, "probabilities-K5")):
    _about = f"training loss and test accuracy by the probability of an anchor, K = {_steps}"
    _of(_number, _about, _steps, _name, PROBABILITIES, [LOSS, ACCURACY])
for _number, _steps, _name in ((8, 5, "local-steps-5"), (9, 10, "table2"), (10, 20, "local-steps-20")):
    _about = f"test accuracy over the rounds and training loss over the gradients of six methods, K = {_steps}"
    _of(_number, _about, _steps, _name, METHODS, [ACCURACY, COST])


def _of_batches(number: int, which: str, label: str, everything: str) -> None:
    """Enter Figure 2, 3 or 4: FedAMD with large batches of all samples, 256 and 64.

    The captions do not say with how many participants: here each of the paper's three numbers.

    everything   name of the experiment with all samples
    """
    sources = {
        file: paper
        for name in (everything, "large-batch-256", "large-batch-64")
        for file, paper in zip(files(name), COHORTS.values(), strict=True)
    }
    about = f"Figure {number}: FedAMD with {which} by the size b of the large batch"

    @enter(figures, f"fig{number}", about, *sources)
    def draw(given: Given) -> Picture:
        columns: dict[str, dict[str, tuple[Run, str]]] = {}
        for file, run in given.runs.items():
            if label in labels(run):
                title = participants(run.experiment, sources[file])
                columns.setdefault(title, {})[large_batch(run.experiment, label)] = run, label
        declared: dict[str, list[str]] = {}
        other: dict[str, str] = {}
        for file, paper in sources.items():
            own, size = asked(file, given.scale), large_batch(asked(file, "paper"), label)
            declared.setdefault(participants(own, paper), []).append(large_batch(own, label))
            if large_batch(own, label) != size:
                other[large_batch(own, label)] = size.removeprefix("b: ").removeprefix("b = ")
        stand = "; ".join(f"{here} stands for {there}" for here, there in other.items())
        notes = [f"Sizes of the paper, in smaller data: {stand}"] if other else []
        picture = panels(given, columns, [ACCURACY, LOSS], declared=declared)
        return replace(picture, notes=[f"FedAMD with {which}", *notes, *picture.notes])


def large_batch(experiment: Mapping[str, Any], label: str) -> str:
    """The size of the large batch in words: it is given in small ones, and is smaller at a smaller scale."""
    (own,) = (contestant for contestant in experiment["algorithm"] if contestant["label"] == label)
    small = experiment["problem"]["batch"]
    return "b: all of a client's samples" if own["batch"] == "all" else f"b = {own['batch'] * small}"


_of_batches(2, "p = 0.9", "FedAMD, p = 0.9", "probabilities")
_of_batches(3, "the optimal p", "FedAMD, constant", "table2")
_of_batches(4, "the sequence {0,1}", "FedAMD, sequential", "table2")

EMNIST = {
    f"{HERE}/emnist-probabilities.toml": ("probabilities of an anchor", PROBABILITIES),
    f"{HERE}/emnist.toml": ("methods", METHODS),
}


@enter(figures, "fig11", "Figure 11: EMNIST digits, probabilities of an anchor and methods", *EMNIST)
def emnist(given: Given) -> Picture:
    """Test accuracy over rounds and gradients, which the caption names; each half has a third panel, of which nothing
    is said."""
    titles = {
        file: f"EMNIST digits, {participants(asked(file, given.scale), 20)}: {part}"
        for file, (part, _) in EMNIST.items()
    }
    files = {title: file for file, title in titles.items()}
    columns = {titles[file]: shown(run, EMNIST[file][1], AS_IN_TABLE2) for file, run in given.runs.items()}
    declared = {title: [AS_IN_TABLE2.get(one, one) for one in EMNIST[file][1]] for title, file in files.items()}
    return panels(
        given, columns, [ACCURACY, ("test_accuracy", "gradient_samples")], declared=declared,
        trained=lambda title, scale: [AS_IN_TABLE2.get(one, one) for one in asked_labels(files[title], scale)],
    )  # fmt: skip
