"""FAST's tables: accuracy by participation law, data and share of snapshots; rates, which nobody can measure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from analysis.checks.published import published
from analysis.exhibits import Exhibit, Given, enter
from analysis.measured import Number
from analysis.tables.layout import Cell, Section, Table, printed
from analysis.tables.runs import Metrics, Row, section_of
from fltheory.papers.fast import paper
from fltheory.verdicts import recorded

HERE = "experiments/fast"
LAWS = {"beta": "Beta", "gamma": "Gamma", "weibull": "Weibull"}
DATA = {"fmnist": "Fashion-MNIST", "cifar10": "CIFAR-10", "shakespeare": "Shakespeare"}
ALPHAS = {"fmnist": ("0.05", "0.1", "0.3", "0.5", "1.0"), "cifar10": ("0.1", "0.5", "1.0")}
SNAPSHOTS = (("fmnist", "0.05"), ("fmnist", "0.1"), ("cifar10", "0.1"), ("shakespeare", ""))  # of Tables 3, 6, 7
SETTINGS = {  # q in the data files -> what it is called, end of the label in the experiment files
    "1": ("uniform, q = 1", "q = 1"),
    "adaptive 7": ("adaptive, lambda = 7", "adaptive 7"),
    "adaptive 1": ("adaptive, lambda = 1", "adaptive 1"),
    **{q: (f"q = {q}", f"q = {q}") for q in ("0.5", "0.4", "0.3", "0.2", "0.1", "0")},
}
ACCURACY: Metrics = {"accuracy": ("test_accuracy", 100.0)}
BOTH: Metrics = {**ACCURACY, "ratio": ("arbitrary_share", 100.0)}
LAST = {"accuracy": 5, "ratio": 1}  # records at the end
PRINTED = (
    "Test accuracies in %. Published: mean ± standard deviation over the last 5 tests; measured: the mean "
    "of the last 5 records of a seed, fewer where these are more than the last fifth of its rounds, then mean ± "
    "standard deviation over seeds."
)
RATIO = "Ratio: share of the rounds that were no snapshots, in %."
SLIP = "Tables 4 and 6 print the spread of one run of FedProx differently, 3.4 and 3.9: `fltheory show fast.table4`."
SILENT = "How a law becomes a cohort, local steps, mu and momentum are our choice: the paper does not give them."

tables: dict[str, Exhibit] = {}


def file_of(data: str, alpha: str, law: str) -> str:
    """The experiment file of a data set, heterogeneity and participation law."""
    return f"{HERE}/{data}-alpha-{alpha}-{law}.toml" if alpha else f"{HERE}/{data}-{law}.toml"


def places(file: str, method: str, setting: str) -> list[tuple[str, str]]:
    """Where a setting of a method may stand in a file: smaller scales have FedAvg alone and leave its name out."""
    return [(file, f"{method}, {setting}"), *([(file, setting)] if method == "FedAvg" else [])]


def _shows(files: Iterable[str], method: str, settings: Iterable[str]) -> dict[str, set[str]]:
    """The labels of the settings in each file."""
    return {file: {label for one in settings for _, label in places(file, method, one)} for file in files}


def _source(number: int) -> str:
    return f"{paper.title}, {paper.edition}, Table {number}"


def titled(data: str, alpha: str) -> str:
    return f"{DATA[data]}, alpha = {alpha}" if alpha else f"{DATA[data]}, by speaking roles"


@enter(tables, "tab1", "Table 1: rates of the compared algorithms, and our verdict on that of FAST")
def tab1(given: Given) -> Table:
    statement = f"{paper.name}.cor2"
    verdict = f"{statement}: {recorded().get(statement, {}).get('verdict', 'not recorded')}"
    rows = {}
    for row in published("fast_tab1"):
        judged = verdict if row["algorithm"].startswith("FAST") else "of another paper"
        name = f"{row['algorithm']}: {row['participation']}; client tracking: {row['tracking']}"
        rows[name] = {"rate, nonconvex": Cell(row["rate"], judged)}
    return Table(
        "FAST, Table 1: participation condition, client tracking and rate",
        _source(1),
        [Section("Rates in m clients, K local steps, R rounds", "verdicts of `fltheory verify`", rows)],
        heads=("published", "verdict"),
    )


def _by_alpha(number: int, method: str, *slip: str) -> None:
    """Enter Table 2 or 4: an algorithm under four participation laws; with a note if there is a slip."""
    files = [file_of(data, alpha, law) for data in ALPHAS for alpha in ALPHAS[data] for law in LAWS]
    about = f"Table {number}: {method} under four participation laws, by heterogeneity of the data"

    @enter(tables, f"tab{number}", about, *files, shows=_shows(files, method, ("q = 1", "q = 0")))
    def tab(given: Given) -> Table:
        cells = [(row, (row["participation"], "accuracy")) for row in published(f"fast_tab{number}")]
        sections = []
        for data, alphas in ALPHAS.items():
            for alpha in alphas:
                own = {
                    where: printed(row["accuracy"], row["sd"])
                    for row, where in cells
                    if (row["dataset"], float(row["alpha"])) == (data, float(alpha))
                }
                anywhere = [place for law in LAWS for place in places(file_of(data, alpha, law), method, "q = 1")]
                rows = [Row("Uniform", "uniform", anywhere)]
                rows += [
                    Row(called, law, places(file_of(data, alpha, law), method, "q = 0")) for law, called in LAWS.items()
                ]
                sections.append(section_of(given, titled(data, alpha), rows, ACCURACY, own, {"accuracy": 5}))
        return Table(f"FAST, {about}", _source(number), sections, [PRINTED, SILENT, *slip])


def _by_snapshots(number: int, method: str, *slip: str) -> None:
    """Enter Table 3, 6 or 7: FAST with an algorithm; with a note if there is a slip."""
    files = [file_of(data, alpha, law) for data, alpha in SNAPSHOTS for law in LAWS]
    about = f"Table {number}: FAST with {method}, by share of snapshots, participation law and data"

    @enter(tables, f"tab{number}", about, *files, shows=_shows(files, method, [end for _, end in SETTINGS.values()]))
    def tab(given: Given) -> Table:
        numbers = by_setting(number)
        sections = []
        for data, alpha in SNAPSHOTS:
            for law, called in LAWS.items():
                file = file_of(data, alpha, law)
                rows = [Row(name, q, places(file, method, label)) for q, (name, label) in SETTINGS.items()]
                own = {(q, column): value for (*at, q, column), value in numbers.items() if at == [data, alpha, law]}
                title = f"{titled(data, alpha)}, {called} participation"
                sections.append(section_of(given, title, rows, BOTH, own, LAST))
        uniform = "The published row of uniform participation is one for all three laws."
        notes = [PRINTED, RATIO, uniform, SILENT, *slip]
        return Table(f"FAST, {about}", _source(number), sections, notes)


def by_setting(number: int) -> Mapping[tuple[str, ...], Number]:
    """(data, alpha, law, q, column) -> number of Table 3, 6 or 7, the uniform row under each of the laws."""
    found: dict[tuple[str, ...], Number] = {}
    for row in published(f"fast_tab{number}"):
        for law in LAWS if row["participation"] == "uniform" else [row["participation"]]:
            where = (row["dataset"], row["alpha"], law, row["q"])
            found[*where, "accuracy"] = printed(row["accuracy"], row["sd"])
            found[*where, "ratio"] = printed(row["arbitrary_share"])
    return found


def _by_strength(number: int, alpha: str) -> None:
    """Enter Table 5 or 8: adaptive FAST."""
    files = {law: f"{HERE}/table{number}-{law}.toml" for law in LAWS}
    about = f"Table {number}: adaptive FAST with FedAvg by lambda, Fashion-MNIST, alpha = {alpha}"

    @enter(tables, f"tab{number}", about, *files.values())
    def tab(given: Given) -> Table:
        sections = []
        for law, file in files.items():
            cells = [row for row in published(f"fast_tab{number}") if row["participation"] == law]
            own = {(row["strength"], "accuracy"): printed(row["accuracy"], row["sd"]) for row in cells}
            own |= {(row["strength"], "ratio"): printed(row["arbitrary_share"]) for row in cells}
            rows = [Row(f"lambda = {n}", str(n), [(file, f"lambda = {n}")]) for n in range(1, 10)]
            sections.append(section_of(given, f"{LAWS[law]} participation", rows, BOTH, own, LAST))
        return Table(f"FAST, {about}", _source(number), sections, [PRINTED, RATIO, SILENT])


_by_alpha(2, "FedAvg")
_by_snapshots(3, "FedAvg")
_by_alpha(4, "FedProx", SLIP)
_by_strength(5, "0.1")
_by_snapshots(6, "FedProx", SLIP)
_by_snapshots(7, "FedAvgM")
_by_strength(8, "0.05")
