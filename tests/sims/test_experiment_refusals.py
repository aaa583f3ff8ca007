"""Whatever is wrong with an experiment is one sentence, before anything runs."""

import json
import math
from datetime import date

import pytest

from fltheory.errors import InputError
from sims import preflight
from sims.experiment import parse
from tests.sims.test_experiment import BASE, SCAFFOLD, changed


def snapshot(otherwise, **parameters):
    """A file with a selection within a selection."""
    table = {"name": "snapshot", "size": 2, "probability": 0.5, "otherwise": otherwise}
    return changed(selection=table | parameters)


BAD = [
    # the file
    (changed(kind="train"), r"kind must be \"simulate\" for this problem"),
    (changed(kind="simulated"), "kind must be 'simulate' or 'train'; got 'simulated'"),
    (changed(kind=None), "kind must be given"),
    (changed(record={"final_model": True}), r"record\.final_model must be left out where nothing is trained"),
    (changed(round=5), r"key of the experiment must be one of .* \(did you mean rounds\?\); got 'round'"),
    (
        changed(record={"evry": 5}),
        r"key of record must be one of every, final_model, what \(did you mean every\?\); got 'evry'",
    ),
    (changed(problem=None), "problem must be given"),
    (changed(problem={"curvature": [1]}), "problem.name must be given"),
    (changed(problem=3), "problem must be"),
    (changed(algorithm=[]), "algorithm must be a list of at least one"),
    (changed(problem=[1]), r"problem must be a name, or a table with a name and parameters; got \[1\]"),
    (changed(record=3), "record must be a table; got 3"),
    (changed(record={"every": 10**22}), "record.every must be less than or equal to 9007199254740992"),
    (changed(rounds=0), "rounds must be greater than or equal to 1; got 0"),
    (changed(rounds="20"), "rounds must be a valid integer; got '20'"),
    (changed(rounds=True), "rounds must be a valid integer; got True"),
    (changed(replicates=2.5), "replicates must be a valid integer"),
    (changed(seed=-1), "seed must be greater than or equal to 0"),
    (changed(dropout=1.0), "dropout must be less than 1"),
    (changed(dropout=math.nan), "dropout must be"),
    (changed(start=math.inf), "start must be"),
    (changed(record={"what": []}), "record.what must"),
    # names and parameters
    (changed(problem__name="quadratik"), r"problem must be one of .* \(did you mean quadratic\?\)"),
    (changed(problem__curvatures=1), r"parameter of problem quadratic must be one of .* \(did you mean curvature\?\)"),
    (changed(process__name="markow"), r"process must be one of .* \(did you mean markov\?\); got 'markow'"),
    (changed(process__q=1), r"parameter of process bernoulli must be one of p; got 'q'"),
    (changed(process__p=None), "process.p must be given for process bernoulli"),
    (changed(process={"name": "recorded"}), "process must be one of"),
    (changed(algorithm__name="fedavgg"), r"algorithm must be one of .* \(did you mean fedavgm?\?\)"),
    (changed(algorithm__locallr=1), r"parameter of algorithm fedavg must be one of .* \(did you mean local_lr\?\)"),
    (changed(algorithm__local_lr=None), "algorithm.local_lr must be given"),
    (changed(algorithm__local_lr="big"), "local_lr must be a finite number above 0"),
    (changed(algorithm__local_lr=math.nan), "algorithm.local_lr must be a number; got nan"),
    (changed(weighting="fedavg"), r"weighting must be one of .* \(did you mean fedau\?\)"),
    (changed(weighting="fedau"), "weighting.cutoff must be given for weighting fedau"),
    (changed(selection="all"), "selection must be one of"),
    (changed(algorithm__schedule="cosine"), "schedule must be one of"),
    (changed(algorithm=[BASE["algorithm"]] * 2), "algorithm.label must be a different one for each algorithm"),
    (
        changed(algorithm=[{**SCAFFOLD, "label": "a\0"}]),
        "algorithm.label must be one line of at most 200 letters .* got 'a.x00'",
    ),
    (changed(algorithm=[{**SCAFFOLD, "label": 201 * "a"}]), "algorithm.label must be one line of at most 200 letters"),
    (changed(problem__curvature=["1e-99999999", 2, 4]), "curvature must be a finite number; got '1e-99999999'"),
    (changed(problem__curvature=["1E9_999", 2, 4]), "curvature must be a finite number; got '1E9_999'"),
    (
        changed(algorithm=[{**SCAFFOLD, "label": "a\nb"}]),
        "algorithm.label must be one line of at most 200 letters .* got 'a.nb'",
    ),
    (changed(algorithm={**SCAFFOLD, "weighting": "known_rates"}), "weighting must be left out, as scaffold has none"),
    (changed(algorithm__roles="one"), "roles must be left out, as fedavg has none"),
    (changed(algorithm={"name": "fedamd", "local_lr": 0.1}), "roles must be given for fedamd, one of constant"),
    (
        changed(algorithm=[BASE["algorithm"], {**SCAFFOLD, "label": "mine", "local_lr": -1}]),
        "algorithm 'mine': local_lr must be",
    ),
    (
        changed(
            algorithm=[BASE["algorithm"], {**SCAFFOLD, "label": "mine", "selection": {"name": "uniform", "size": 4}}]
        ),
        "algorithm 'mine': size must be at most the number of clients, 3",
    ),
    # values that a file can hold and a parameter cannot be
    (snapshot(3), "selection.otherwise must be a name, or a table with a name and parameters; got 3"),
    (snapshot({"size": 3}), "selection.otherwise must be a name, or a table with a name and parameters"),
    (snapshot({"name": "uniform", "siz": 3}), r"parameter of selection.otherwise uniform must be .* mean size\?\)"),
    (snapshot({"name": "uniform"}), "selection.otherwise.size must be given for selection.otherwise uniform"),
    (snapshot({"name": "uniform", "size": date(2020, 1, 1)}), "selection.otherwise.size must be a number, text"),
    (snapshot("all_available", strength=[]), "strength must be a finite number of at least 0"),
    (snapshot("all_available", probability=[]), "probability of selection snapshot must be a number in"),
    (snapshot("all_available", probability=[[]]), "probability of selection snapshot must be a number in"),
    (snapshot("all_available", probability=[0.5, 0.5]), "probability of selection snapshot must be a number in"),
    (changed(selection={"name": "always", "clients": 1}), "clients must be a list of client numbers; got 1"),
    (changed(selection={"name": "always", "clients": []}), "clients must be at least one client"),
    (changed(algorithm__schedule={"name": "decay", "at": 3, "factor": 0.5}), "at must be a list of rounds; got 3"),
    (
        changed(rounds=20, algorithm__schedule={"name": "decay", "at": [7, 12], "factor": 1e-200}),
        "schedule must be one that keeps local_lr above 0 and finite; in round 19 it would be 0.0; got 'decay'",
    ),
    (
        changed(algorithm__schedule={"name": "decay", "at": [0] * 200, "factor": 100}),
        "schedule must be one that keeps local_lr above 0 and finite; in round 0 it would be inf; got 'decay'",
    ),
    (changed(algorithm={"name": "fedlaavg", "local_lr": 0.1, "weights": 1}), "weights must be a list"),
    (changed(algorithm={"name": "fedlaavg", "local_lr": 0.1, "weights": True}), "weights must be something else than"),
    (changed(algorithm={"name": "fedlaavg", "local_lr": 0.1, "gradient_memory": "no"}), "must be true or false"),
    (changed(algorithm={"name": "mifa", "local_lr": 0.1, "wait": "no"}), "algorithm.wait must be true or false"),
    (
        changed(algorithm={"name": "fedamd", "local_lr": 0.1, "roles": {"name": "constant", "probability": [1]}}),
        "one nu",
    ),
    (changed(algorithm__local_lr=True), "algorithm.local_lr must be something else than true or false; got True"),
    (changed(algorithm__local_lr=date(2020, 1, 1)), "algorithm.local_lr must be a number, text"),
    (changed(algorithm__local_steps=1e308), "algorithm.local_steps must be at most 10,000,000"),
    (changed(algorithm__local_steps=10**7), "local_steps must be at most 1,000,000"),
    (changed(process__p=True), "process.p must be something else than true or false"),
    (changed(process__p=[True, 0.5, 0.5]), "process.p must be a list of numbers or of truth values, not of both"),
    (changed(process__p={"low": "a", "high": 0.5, "n": 3}), "p.low must be a finite number; got 'a'"),
    (changed(process__p={"low": math.nan, "high": 0.5, "n": 3}), "process.p.low must be a number; got nan"),
    (changed(process__p={"low": 0.1, "high": 0.5, "n": 10**9}), "p.n must be at most 10,000,000"),
    (changed(process__p=[0.1, 0.5, math.nan]), "process.p must be a number; got nan"),
    (changed(process={"name": "recorded.from_matrix", "matrix": [[1, 0, 1], [1]]}), "process.matrix must be a rectang"),
    (
        changed(process={"name": "periodic", "groups": [[1], [1, 2]], "on": 1, "period": 3}),
        "process.groups must be a r",
    ),
    (changed(problem={"name": "plus-minus-one", "n_clients": 10**30}), "problem.n_clients must be at most 10,000,000"),
    (changed(problem={"name": "groups", "centres": [0, 1], "sizes": [1, 10**30]}), "problem.sizes must be at most"),
    (
        changed(problem={"name": "pseudo-huber", "centres": [0, 1, 2], "width": 1e308}),
        "width must be between 1e-100 and 1e100",
    ),
    (changed(problem__noise={"kind": "gaussian", "std": 1e308}), "std must be a number whose square is finite"),
    (changed(process__p=10**400), "process.p must be a finite number; got 1000"),
    (changed(rounds=10**30, record={"every": 1}), "rounds must be at most .* 16 GiB"),
    (changed(rounds=10**400, record={"every": 1}), "rounds must be at most .* 16 GiB"),
    (changed(rounds=10**9, record={"every": 1}), "rounds must be at most .* 16 GiB"),
    (changed(replicates=10**400), "replicates must be at most .* 16 GiB"),
    (changed(rounds=10**11), "rounds must be at most 5,726,623,061, as what is kept would take more than 16 GiB"),
    (changed(replicates=10**11), "replicates must be at most .* 16 GiB"),
    # what does not fit together
    (changed(process__p=[0.5, 0.5]), "number of clients of the process must be 3, as many as the problem has; got 2"),
    (
        changed(process={"name": "permutation", "cohort_size": 2, "n_clients": 5}),
        "number of clients of the process must be 3, as many as the problem has; got 5",
    ),
    (changed(process__p=[0.5, 0.5, 1.5]), r"p must be in \(0, 1\]"),
    (
        changed(process={"name": "uniform-subset", "cohort_size": 4}),
        "cohort_size must be at most the number of clients, 3",
    ),
    (changed(selection={"name": "uniform", "size": 4}), "size must be at most the number of clients, 3"),
    (changed(selection={"name": "always", "clients": [3]}), "clients must be below the number of clients, 3"),
    (changed(selection={"name": "least_recently_used", "size": 2}), 'does not count every client\'s "age"'),
    (
        changed(
            selection={"name": "snapshot", "size": 2, "otherwise": "all_available", "probability": 0.5, "strength": 1}
        ),
        "selection.strength must be 0",
    ),
    (
        changed(weighting="known_rates", selection={"name": "uniform", "size": 2}),
        "rates of participation are not known",
    ),
    (changed(process={"name": "recorded.from_matrix", "matrix": [[1, 0, 1]]}), "rounds must be at most the 1 rounds"),
    (changed(problem__centre=[1, 2]), "curvature and centre"),
    (changed(problem__noise={"kind": "gausian", "std": 1}), "noise must be one of"),
    (changed(problem__noise=1), "noise must be a table"),
    (changed(start=[0, 1]), "start must be a number, or 1 numbers"),
    (changed(start=math.inf), "start must be a finite number, or a list of them; got inf$"),
    (changed(start=[-math.inf]), "start must be a finite number, or a list of them; got -inf$"),
    (changed(start=math.nan), "start must be a finite number, or a list of them; got nan$"),
    (changed(selection={"name": "uniform", "size": -math.inf}), "size must be a whole number of at least 1; got -inf$"),
    (changed(record={"what": ["gap"]}), r"record.what must be one of .*; got 'gap'"),
    (changed(record={"what": ["weight_error"]}, selection={"name": "uniform", "size": 2}), "rates are not known"),
    (
        changed(problem={"name": "linear", "slopes": [1, 1, 1]}, record={"what": ["objective_gap"]}),
        "is unbounded below",
    ),
    (
        changed(algorithm__local_lr=1e300, algorithm__local_steps=1),
        "round 0: the update of client .* is no longer finite",
    ),
]


@pytest.mark.parametrize(("content", "says"), BAD, ids=[says[:40] for _, says in BAD])
def test_whatever_is_wrong_is_one_sentence_before_anything_runs(content, says):
    with pytest.raises(InputError, match=says) as caught:
        preflight.check(parse(content))
    assert "\n" not in str(caught.value)


def test_a_selection_within_a_selection_has_one_spelling():
    named = snapshot({"name": "all-available"})
    assert parse(snapshot("all_available")).key == parse(named).key
    twice = snapshot({"name": "snapshot", "size": 1, "interval": 3, "otherwise": "all_available"})
    inner = json.loads(parse(twice).canonical)["algorithm"][0]["selection"]["otherwise"]
    assert (inner["name"], inner["otherwise"]) == ("snapshot", {"name": "all_available"})
    with pytest.raises(InputError, match="otherwise must be a selection without snapshots"):
        preflight.check(parse(twice))


def test_what_a_constructor_cannot_take_is_one_sentence():
    from sims.refusals import building

    with (
        pytest.raises(InputError, match=r"thing must be given other parameters \(KeyError: 'x'\); got {'a': 1}"),
        building("thing", {"a": 1}),
    ):
        raise KeyError("x")
    with pytest.raises(AssertionError), building("thing", {}):
        raise AssertionError


@pytest.mark.parametrize("error", [MemoryError("7 GiB"), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_where_memory_is_used_up_no_parameter_is_blamed(error):
    from sims.refusals import building

    with pytest.raises(InputError) as caught, building("problem training", {"name": "training", "batch": 16}):
        raise error
    reason = f"{type(error).__name__}: {error}"
    assert str(caught.value) == f"problem must be one that fits into memory ({reason}); got 'training'"


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ModuleNotFoundError("No module", name="torch"), r"with torch installed \(the extra `training`\)"),
        (ModuleNotFoundError("No module", name="sympy"), r"with a torch that can be loaded \(ModuleNotFoundError: No"),
        (ImportError("undefined symbol: x"), r"with a torch that can be loaded \(ImportError: undefined symbol: x\)"),
        (ImportError("libtorch.so: failed to map segment"), r"where memory holds torch \(ImportError: libtorch"),
        (OSError("libtorch.so: failed to map segment"), r"where memory holds torch \(OSError: libtorch"),
        (MemoryError(), "where memory holds torch"),
    ],
)
def test_a_package_that_cannot_be_loaded_is_not_said_to_be_missing(error, sentence):
    from sims.refusals import loading

    with pytest.raises(InputError, match=f"^problem must be asked for {sentence}"), loading("torch", "problem", "x"):
        raise error
