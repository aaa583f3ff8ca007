"""The experiment file: its canonical form and key, its scales, and what is looked at before a run."""

import copy
import json
import math

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Markov, Periodic, Recorded, UniformSubset
from sims import preflight
from sims.experiment import from_canonical, parse, read
from sims.weighting import FedAU

BASE = {
    "kind": "simulate",
    "rounds": 20,
    "replicates": 4,
    "problem": {"name": "quadratic", "curvature": [1, 2, 4], "centre": [-1, "1/2", 2]},
    "process": {"name": "bernoulli", "p": [0.1, 0.5, 0.9]},
    "algorithm": {"name": "fedavg", "local_lr": 0.05, "local_steps": 5},
}
SCAFFOLD = {"name": "scaffold", "local_lr": 0.05}


def changed(**places):
    """The base with other values: process__p=[...] sets BASE["process"]["p"]; None removes a key."""
    content = copy.deepcopy(BASE)
    for place, value in places.items():
        *path, last = place.split("__")
        table = content
        for step in path:
            table = table.setdefault(step, {})
        if value is None:
            table.pop(last, None)
        else:
            table[last] = value
    return content


def setup(**places):
    return preflight.setup(parse(changed(**places)).canonical, 0)


def test_the_key_is_that_of_what_is_computed():
    key = parse(BASE).key
    same = [
        changed(seed=0),
        changed(algorithm=[BASE["algorithm"]]),
        changed(algorithm__global_lr=1.0),
        changed(process__p=[0.1, 0.50, 9e-1]),
        changed(problem__curvature=[1.0, 2.0, 4.0]),
        changed(weighting="average_participating"),
        changed(algorithm__weighting={"name": "average-participating"}),
        changed(algorithm__label="fedavg", start=0.0, dropout=0, record={"every": 1}),
    ]
    assert [parse(content).key for content in same] == [key] * len(same)
    others = [
        changed(seed=1),
        changed(rounds=21),
        changed(algorithm__local_lr=0.06),
        changed(weighting="known_rates"),
        changed(selection={"name": "uniform", "size": 2}),
        changed(dropout=0.1),
        changed(record={"what": ["model"]}),
    ]
    assert len({key, *(parse(content).key for content in others)}) == len(others) + 1


def test_the_canonical_form_is_a_fixed_point_in_strict_json():
    content = changed(algorithm__weighting={"name": "fedau", "cutoff": math.inf})
    experiment = parse(content)
    strict = json.loads(experiment.canonical, parse_constant=pytest.fail)
    assert strict["algorithm"][0]["weighting"]["cutoff"] == "inf"
    assert parse(strict).canonical == experiment.canonical
    assert from_canonical(experiment.canonical) == experiment
    assert preflight.setup(experiment.canonical, 0).rule == FedAU(math.inf)


def test_names_stand_for_the_objects():
    made = setup(
        process={"name": "markov", "p": 0.3, "max_enter": 0.1},
        selection={"name": "snapshot", "size": 2, "otherwise": {"name": "uniform", "size": 1}, "probability": 0.1},
        algorithm__schedule={"name": "decay", "at": [10], "factor": 0.5},
        weighting={"name": "exponential_average", "smoothing": 0.5, "cutoff": 20},
    )
    assert isinstance(made.process, Markov)
    assert made.process.rate.tolist() == [0.3] * 3
    assert made.schedule(10, 20) == 0.5
    assert made.rule.smoothing == 0.5
    assert made.selection.keywords["otherwise"].keywords == {"size": 1}


@pytest.mark.parametrize(
    ("process", "kind"),
    [
        ({"name": "uniform-subset", "cohort_size": 2}, UniformSubset),
        ({"name": "periodic.block_cyclic", "n_groups": 3, "rounds_each": 2}, Periodic),
        ({"name": "periodic", "groups": [0, 0, 1], "on": 2, "period": 5}, Periodic),
        ({"name": "markov.from_stability", "p": {"low": 0.1, "high": 0.3, "n": 3}, "stability": 0.5}, Markov),
        ({"name": "recorded.from_matrix", "matrix": [[1, 0, 1], [0, 1, 1]], "end": "repeat"}, Recorded),
        ({"name": "recorded.from_events", "clients": [0, 2], "rounds": [1, 0], "n_rounds": 2, "end": "hold"}, Recorded),
    ],
)
def test_every_process_can_stand_in_a_file(process, kind):
    made = setup(process=process).process
    assert isinstance(made, kind)
    assert made.n_clients == 3


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "amplified", "local_lr": 0.01, "amplification": 2, "interval": 5},
        {"name": "fedavgm", "local_lr": 0.01, "momentum": 0.5},
        {"name": "fedlaavg", "local_lr": 0.01, "selection": {"name": "least_recently_used", "size": 2}},
        {"name": "fedamd", "local_lr": 0.01, "roles": {"name": "sequential", "period": 5}},
        {"name": "fedpage", "local_lr": 0.01, "global_lr": 0.01, "roles": {"name": "full_rounds", "probability": 0.2}},
        {"name": "bvr_l_sgd", "local_lr": 0.01, "roles": "one"},
        {"name": "mifa", "local_lr": 0.01, "wait": False},
        SCAFFOLD,
    ],
    ids=lambda algorithm: algorithm["name"],
)
def test_every_kind_of_algorithm_passes_the_checks(algorithm):
    preflight.check(parse(changed(algorithm=algorithm)))


def test_several_algorithms_share_what_they_do_not_say_themselves():
    own = {**BASE["algorithm"], "label": "own", "weighting": "known_rates"}
    content = changed(algorithm=[BASE["algorithm"], own, SCAFFOLD], weighting={"name": "fedau", "cutoff": 5})
    experiment = parse(content)
    weightings = [contestant.weighting for contestant in experiment.algorithm]
    assert [weighting and weighting.name for weighting in weightings] == ["fedau", "known_rates", None]


def test_equal_steps_from_low_to_high():
    content = changed(
        problem={"name": "quadratic", "curvature": 1, "centre": {"low": -1, "high": 1, "n": 5}}, process__p=0.5
    )
    problem = preflight.setup(parse(content).canonical, 0).problem
    assert problem.centre[:, 0].tolist() == np.linspace(-1, 1, 5).tolist()


def test_a_file_is_read(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(
        """
        kind = "simulate"
        rounds = 20
        replicates = 4
        [problem]
        name = "quadratic"
        curvature = [1, 2, 4]
        centre = [-1, "1/2", 2]
        [process]
        name = "bernoulli"
        p = [0.1, 0.5, 0.9]
        [algorithm]
        name = "fedavg"
        local_lr = 0.05
        local_steps = 5
        """
    )
    assert read(file).key == parse(BASE).key
    with pytest.raises(InputError, match="experiment must be a text file that can be read"):
        read(tmp_path / "none.toml")
    file.write_text("kind = ")
    with pytest.raises(InputError, match=r"experiment must be a TOML file \(Invalid value"):
        read(file)
    for text in ("x = " + "[" * 5000 + "]" * 5000, "rounds = 1" + "0" * 5000):
        file.write_text(text)
        with pytest.raises(InputError, match="experiment must be a TOML file"):
            read(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="a text file that can be read"):
        read(file)


def test_a_key_that_no_file_has_is_named_beside_all_that_one_may_have(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(f"round = 3\n{FILE}")
    with pytest.raises(
        InputError, match=r"^key of the experiment must be one of .*, scale, .*, sweep, .*; got 'round'$"
    ):
        read(file)


@pytest.mark.parametrize(
    ("scales", "says"),
    [
        ("scale = 3", r"^scale\.NAME must be a table of what is different at that scale; got 3$"),
        ("[scale]\nlaptop = 3", r"^scale\.laptop must be a table of what is different at that scale; got 3$"),
        ("[[scale.laptop]]\nrounds = 3", r"^scale\.laptop must be a table"),
        (
            "[scale.laptop]\nround = 3",
            r"^key of scale\.laptop must be one of .*\(did you mean rounds\?\); got 'round'$",
        ),
        (
            "[sweep]\nlocl_lr = [1]",
            r"^key of sweep must be one of global_lr, .*\(did you mean local_lr\?\); got 'locl_lr'$",
        ),
        ("[scale.laptop]\nsweep = { lst = 1 }", r"^key of scale\.laptop\.sweep must be one of .*; got 'lst'$"),
        ("[scale.laptop]\nsweep = 3", r"^scale\.laptop\.sweep must be a table with local_lr, .*; got 3$"),
    ],
)
@pytest.mark.parametrize("scale", [None, "paper", "smoke", "laptop"])
def test_tables_of_scales_and_of_a_sweep_are_checked_whether_asked_for_or_not(scales, says, scale, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(f"{FILE}\n{scales}\n")
    with pytest.raises(InputError, match=says):
        read(file, scale)


def test_a_scale_changes_what_it_names(tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(f"{FILE}\n[scale.smoke]\nrounds = 3\n[scale.laptop]\nrounds = 'x'\n")
    assert [read(file, scale).rounds for scale in (None, "paper", "smoke")] == [20, 20, 3]
    with pytest.raises(InputError, match="rounds must be a valid integer; got 'x'"):
        read(file, "laptop")
    with pytest.raises(InputError, match="scale must be one of laptop, smoke; got 'deep'"):
        read(file, "deep")
    file.write_text(f"\ufeff{FILE}")  # as some editors begin a file
    assert read(file).rounds == 20
    with pytest.raises(InputError, match=r"scale must be left out, as experiment.toml has no table \[scale.NAME\]"):
        read(file, "deep")


FILE = """
kind = "simulate"
rounds = 20
replicates = 4
problem = { name = "quadratic", curvature = [1, 2, 4] }
process = { name = "bernoulli", p = 0.5 }
algorithm = { name = "fedavg", local_lr = 0.05 }
"""


def test_a_step_that_may_be_too_large_is_doubted_and_not_refused(caplog):
    """One client of four is more curved: above 2 / smoothness, and stable all the same."""
    content = changed(
        rounds=400,
        replicates=1,
        problem={"name": "quadratic", "curvature": [1, 1, 1, 4], "centre": [0, 1, 2, 3]},
        process__p=1,
        algorithm__local_lr=0.55,
        algorithm__local_steps=2,
    )
    preflight.check(parse(content))
    (said,) = caplog.messages
    assert said == "warning: local_lr 0.55 is above 0.5 = 2 / smoothness, local steps may diverge"
    caplog.clear()
    preflight.check(parse(changed()))
    assert not caplog.messages


def test_the_preflight_samples_one_round(monkeypatch):
    asked = []
    original = Bernoulli.sample
    monkeypatch.setattr(
        Bernoulli, "sample", lambda self, rounds, seed: asked.append(rounds) or original(self, rounds, seed)
    )
    preflight.check(parse(changed(rounds=10**6)))
    assert asked == [1]
    # The step of that round is the one of the whole run: 1e154 / sqrt(10^4); without the root its square overflows.
    preflight.check(
        parse(
            changed(
                rounds=10**4,
                process__p=1,
                algorithm__local_lr=1e154,
                algorithm__schedule="inverse_sqrt",
                algorithm__local_steps=1,
            )
        )
    )


def test_parameters_of_every_client_are_checked_against_the_problem():
    """FedLaAvg's data weights: one a client of the problem, neither more nor fewer."""
    table = {
        "kind": "simulate",
        "rounds": 5,
        "replicates": 2,
        "problem": {"name": "quadratic", "curvature": [1, 2], "centre": [0, 1]},
        "process": {"name": "bernoulli", "p": 0.5},
        "algorithm": [{"name": "fedlaavg", "local_lr": 0.1, "weights": [0.25, 0.75]}],
    }
    assert json.loads(parse(table).canonical)["algorithm"][0]["weights"] == [0.25, 0.75]
    table["algorithm"][0]["weights"] = [0.2, 0.3, 0.5]
    with pytest.raises(InputError, match="2 clients"):
        parse(table)


def test_weights_by_data_size_are_the_shares_of_the_data():
    """Three, one and two samples of least squares; an analytic problem has none."""
    data = {
        "name": "least-squares",
        "features": [[[1], [2], [0]], [[1]], [[1], [3]]],
        "labels": [[0, 1, 2], [1], [0, 1]],
    }
    fedlaavg = {"name": "fedlaavg", "local_lr": 0.05, "weights": "data_size"}
    experiment = parse(changed(problem=data, algorithm=fedlaavg))
    assert json.loads(experiment.canonical)["algorithm"][0]["weights"] == "data_size"
    assert preflight.setup(experiment.canonical, 0).hyper.weights == pytest.approx((3 / 6, 1 / 6, 2 / 6))
    with pytest.raises(InputError, match="weights must be numbers: these clients have no data"):
        parse(changed(algorithm=fedlaavg))
    with pytest.raises(InputError, match="weights must be a list with a share for each client"):
        parse(changed(problem=data, algorithm=fedlaavg | {"weights": "sizes"}))
