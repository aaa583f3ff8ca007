"""FedAMD's tables (ICML 2023): rounds as orders, costs to an accuracy, and two models layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analysis.checks.published import published
from analysis.exhibits import Exhibit, Given, enter
from analysis.figures.curves import untrained
from analysis.measured import about, labels, number, sentence, when_first
from analysis.stored_runs import asked_labels
from analysis.tables.layout import Cell, Section, Table, Value, printed
from analysis.tables.runs import left_out, not_found, why_empty
from fltheory.papers.fedamd import paper
from fltheory.verdicts import recorded
from sims.store import Run

FILES = {participants: f"experiments/fedamd/table2-{participants}.toml" for participants in (20, 40, 100)}
STATEMENTS = {  # (convexity, method) -> what a row of the paper's own rests on
    ("nonconvex", "FedAMD (sequential)"): "cor47",
    ("nonconvex", "FedAMD (constant)"): "cor49",
    ("PL", "FedAMD (constant)"): "cor412",
}
METHODS = {  # in the data file -> in the experiment files
    "BVR-L-SGD": "BVR-L-SGD",
    "FedAvg": "FedAvg",
    "FedPAGE": "FedPAGE",
    "SCAFFOLD": "SCAFFOLD",
    "FedAMD-constant": "FedAMD, constant",
    "FedAMD-sequential": "FedAMD, sequential",
}
GOAL = ("test_accuracy", 0.75)
COSTS = {  # column -> what is recorded, factor
    "samples": ("gradient_samples", 1e-5),
    "communication": ("vectors_sent", 1e-6),  # and the parameters of a vector
    "rounds": ("round", 1.0),
}
PARAMETERS = {  # of the models of the experiment files
    "fedamd-lenet5": sum(int(row["parameters"]) for row in published("fedamd_tab3")),
    "logistic": 10 * (28 * 28 + 1),
}

tables: dict[str, Exhibit] = {}


def _source(number: int) -> str:
    return f"{paper.title}, {paper.edition}, Table {number}"


@enter(tables, "tab1", "Table 1: rounds of the compared methods as orders, and our verdicts on those of FedAMD")
def tab1(given: Given) -> Table:
    verdicts = recorded()
    sections = []
    for convexity, title in {"nonconvex": "Nonconvex", "PL": "PL condition"}.items():
        rows = {}
        for row in published("fedamd_tab1"):
            if row["convexity"] == convexity:
                statement = STATEMENTS.get((convexity, row["method"]))
                id_ = f"{paper.name}.{statement}"
                verdict = verdicts.get(id_, {}).get("verdict", "not recorded")
                judged = f"{id_}: {verdict}" if statement else "of another paper"
                partial = "partial" if row["partial_participation"] == "yes" else "full"
                rows[f"{row['method']}, {partial} participation"] = {"order of the rounds": Cell(row["rounds"], judged)}
        sections.append(Section(title, "verdicts of `fltheory verify`, one for each statement", rows))
    notes = [
        "M clients, A of them a round, K local steps, small batches of one sample; eps bounds the squared gradient, "
        "under the PL condition the gap.",
        "Under the PL condition the rows of Minibatch SGD and SCAFFOLD are for strongly convex objectives.",
        "Below which eps FedAMD needs fewer rounds than the others: `fltheory show fedamd.tab1.crossovers`.",
    ]
    return Table("FedAMD, Table 1: communication rounds", _source(1), sections, notes, ("published", "verdict"))


@enter(tables, "tab2", "Table 2: costs to 75 % and final accuracy of six methods", *FILES.values())
def tab2(given: Given) -> Table:
    notes = [
        "Samples in 100,000, communication in 32 Mbit (a million numbers), rounds, each to a test accuracy of 75 %; "
        "accuracy in % at the end. Published: means over 3 seeds; measured: mean ± standard deviation over seeds.",
        "Vectors are counted as the algorithms here send them: two to each FedAMD client and one from it, whatever its "
        "role; the paper counts two in all for an anchor and three for a miner.",
        "The published costs of FedAvg, SCAFFOLD and FedAMD, sequential, are those of one round more than is printed, "
        "and of 204 to 214 rounds for the last with 40 clients: `fltheory show fedamd.tab2`.",
    ]
    declared = {f"{n} clients": METHODS.values() for n, file in FILES.items() if file in given.runs}
    notes += untrained(given.scale, declared, lambda panel, scale: asked_labels(FILES[int(panel.split()[0])], scale))
    title = "FedAMD, Table 2: costs to 75 % and final accuracy, Fashion-MNIST"
    return Table(title, _source(2), [_costs(given, participants) for participants in FILES], notes)


def _costs(given: Given, participants: int) -> Section:
    file = FILES[participants]
    run = given.runs.get(file)
    rows = {}
    for row in published("fedamd_tab2"):
        if int(row["participants"]) == participants:
            label = METHODS[row["method"]]
            rows[label] = {
                column: Cell(
                    printed(row[column]),
                    why_empty(given, [file]) or _measured(run, label, column, given.scale),
                )
                for column in (*COSTS, "accuracy")
            }
    title = f"{participants} of 100 clients"
    if run is None:
        words = left_out(given, [file]) or not_found(given, [file]) or f"not run at {given.scale} scale ({file})"
        return Section(title, words, rows, {"scale": given.scale})
    cohort, clients = run.experiment["process"]["cohort_size"], run.experiment["problem"]["partition"]["n_clients"]
    words = f"measured at {given.scale} scale: {sentence(run)}; {cohort} of {clients} clients"
    return Section(title, words, rows, {"scale": given.scale, "clients": f"{cohort} of {clients}", **about(run)})


def _measured(run: Run | None, label: str, column: str, scale: str) -> Value:
    if run is None or label not in labels(run):
        return None
    if column == "accuracy":
        return number(run, label, "test_accuracy", scale, 100, records=1)
    metric, unit = COSTS[column]
    factor = PARAMETERS[str(about(run)["model"])] if column == "communication" else 1
    return when_first(run, label, GOAL, metric, unit * factor)


def _layers(number: int, title: str, name: str) -> None:
    """Enter Table 3 or 4: a model of `sims.training.models.fedamd` beside the printed one."""

    @enter(tables, f"tab{number}", f"Table {number}: {title}, layer by layer")
    def tab(given: Given) -> Table:
        here = _layers_here(name)
        rows = {}
        for k, row in enumerate(published(f"fedamd_tab{number}")):
            shape, parameters = here[k] if here else ("needs torch", "needs torch")
            words = ", ".join(filter(None, (row["layer"], row["setting"], row["activation"])))
            rows[f"{k + 1} {words}"] = {
                "output": Cell(row["output"], shape),
                "parameters": Cell(row["parameters"], parameters),
            }
        section = Section(title, f"the model {paper.name}-{name} of the experiment files", rows)
        return Table(f"FedAMD, Table {number}: {title}", _source(number), [section], heads=("published", "here"))


def _layers_here(name: str) -> list[tuple[str, str]]:
    """Output shape and trainable parameters of the input and every layer but activations; nothing without torch."""
    try:
        import torch

        from sims.training.models import fedamd as models
    except ImportError:
        return []
    make: Callable[[], Any] = getattr(models, name)
    x = torch.zeros(1, 1, 28, 28)
    found = [(_shape(x), "0")]
    for layer in make():
        x = layer(x)
        if not isinstance(layer, torch.nn.ReLU):
            found.append((_shape(x), str(sum(p.numel() for p in layer.parameters() if p.requires_grad))))
    return found


def _shape(x: Any) -> str:
    return "x".join(map(str, x.shape[1:]))


_layers(3, "LeNet-5 for Fashion-MNIST", "lenet5")
_layers(4, "two-layer perceptron for EMNIST digits", "mlp")
