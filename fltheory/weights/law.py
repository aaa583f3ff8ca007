"""The exact law of the FedAU weight in every round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fltheory import errors
from fltheory.errors import InputError
from fltheory.weights.fedau import fedau_weights
from fltheory.weights.inputs import FloatArray, lone_rate
from fltheory.weights.moments import weight_moments
from fltheory.weights.renewal import Chain, weight_pmf

if TYPE_CHECKING:
    from fltheory.participation.marginals import Phases

MOST_ROUNDS = 10**6  # tens of seconds, and for cutoffs of that size a gigabyte or two
MOST_CELLS = 10**11  # rounds in all histories that clients may have, an hour or so
CELLS = 2**20  # weights of deterministic histories that are held at a time


@dataclass(frozen=True, eq=False)
class WeightLaw:
    """The law of the FedAU weight w_t for t = 0 .. rounds - 1, t being the round in which the weight is used.

    mean            E[w_t]
    second_moment   E[w_t^2]
    error           E[(rate w_t - 1)^2], the weight error of the client
    rate            the stationary participation rate
    cutoff          K, or math.inf

    The first three have shape (rounds,) for one client, else (rounds, n_clients); rate is a float or has shape
    (n_clients,).
    """

    mean: FloatArray
    second_moment: FloatArray
    error: FloatArray
    rate: float | FloatArray
    cutoff: int | float
    _clients: tuple[Chain, ...] | Phases = field(repr=False)

    def pmf(self, t: int, client: int = 0) -> tuple[FloatArray, FloatArray]:
        """The values that w_t of one client takes, ascending, and their probabilities: two equally long arrays.

        Weights are quotients of whole numbers, and equal ones are merged exactly. Values of probability below
        about 1e-30 may be missing. Raises InputError for a round or a client that is not there.
        """
        t, client = errors.count("t", t, least=0), errors.count("client", client, least=0)
        if t >= self.mean.shape[0]:
            raise InputError("t", t, f"a round before round {self.mean.shape[0]}")
        if client >= np.size(self.rate):
            raise InputError("client", client, f"below the number of clients, {np.size(self.rate)}")
        if isinstance(self._clients, tuple):
            return weight_pmf(self._clients[client], self.cutoff, t)
        history, chance = self._clients.history(t + 1, np.array([client])), self._clients.probability
        weights = fedau_weights(history, self.cutoff)[:, t, 0]
        support, which = np.unique(weights, return_inverse=True)
        return support, np.bincount(
            which, chance if chance.ndim == 1 else chance[:, client], minlength=support.size
        ).astype(float)


def exact_weight_law(process_or_p: Any, cutoff: float, rounds: int) -> WeightLaw:
    """The exact law of the FedAU weight of each client, for a process or for one rate p of independent rounds.

    `process_or_p` is a float p (Bernoulli participation) or a process of `fltheory.participation` in which one
    client is a two-state chain (Bernoulli, Markov, UniformSubset, WeightedDraws) or follows one of finitely many
    histories (Cyclic, Periodic, Recorded). The relative error is below 1e-12 for every p, cutoff and t < 1e5 (for
    histories take the rate as rounded: a weight error that is 0 may come out as 1e-32). The time is linear in the
    rounds, a second or two for a chain at 1e5 rounds; for histories it is their number (at most 1e4, or twice the
    rounds) times the rounds times the clients, at most 1e11.

    Source: FedAU, Algorithm 2 and the left-hand side of Theorem 3. Raises InputError for bad arguments, and for
    a process without such a description.

    >>> law = exact_weight_law(0.5, cutoff=2, rounds=10)
    >>> law.mean[:4].round(12), round(float(law.error[1]), 12)
    (array([1. , 1. , 1.5, 1.5]), 0.25)
    >>> law.pmf(2)
    (array([1., 2.]), array([0.5, 0.5]))
    """
    K, rounds = errors.cutoff("cutoff", cutoff), errors.count("rounds", rounds)
    if rounds > MOST_ROUNDS:
        raise InputError("rounds", rounds, f"at most {MOST_ROUNDS}")
    p = lone_rate(process_or_p)
    if p is not None:
        chain = Chain(p, 1 - p)
        mean, second, error = weight_moments(chain, K, rounds)
        return WeightLaw(mean, second, error, p, K, (chain,))
    from fltheory.participation.marginals import Phases, TwoStateChain

    within = getattr(process_or_p, "marginal_within", None)
    marginal = within(rounds) if within else process_or_p.marginal()
    rates = np.asarray(process_or_p.rate, dtype=np.float64)
    clients: tuple[Chain, ...] | Phases
    if isinstance(marginal, TwoStateChain):
        clients = tuple(map(Chain, marginal.enter.tolist(), marginal.leave.tolist()))
        distinct = {chain: weight_moments(chain, K, rounds) for chain in dict.fromkeys(clients)}
        moments = np.stack([distinct[chain] for chain in clients], axis=-1)
    elif isinstance(marginal, Phases):
        cells = len(marginal.probability) * rounds * rates.size
        if cells > MOST_CELLS:
            allowed = (
                f"so few that there are at most {MOST_CELLS:.0e} rounds of all clients' histories, not {cells:.0e}"
            )
            raise InputError("rounds", rounds, allowed)
        clients, moments = marginal, _phase_moments(marginal, rates, K, rounds)
    else:
        raise InputError(
            "process_or_p",
            process_or_p,
            "a rate or a process in which one client is a two-state chain or follows one of finitely many"
            " histories: Bernoulli, Markov, UniformSubset, WeightedDraws, Cyclic, Periodic, Recorded (for others"
            " sims.montecarlo.weight_error estimates the error)",
        )
    single = rates.size == 1
    mean, second, error = moments[..., 0] if single else moments
    return WeightLaw(mean, second, error, float(rates[0]) if single else rates, K, clients)


def _phase_moments(phases: Phases, rates: FloatArray, cutoff: float, rounds: int) -> FloatArray:
    """The moments (3, rounds, n_clients): averages over the phases, for a few clients at a time."""
    moments = np.zeros((3, rounds, rates.size))
    few = max(1, CELLS // (len(phases.probability) * rounds))
    block = max(1, CELLS // (few * rounds))
    for start in range(0, rates.size, few):
        some = slice(start, start + few)
        history = phases.history(rounds, some)
        for first in range(0, len(history), block):
            chance = phases.probability[first : first + block]
            weights = fedau_weights(history[first : first + block], cutoff)
            for i, values in enumerate((weights, weights**2, (rates[some] * weights - 1) ** 2)):
                if chance.ndim == 1:
                    moments[i, :, some] += np.tensordot(chance, values, axes=1)
                else:
                    moments[i, :, some] += np.einsum("hc,hrc->rc", chance[:, some], values)
    return moments
