"""Who is asked to take part in a round: by what is available, by what happened so far, by chance.

The clock of a round is availability, then selection, then dropout. A selection is a function

    cohort, memory = select(available, state, memory, rng)

    available   bool (..., N): who could take part; leading axes are replicates
    state       the algorithm's state before the round
    memory      what the selection itself remembers, name -> array; {} before the first round. It belongs into a
                checkpoint. The loop adds "accuracy" (...,) to it after every round for a snapshot that adapts.
    rng         generator for this round; None will do if nothing is drawn

and the functions below make one from its settings. Clients stand in a cohort in increasing order, whatever chose
them, so that sums over a cohort do not depend on how it came about; slots that are not valid come last. All of it
runs in numpy, without a loop over replicates. Who is asked and is not available cannot answer: only a snapshot
asks such clients, because it insists on them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from fltheory.errors import InputError, count, probabilities
from sims.algorithms.arguments import not_negative
from sims.algorithms.protocol import Cohort, State
from sims.arrays import Array, marked

COIN = "probability of selection snapshot"

Memory = dict[str, Any]
Selection = Callable[[np.ndarray, State, Memory, np.random.Generator | None], tuple[Cohort, Memory]]


def all_available() -> Selection:
    """Everybody who is available."""
    return _all_available


def always(*clients: int) -> Selection:
    """These clients whenever they are available, and nobody else.

    >>> cohort, _ = always(2, 0)(np.array([True, True, False]), State({}), {}, None)
    >>> cohort.clients[cohort.valid].tolist()
    [0]
    """
    if not clients:
        raise InputError("clients", clients, "at least one client")
    return partial(_always, clients=tuple(count("clients", c, least=0) for c in clients))


def uniform(size: int) -> Selection:
    """`size` of the available clients, every such subset equally likely; all of them if they are fewer."""
    return partial(_uniform, size=count("size", size))


def least_recently_used(size: int) -> Selection:
    """The `size` available clients that took part longest ago, all of them if they are fewer.

    Ties go to the smaller client number, as in the authors' program. The state counts, in "age", the rounds since
    each client took part (`sims.algorithms.fedlaavg`).

    Source: FedLaAvg, Algorithm 1, line 6, and Algorithm 2, line 6; Lemma 1 needs the rule for fewer than `size`.
    """
    return partial(_least_recently_used, size=count("size", size))


def permutation(size: int) -> Selection:
    """`size` available clients a round, everybody once before anybody twice.

    Turns are dealt in random order. A client that is away when its turn comes can take it until the cycle ends,
    which it does when a round needs more clients than are available with a turn left: then everybody gets a new
    turn, in a new order, and the round is filled from those who had none left. With everybody available this is
    the regularised participation of amplified FedAvg (NeurIPS 2022, section 5).
    """
    return partial(_permutation, size=count("size", size))


def snapshot(
    size: int, otherwise: Selection, *, interval: int | None = None, probability: Any = None, strength: Any = 0
) -> Selection:
    """FAST: in some rounds a uniform subset of `size` of ALL clients, available or not; else what `otherwise` says.

    interval      a snapshot in rounds 0, interval, 2 interval, ...
    probability   or one with this probability in each round, each replicate tossing its own coin
    strength      lambda of the adaptive form: the probability is where it starts, and `adapted` moves it by the
                  accuracies that the loop puts into memory["accuracy"] after a round

    Memory tells in "snapshot" (...,) which replicates just took one, and in "snapshots" how many they took in
    "round" rounds. `otherwise` draws first and the coin last, so that with probability 0 its cohorts are those it
    would ask alone, given the same generator in each round.

    Source: FAST, Algorithms 1 and 2. Raises InputError unless exactly one of interval and probability is given, and
    for what has no meaning: a strength beside an interval, snapshots within snapshots.
    """
    if (interval is None) == (probability is None):
        raise InputError("interval and probability", (interval, probability), "one of them and not both")
    if interval is not None:
        count("interval", interval)
    elif not probabilities(COIN, probability, zero=True).size:
        raise InputError(COIN, probability, "a number in [0, 1], or one for each replicate")
    not_negative(strength=strength)
    if strength and interval is not None:
        raise InputError("strength", strength, "0 with an interval: it is the probability that adapts")
    if not callable(otherwise):
        raise InputError("otherwise", otherwise, "a selection of this module, such as all_available()")
    if getattr(otherwise, "func", None) is _snapshot:
        raise InputError("otherwise", "snapshot", "a selection without snapshots")
    size = count("size", size)
    return partial(
        _snapshot, size=size, otherwise=otherwise, interval=interval, probability=probability, strength=strength
    )


def adapted(probability: Any, before: Any, accuracy: Any, strength: Any) -> Any:
    """The next snapshot probability: raised by strength times the loss of accuracy, kept within [0, 1].

    before     accuracy after the previous round, 0 at the start
    accuracy   accuracy after this round, as a fraction

    Source: FAST, Algorithm 2.

    >>> round(float(adapted(0.0, 0.30, 0.25, 1)), 9)
    0.05
    """
    return np.minimum(1, np.maximum(0, probability + strength * (before - accuracy)))


def strength_of(selection: Selection) -> Any:
    """How strongly a selection adapts to accuracies: the strength of a snapshot, 0 for all others."""
    return getattr(selection, "keywords", {}).get("strength", 0)


def largest(selection: Selection, n_clients: int, available: int) -> int:
    """The most slots that a cohort of a selection has, where at most so many of the clients are available.

    All clients, if it is none of this module. Slots of who was not there are computed, too (`Cohort`): a draw of `size`
    has as many wherever fewer are available.

    >>> largest(all_available(), 100, 30), largest(uniform(4), 100, 3)
    (30, 4)
    >>> largest(snapshot(8, otherwise=all_available(), interval=5), 100, 30)
    30
    """
    kind, settings = getattr(selection, "func", None), getattr(selection, "keywords", {})
    most = n_clients
    if selection is _all_available:
        most = max(1, available)
    elif kind is _always:
        most = len(set(settings["clients"]))
    elif kind in (_uniform, _least_recently_used, _permutation):
        most = settings["size"]
    elif kind is _snapshot:
        most = max(settings["size"], largest(settings["otherwise"], n_clients, available))
    return min(most, n_clients)


def _all_available(
    available: np.ndarray, state: State, memory: Memory, rng: np.random.Generator | None
) -> tuple[Cohort, Memory]:
    width = max(1, int(available.sum(axis=-1).max(initial=0)))
    return _cohort(available, width), memory


def _always(
    available: np.ndarray,
    state: State,
    memory: Memory,
    rng: np.random.Generator | None,
    *,
    clients: tuple[int, ...],
) -> tuple[Cohort, Memory]:
    for client in clients:
        if client >= available.shape[-1]:
            raise InputError("clients", client, f"below the number of clients, {available.shape[-1]}")
    wanted = np.isin(np.arange(available.shape[-1]), clients)
    return _cohort(available & wanted, max(1, len(set(clients)))), memory


def _uniform(
    available: np.ndarray, state: State, memory: Memory, rng: np.random.Generator | None, *, size: int
) -> tuple[Cohort, Memory]:
    return _lowest(_drawn(rng, available.shape), available, size), memory


def _least_recently_used(
    available: np.ndarray, state: State, memory: Memory, rng: np.random.Generator | None, *, size: int
) -> tuple[Cohort, Memory]:
    if "age" not in state.discrete:
        allowed = 'another one: this algorithm does not count every client\'s "age", as FedLaAvg does'
        raise InputError("selection", "least_recently_used", allowed)
    n_clients = available.shape[-1]
    return _lowest(np.arange(n_clients) - n_clients * _on_host(state.discrete["age"]), available, size), memory


def _permutation(
    available: np.ndarray, state: State, memory: Memory, rng: np.random.Generator | None, *, size: int
) -> tuple[Cohort, Memory]:
    fresh = _drawn(rng, available.shape)
    place = memory.get("place", fresh)
    used = memory.get("used", np.zeros(available.shape, dtype=np.bool_))
    # Places are in [0, 1): whoever has a turn left comes before whoever needs a new one.
    cohort = _lowest(np.where(used, 1 + fresh, place), available, size)
    asked = _mask(cohort)
    renewed = (asked & used).any(axis=-1, keepdims=True)
    used = np.where(renewed, asked & used, asked | used)
    return cohort, memory | {"place": np.where(renewed, fresh, place), "used": used}


def _snapshot(
    available: np.ndarray,
    state: State,
    memory: Memory,
    rng: np.random.Generator | None,
    *,
    size: int,
    otherwise: Selection,
    interval: int | None,
    probability: Any,
    strength: Any,
) -> tuple[Cohort, Memory]:
    arbitrary, memory = otherwise(available, state, memory, rng)
    everybody = np.ones(available.shape, dtype=np.bool_)
    uniformly, _ = _uniform(everybody, state, memory, rng, size=size)
    r = memory.get("round", 0)
    memory = memory | {"round": r + 1}
    replicates = available.shape[:-1]
    if interval is not None:
        taken = np.full(replicates, r % interval == 0)
    else:
        now = memory["probability"] if "probability" in memory else _for_each(replicates, probability)
        if "accuracy" in memory:
            now = adapted(now, memory.get("accuracy_before", 0), memory["accuracy"], strength)
            memory = memory | {"accuracy_before": memory["accuracy"]}
        taken = _drawn(rng, replicates) < now
        memory = memory | {"probability": now}
    memory = memory | {"snapshot": taken, "snapshots": memory.get("snapshots", 0) + taken}
    return _either(taken, uniformly, arbitrary), memory


def _for_each(replicates: tuple[int, ...], probability: Any) -> np.ndarray:
    try:
        return np.broadcast_to(probability, replicates)
    except ValueError:
        raise InputError(COIN, probability, "a number in [0, 1], or one for each replicate") from None


def _drawn(rng: np.random.Generator | None, shape: tuple[int, ...]) -> np.ndarray:
    if rng is None:
        raise InputError("rng", None, "a numpy generator, since this selection draws at random")
    return rng.random(shape)


def _lowest(key: np.ndarray, available: np.ndarray, size: int) -> Cohort:
    """The `size` available clients with the lowest keys, which differ within a replicate."""
    n_clients = available.shape[-1]
    if size > n_clients:
        raise InputError("size", size, f"at most the number of clients, {n_clients}")
    first = np.argpartition(np.where(available, key, np.inf), size - 1, axis=-1)[..., :size]
    asked = np.zeros(available.shape, dtype=np.bool_)
    np.put_along_axis(asked, first, np.take_along_axis(available, first, axis=-1), axis=-1)
    return _cohort(asked, size)


def _cohort(asked: Array, width: int) -> Cohort:
    """The clients asked, in increasing order, in `width` slots; padding comes last and names client 0."""
    valid = np.arange(width) < asked.sum(axis=-1)[..., None]
    clients = np.zeros(valid.shape, dtype=np.int64)
    clients[valid] = np.nonzero(asked)[-1]
    return Cohort(clients, valid, asked.shape[-1])


def _either(choice: np.ndarray, one: Cohort, other: Cohort) -> Cohort:
    """`one` in replicates where `choice`, else `other`."""
    asked = np.where(choice[..., None], _mask(one), _mask(other))
    return _cohort(asked, max(one.clients.shape[-1], other.clients.shape[-1]))


def _mask(cohort: Cohort) -> Array:
    """Who is asked, bool (..., N)."""
    return marked(cohort.clients, cohort.valid, cohort.n_clients)


def _on_host(array: Array) -> Array:
    return array if is_numpy_array(array) else array.cpu().numpy()
