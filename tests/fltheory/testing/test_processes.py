"""The battery for processes: every family of the package passes, and every fault is found by the right check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from fltheory.errors import InputError
from fltheory.participation import Bernoulli, Cyclic, Markov, Permutation, Phases, TwoStateChain
from fltheory.participation.runs import Runs
from fltheory.streams import stream
from fltheory.testing import CheckFailed, check_participation_process
from tests.fltheory.participation.families import FAMILIES, Family

RATES = [0.2, 0.5]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_every_family_passes(family: Family) -> None:
    check_participation_process(family.process, of=family.of, start=family.start, window=family.window)


class OneStream(Bernoulli):
    """All clients draw from one generator, round by round: adding a client moves everybody."""

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        on = stream(seed, "test").random((rounds, self.n_clients)) < self.rate
        when, client = np.nonzero(on)
        yield Runs(client, when, when + 1)


class SharedCoins(Bernoulli):
    """Clients 2 n and 2 n + 1 look at one coin, so that who has the smaller rate never comes alone."""

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        return stream(seed, "test.shared", client // 2).random(rounds)

    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        for client in range(self.n_clients):
            on = np.flatnonzero(self._draws(rounds, seed, client) < self.rate[client])
            yield Runs(np.full(on.size, client), on, on + 1)


class SeedsInPairs(SharedCoins):
    """All clients look at one coin, and so do seeds 2 k and 2 k + 1; or, one later, 2 k - 1 and 2 k."""

    later = 0

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        return stream((seed + self.later) // 2, "test.pairs").random(rounds)


class LaterSeedsInPairs(SeedsInPairs):
    later = 1


class BlocksAlike(SharedCoins):
    """Clients of different blocks draw the same: nobody sees it below 65 clients."""

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        return stream(seed, "test.blocks", client % 64).random(rounds)


class Echo(SharedCoins):
    """Whoever has an odd number draws what its neighbour drew three rounds before."""

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        late = stream(seed, "test.echo", client // 2).random(rounds + 3)
        return late[:-3] if client % 2 else late[3:]


class Again(SharedCoins):
    """Every second week has the numbers of the week before; no law of it says so."""

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        t = np.arange(rounds)
        return stream(seed, "test.again", client).random(rounds)[t - 7 * (t // 7 % 2)]

    def interval_law(self) -> Any:
        return None

    def marginal(self) -> Any:
        return None


class SeldomTogether(SharedCoins):
    """In one round of ten all clients draw the same, a correlation of 0.1."""

    def _draws(self, rounds: int, seed: int, client: int) -> Any:
        alike = stream(seed, "test.alike").random((rounds, 2))
        return np.where(alike[:, 0] < 0.1, alike[:, 1], stream(seed, "test.apart", client).random(rounds))


class RoundsMatter(Bernoulli):
    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        return super()._runs(rounds, seed + rounds)


class GlobalGenerator(Bernoulli):
    def _runs(self, rounds: int, seed: int) -> Iterator[Runs]:
        return super()._runs(rounds, int(np.random.randint(10**6)))  # noqa: NPY002


class OtherEvents(Bernoulli):
    def sample_events(self, rounds: int, seed: int) -> Any:
        client, when = super().sample_events(rounds, seed)
        return client[::-1], when[::-1]


class WrongRate(Bernoulli):
    @property
    def rate(self) -> Any:
        return super().rate * 0.8


class WrongCovariance(Markov):
    def _autocovariance(self, lag: int) -> Any:
        return super()._autocovariance(lag + 1)


class WrongIntervals(Markov):
    def interval_law(self) -> Any:
        return Bernoulli(self.rate).interval_law()


class IntervalsOfMore(Bernoulli):
    """Off by less than 2,000 traces show."""

    def interval_law(self) -> Any:
        return Bernoulli(1.01 * self.rate).interval_law()


class MoreVariance(Permutation):
    def _autocovariance(self, lag: int) -> Any:
        return super()._autocovariance(lag) * (1.001 if lag == 0 else 1)


class CovarianceBeyondVariance(Cyclic):
    """After a cycle the covariance is the variance again, and here a little more."""

    def marginal(self) -> Any:
        return None

    def _autocovariance(self, lag: int) -> Any:
        return super()._autocovariance(lag) * (1.001 if lag else 1)


class MarginalOfMore(Bernoulli):
    def marginal(self) -> TwoStateChain:
        return Bernoulli(1.001 * self.rate).marginal()


class MarginalWithMemory(Bernoulli):
    """The same rate, and a correlation of 0.001 from round to round."""

    def marginal(self) -> TwoStateChain:
        return TwoStateChain(0.999 * self.rate, 0.999 * (1 - self.rate))


class PhaseTooMany(Cyclic):
    """One more phase, on in all rounds, so seldom that no trace shows it."""

    def marginal(self) -> Any:
        known = super().marginal()

        def history(rounds: int, clients: Any = slice(None)) -> Any:
            seen = known.history(rounds, clients)
            return np.concatenate([seen, np.ones_like(seen[:1])])

        return Phases(np.append(0.9999 * known.probability, 0.0001), history)


class WrongMarginal(Markov):
    def marginal(self) -> TwoStateChain:
        return Bernoulli(self.rate).marginal()


class ShortGap(Cyclic):
    @property
    def max_gap(self) -> Any:
        return super().max_gap - 1


class Unseen(Cyclic):
    """Its marginal leaves out the last phase."""

    def marginal(self) -> Any:
        marginal = super().marginal()
        object.__setattr__(marginal, "probability", marginal.probability * 0 + 1 / len(marginal.probability))
        history = marginal.history
        object.__setattr__(marginal, "history", lambda rounds: np.roll(history(rounds), 1, axis=1))
        return marginal


class TakesAnything(Bernoulli):
    def sample(self, rounds: int, seed: int) -> Any:
        return super().sample(max(1, int(rounds)), abs(int(seed or 0)))


INDEPENDENCE = {"prefix", "events", "serialisation", "other clients"}
FAULTS: dict[str, tuple[Callable[[], Any], set[str]]] = {
    "one stream": (lambda: OneStream(RATES), {"other clients"}),
    "shared coins": (lambda: SharedCoins(RATES), {"independent clients"}),
    "seeds in pairs": (lambda: SeedsInPairs(RATES), {"seed", "independent clients"}),
    "seeds in later pairs": (lambda: LaterSeedsInPairs(RATES), {"seed", "independent clients"}),
    "blocks alike": (lambda: BlocksAlike(RATES), {"independent clients"}),
    "again after 7 rounds": (lambda: Again(RATES), {"autocovariance"}),
    "echo": (lambda: Echo(RATES), {"independent clients"}),
    "seldom together": (lambda: SeldomTogether(RATES), {"independent clients"}),
    "the number of rounds matters": (lambda: RoundsMatter(RATES), {"prefix"}),
    "global generator": (
        lambda: GlobalGenerator(RATES),
        {"seed"} | INDEPENDENCE,
    ),
    "other events": (lambda: OtherEvents(RATES), {"events"}),
    "rate": (lambda: WrongRate(RATES), {"rate", "autocovariance", "interval law", "marginal"}),
    "autocovariance": (lambda: WrongCovariance.from_stability(RATES, 0.7), {"autocovariance", "identities"}),
    "interval law": (lambda: WrongIntervals.from_stability(RATES, 0.7), {"interval law"}),
    "intervals of more": (lambda: IntervalsOfMore(RATES), {"identities"}),
    "more variance": (lambda: MoreVariance(6, 2), {"identities"}),
    "covariance beyond variance": (lambda: CovarianceBeyondVariance([0.25], period=8), {"identities"}),
    "marginal of more": (lambda: MarginalOfMore(RATES), {"identities"}),
    "marginal with memory": (lambda: MarginalWithMemory(RATES), {"identities"}),
    "a phase too many": (lambda: PhaseTooMany([0.25], period=8), {"identities"}),
    "marginal": (lambda: WrongMarginal.from_stability(RATES, 0.7), {"marginal", "autocovariance"}),
    "longest gap": (lambda: ShortGap(RATES, period=12), {"longest gap"}),
    "phases": (lambda: Unseen([0.25], period=8), {"marginal", "identities"}),
    "takes anything": (lambda: TakesAnything(RATES), {"bad input"}),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_found_by_the_right_checks(fault: tuple[Callable[[], Any], set[str]]) -> None:
    make, fails = fault
    process = make()
    of = type(process) if isinstance(process, Bernoulli) else None
    with pytest.raises(CheckFailed) as failed:
        check_participation_process(process, of=of)
    assert set(failed.value.failures) == fails


@pytest.mark.parametrize(
    ("process", "said"),
    [
        (
            SharedCoins([0.5]),
            "clients 0 and 1 are not independent: client 0 is on in a round and client 1 too for a share",
        ),
        (BlocksAlike([0.5]), "clients 0 and 64 are not independent"),
        (Echo([0.5]), "clients 0 and 1 are not independent: client 0 is on in round t and client 1 in round t + 3"),
    ],
)
def test_who_depends_on_whom_is_shown(process: Bernoulli, said: str) -> None:
    with pytest.raises(CheckFailed) as failed:
        check_participation_process(process, of=type(process))
    example = failed.value.failures["independent clients"]
    assert example.startswith(said)
    first, second = (line.split(": ")[1].rstrip(")") for line in example.split(" (")[-1].split("; "))
    late = 3 if isinstance(process, Echo) else 0
    assert first[: len(first) - late] == second[late:]
    assert len(first) == 12


def test_arguments() -> None:
    with pytest.raises(InputError, match=r"^process must be a ParticipationProcess"):
        check_participation_process(Bernoulli)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^window must be a whole number"):
        check_participation_process(Bernoulli(0.5), window=0)
