"""FedAU's tables (ICLR 2024), and Fashion-MNIST beside them, on which the paper has no numbers."""

from __future__ import annotations

from pathlib import Path

from analysis.checks.published import published
from analysis.exhibits import Exhibit, Given, enter
from analysis.measured import Number
from analysis.tables.layout import Cell, Section, Table, printed
from analysis.tables.runs import Metrics, section
from fltheory.papers.fedau import paper
from sims.experiment import content_of

HERE = "experiments/fedau"
METHODS = {  # in the data files -> in the experiment files
    "fedau_inf": "FedAU, K = inf",
    "fedau_50": "FedAU, K = 50",
    "avg_participating": "average participating",
    "avg_all": "average all",
    "fedvarp": "FedVARP",
    "mifa": "MIFA",
    "known_p": "known rates",
}
DATA = {"svhn": "SVHN", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "cinic10": "CINIC-10"}
PATTERNS = {"bernoulli": "Bernoulli", "markovian": "Markovian", "cyclic": "cyclic"}
FILES = {"bernoulli": "bernoulli", "markovian": "markov", "cyclic": "cyclic"}
TABLE1 = {(p, d): f"{HERE}/table1-{d}-{FILES[p]}.toml" for p in PATTERNS for d in DATA}
FASHION = {p: f"{HERE}/fashion-{FILES[p]}.toml" for p in PATTERNS}
ALPHAS = {
    alpha: f"{HERE}/tableD11-alpha-{alpha}.toml" if alpha != "0.1" else TABLE1["bernoulli", "cifar10"]
    for alpha in ("0.01", "0.05", "0.1", "0.5", "1.0")
}
RATES = {mean: f"{HERE}/tableD61-mean-{mean}.toml" for mean in ("0.1", "0.01", "0.001")}
ACCURACY: Metrics = {"train": ("train_accuracy", 100.0), "test": ("test_accuracy", 100.0)}
SINGLE = f"{HERE}/figD31.toml"  # what single clients came to
SPREAD: Metrics = {
    "loss": ("client_loss_std", 1.0),
    "train accuracy": ("client_accuracy_std", 100.0),
    "test accuracy": ("client_test_accuracy_std", 100.0),
}
PRINTED = "Accuracies in %, mean ± standard deviation over seeds; the paper has 5 and averages its last 200 rounds."
NOT_HERE = "not here"
NO_PAPER = "Fashion-MNIST is not in the paper."

tables: dict[str, Exhibit] = {}


def _source(where: str) -> str:
    return f"{paper.title}, {paper.edition}, {where}"


def _fashion(given: Given, pattern: str, metrics: Metrics) -> list[Section]:
    """A section on Fashion-MNIST, if it was run: the paper has nothing to print beside it."""
    title = f"Fashion-MNIST (not in the paper), {PATTERNS[pattern]} participation"
    file = FASHION[pattern]
    there = file in given.runs or file in given.faulty
    return [section(given, title, file, METHODS, metrics, {})] if there else []


def _numbers(name: str, *where: str) -> dict[tuple[str, ...], dict[tuple[str, str], Number]]:
    """The numbers of a data file by these columns, and then by method and metric."""
    found: dict[tuple[str, ...], dict[tuple[str, str], Number]] = {}
    for row in published(name):
        place = found.setdefault(tuple(row[column] for column in where), {})
        place[row["method"], row["metric"]] = printed(row["mean"], row["sd"])
    return found


@enter(
    tables,
    "tab1",
    "Table 1: accuracy of seven methods on four data sets, and Fashion-MNIST",
    *TABLE1.values(),
    *FASHION.values(),
)
def tab1(given: Given) -> Table:
    numbers = _numbers("fedau_tab1", "pattern", "dataset")
    sections = []
    for pattern, name in PATTERNS.items():
        for data, called in DATA.items():
            title, own = f"{called}, {name} participation", numbers[pattern, data]
            sections.append(section(given, title, TABLE1[pattern, data], METHODS, ACCURACY, own))
        sections += _fashion(given, pattern, ACCURACY)
    return Table(
        "FedAU, Table 1: accuracy on training and test data", _source("Table 1"), sections, [PRINTED, NO_PAPER]
    )


@enter(tables, "tabC41", "Table C.4.1: step sizes, and those of the experiment files at this scale")
def tab_c41(given: Given) -> Table:
    """No run is needed: the second value is what the files ask for."""
    sizes = {(row["dataset"], row["method"]): row for row in published("fedau_tabC41")}
    sections = []
    for data, called in DATA.items():
        file = TABLE1["bernoulli", data]
        here = content_of(file, given.scale)["algorithm"] if Path(file).is_file() else []
        own = {one["label"]: one for one in here}
        rows = {}
        for method, label in METHODS.items():
            row, used = sizes[data, method], own.get(label)
            rows[label] = {
                "gamma": Cell(row["local_lr"], f"{used['local_lr']:g}" if used else NOT_HERE),
                "eta": Cell(f"{float(row['global_lr']):g}", f"{used.get('global_lr', 1):g}" if used else NOT_HERE),
            }
        measured = f"asked for at {given.scale} scale by {file}, run or not" if own else f"{file} is not here"
        sections.append(Section(called, measured, rows, {"scale": given.scale}))
    return Table("FedAU, Table C.4.1: step sizes", _source("Table C.4.1"), sections, heads=("published", "asked for"))


@enter(tables, "tabD11", "Table D.1.1: accuracy on CIFAR-10 by the heterogeneity of participation", *ALPHAS.values())
def tab_d11(given: Given) -> Table:
    numbers = {float(key[0]): own for key, own in _numbers("fedau_tabD11", "alpha_p").items()}
    sections = []
    for alpha, file in ALPHAS.items():
        title = f"CIFAR-10, Bernoulli participation, alpha_p = {alpha}"
        sections.append(section(given, title, file, METHODS, ACCURACY, numbers[float(alpha)]))
    title = "FedAU, Table D.1.1: participation heterogeneity"
    return Table(title, _source("Table D.1.1"), sections, [PRINTED])


@enter(
    tables,
    "tabD31",
    "Table D.3.1: spread of loss and accuracy over clients",
    SINGLE,
    FASHION["bernoulli"],
)
def tab_d31(given: Given) -> Table:
    spread = {(row["method"], row["metric"]): printed(row["client_sd"]) for row in published("fedau_tabD31")}
    sections = [section(given, "CIFAR-10, Bernoulli participation", SINGLE, METHODS, SPREAD, spread)]
    sections += _fashion(given, "bernoulli", SPREAD)
    notes = [
        "Standard deviations over clients, accuracies in %; measured: mean ± standard deviation over seeds.",
        "Test data of a client: those of all, with classes in the shares of its own data. The paper does not say.",
        NO_PAPER,
    ]
    return Table("FedAU, Table D.3.1: spread over clients", _source("Table D.3.1"), sections, notes)


@enter(tables, "tabD61", "Table D.6.1: accuracy on CIFAR-10 at low participation rates", *RATES.values())
def tab_d61(given: Given) -> Table:
    numbers = {float(key[0]): own for key, own in _numbers("fedau_tabD61", "mean_rate").items()}
    sections = []
    for mean, file in RATES.items():
        title = f"CIFAR-10, Bernoulli participation, mean rate {mean}"
        sections.append(section(given, title, file, METHODS, ACCURACY, numbers[float(mean)]))
    return Table("FedAU, Table D.6.1: low participation rates", _source("Table D.6.1"), sections, [PRINTED])
