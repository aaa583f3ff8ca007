"""FedLaAvg's figures on training: losses and accuracies over the rounds, by availability, clients and cohort."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import ROUND, Shown, over_rounds, panels, present
from analysis.figures.style import Picture
from analysis.measured import labels
from analysis.stored_runs import asked_labels
from sims.store import Run

HERE = "experiments/fedlaavg"
SEQUENTIAL = f"{HERE}/mnist-sequential.toml"
MNIST = {
    **{f"{HERE}/mnist-E{E}-D1.toml": f"E = {E}, D = 1" for E in (50, 100, 200)},
    **{f"{HERE}/mnist-E100-D{D}.toml": f"E = 100, D = {D}" for D in (3, 5)},
}
TWEETS = {f"{HERE}/sentiment140-E{E}.toml": f"E = {E}, α = 0" for E in (24, 120, 240)}  # a file cannot say α > 0
CLIENTS, COHORTS = "number of clients", "share of them selected"
SIZES = {  # data -> panel -> file -> name of its line
    "MNIST": {
        CLIENTS: {
            f"{HERE}/mnist-N200.toml": "N = 200",
            f"{HERE}/mnist-N600.toml": "N = 600",
            f"{HERE}/mnist-E100-D1.toml": "N = 1000",
        },
        COHORTS: {
            f"{HERE}/mnist-beta005.toml": "β = 0.05",
            f"{HERE}/mnist-E100-D1.toml": "β = 0.1",
            f"{HERE}/mnist-beta-all.toml": "all available",
        },
    },
    "Sentiment140": {
        CLIENTS: {
            f"{HERE}/sentiment140-N200.toml": "N = 200",
            f"{HERE}/sentiment140-N600.toml": "N = 600",
            f"{HERE}/sentiment140-E120.toml": "N = 1000",
        },
        COHORTS: {
            f"{HERE}/sentiment140-E120.toml": "β = 0.1",
            f"{HERE}/sentiment140-beta02.toml": "β = 0.2",
            f"{HERE}/sentiment140-beta-all.toml": "all available",
        },
    },
}
LETTERS = {  # what stands above the panels and in the legend
    "MNIST": "E: rounds of day, then of night; D: holders of digits below it are there by day, the others by night; "
    "C: local steps",
    "Sentiment140": "E: rounds of a day, a third of them for each of three blocks of users; α: drift of labels; "
    "C: local steps",
}
OF_SIZES = {  # of all lines by size
    "MNIST": "E = 100, D = 1, C = 10; N clients (right: 1,000), a share β selected a round (left: 0.1)",
    "Sentiment140": "E = 120, α = 0, C = 10; N clients (right: 1,000), a share β selected a round (left: 0.1)",
}
METRICS = {"train_loss": "training loss", "test_accuracy": "test accuracy"}
SMALL = f"{HERE}/mnist-N200-E50-D1.toml"
NAMES = {"FedLaAvg": "FedLaAvg, C = 10"}
NO_FILES = "Not run, as no experiment file has them: sequential SGD and drift of labels (α > 0)"

figures: dict[str, Exhibit] = {}


def _by_availability(number: int, data: str, metric: str, files: Mapping[str, str], *sequential: str) -> None:
    """Enter Figure 4, 6, 8 or 10: a panel for each setting, sequential SGD in all of them."""
    about = f"Figure {number}: {METRICS[metric]} on {data} of FedLaAvg and what it is compared with, by availability"
    if not sequential:
        about += "; without drift of labels and sequential SGD, of which there are no files"

    @enter(figures, f"fig{number}", about, *files, *sequential)
    def draw(given: Given) -> Picture:
        ideal = {name: one for file in sequential if file in given.runs for name, one in _all(given.runs[file]).items()}
        columns = {title: {**_all(run), **ideal} for title, run in present(given, files).items()}
        everywhere = [label for file in sequential for label in asked_labels(file, "paper")]
        declared = {
            title: [_name(label) for label in (*asked_labels(file, "paper"), *everywhere)]
            for file, title in files.items()
        }
        picture = panels(given, columns or {"sequential SGD": ideal}, [(metric, ROUND)], declared=declared)
        lacks = picture.lacks if sequential else [*picture.lacks, NO_FILES]
        return replace(picture, lacks=lacks, notes=[LETTERS[data], *picture.notes])


def _all(run: Run) -> Shown:
    return {_name(label): (run, label) for label in labels(run)}


def _name(label: str) -> str:
    return NAMES.get(label, label)


def _by_size(number: int, data: str, metric: str) -> None:
    """Enter Figure 5, 7, 9 or 11: FedLaAvg with more and fewer clients, and cohorts."""
    about = f"Figure {number}: {METRICS[metric]} of FedLaAvg on {data}, by number of clients and share selected"
    files = dict.fromkeys(file for panel in SIZES[data].values() for file in panel)

    @enter(figures, f"fig{number}", about, *files)
    def draw(given: Given) -> Picture:
        columns = {
            title: {name: (run, "FedLaAvg") for name, run in present(given, panel).items()}
            for title, panel in SIZES[data].items()
        }
        there = {title: shown for title, shown in columns.items() if shown}
        declared = {title: list(panel.values()) for title, panel in SIZES[data].items()}
        picture = panels(given, there, [(metric, ROUND)], declared=declared)
        return replace(picture, notes=[f"{OF_SIZES[data]}; {LETTERS[data]}", *picture.notes])


for _metric, _numbers in {"train_loss": (4, 5, 6, 7), "test_accuracy": (8, 9, 10, 11)}.items():
    _by_availability(_numbers[0], "MNIST", _metric, MNIST, SEQUENTIAL)
    _by_size(_numbers[1], "MNIST", _metric)
    _by_availability(_numbers[2], "Sentiment140", _metric, TWEETS)
    _by_size(_numbers[3], "Sentiment140", _metric)


@enter(figures, "mnist_200", "Ours: Figures 4 and 8 with 200 clients, E = 50 and D = 1", SMALL)
def mnist_200(given: Given) -> Picture:
    """The setting of Figure 4 at the smallest number of clients of Figure 5."""
    run = given.runs[SMALL]
    columns = {"MNIST, N = 200, E = 50, D = 1": (run, labels(run))}
    picture = over_rounds(given, columns, tuple(METRICS), names=NAMES)
    return replace(picture, notes=[f"N: clients; {LETTERS['MNIST']}", *picture.notes])
