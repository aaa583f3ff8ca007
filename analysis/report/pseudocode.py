"""The algorithms in our words, a line a step, formulas between dollar signs; an indented step is within the one above.

Letters: x the model, N the clients, S_t the participants of round t, I local steps, gamma and eta the local and the
global step size, g_n(y) a stochastic gradient of client n at y, Delta_n = (last local iterate) - (where it began).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """An algorithm's steps, and what is claimed of it: papers, all of whose bounds are about it, or ids of claims."""

    steps: tuple[str, ...]
    claims: tuple[str, ...] = ()


# What is a rule within an algorithm and has a name of its own -> that algorithm, and what the rule is.
NAMED = {
    "FedAU": ("fedavg", "a rule for its weights, from the intervals of participation"),
    "FAST": ("fedavg", "a rule for who is asked: now and then a uniform subset of all clients"),
}

LOCAL = r"each participant $n \in S_t$ starts at $y = x$ and makes $I$ steps $y \leftarrow y - \gamma g_n(y)$"
SEND = r"it sends $\Delta_n = y - x$"

RECIPES = {
    "fedavg": Recipe(
        (
            r"in each round $t$, with weights $w_t^n$ that were fixed before it:",
            f"  {LOCAL}",
            f"  {SEND}",
            r"  the server moves: $x \leftarrow x + \frac{\eta}{N} \sum_{n \in S_t} w_t^n \Delta_n$",
            r"FedAU's weight of a client: the mean of its intervals from one participation to the next; an interval "
            r"that reaches $K$ rounds is cut off there and counts as $K$, and the client starts anew. It is 1 before "
            r"the first interval has ended",
            r"FAST: in a snapshot round the participants are a uniform subset of all clients, in any other whoever "
            r"takes part",
        ),
        ("fedau", "fast"),
    ),
    "amplified": Recipe(
        (
            r"start with $u = 0$; in each round $t$, with weights $q_t^n$ that add up to 1:",
            f"  {LOCAL}",
            f"  {SEND}",
            r"  the server moves: $x \leftarrow x + \sum_{n \in S_t} q_t^n \Delta_n$, and adds the same to $u$",
            r"  after every $P$ rounds: $x \leftarrow x + (\eta - 1) u$, then $u \leftarrow 0$",
        ),
        ("amplified",),
    ),
    "wait_minibatch": Recipe(
        (
            r"in each interval of $P$ rounds the model stays where it is:",
            r"  a participant draws a minibatch gradient at $x$ and averages it with those it drew in this interval",
            r"after the interval, with $a_n$ these averages and $H$ the clients that took part in it:",
            r"  the server moves: $x \leftarrow x - \frac{\eta}{|H|} \sum_{n \in H} a_n$",
        ),
        ("amplified.waitall",),
    ),
    "wait_full": Recipe(
        (
            r"in each interval of $P$ rounds the model stays where it is:",
            r"  a participant computes the gradient at $x$ on all of its data",
            r"after the interval, with $a_n$ these gradients and $H$ the clients that took part in it:",
            r"  the server moves: $x \leftarrow x - \frac{\eta}{|H|} \sum_{n \in H} a_n$",
        ),
        ("amplified.waitall",),
    ),
    "fedlaavg": Recipe(
        (
            r"start with $u = 0$ and $u_n = 0$ for every client; in each round $t$:",
            r"  $S_t$ are the available clients that took part longest ago",
            r"  each participant $n \in S_t$ starts at $y = x$ and makes $C$ steps $y \leftarrow y - \gamma g_n(y)$ "
            r"(Algorithm 1: $C = 1$)",
            r"  it sends $d_n = \Delta_n - u_n$, and keeps $u_n \leftarrow \Delta_n$",
            r"  the server: $u \leftarrow u + \frac{1}{N} \sum_{n \in S_t} d_n$, the mean of the latest "
            r"updates of all clients",
            r"  the server moves, with or without participants: $x \leftarrow x + u$",
        ),
        ("fedlaavg",),
    ),
    "fedamd": Recipe(
        (
            r"the server keeps a gradient $v_n$ of every client, at first at the start; in each round $t$:",
            r"  it sends $x$ and $\bar v = \frac{1}{N} \sum_n v_n$; each participant is an anchor with probability "
            r"$p_t$, else a miner",
            r"  an anchor sends a gradient at $x$ on a large batch, the new $v_n$",
            r"  a miner starts with $y_0 = y_{-1} = x$ and $d = \bar v$, and makes $I$ steps "
            r"$d \leftarrow d + g_n(y_k) - g_n(y_{k-1})$ on the same samples, $y_{k+1} = y_k - \gamma d$, the first of "
            r"them along $\bar v$ alone",
            r"  it sends $\Delta_n = y_I - x$",
            r"  the server moves by the mean over miners: $x \leftarrow x + \eta\, \mathrm{mean}\, \Delta_n$; then the "
            r"anchors' $v_n$ are renewed",
        ),
        ("fedamd",),
    ),
    "fedamd_massive": Recipe(
        (
            r"as FedAMD, but each client keeps its own $v_n$, and the server $\bar v$ alone; in each round $t$:",
            r"  an anchor sends the change of its gradient, (new $v_n$) - (old $v_n$)",
            r"  miners step as in FedAMD, and the server moves as there",
            r"  the server: $\bar v \leftarrow \bar v + \frac{1}{N} \sum_{\text{anchors}}$ of these changes",
        ),
        ("fedamd",),
    ),
    "fedavgm": Recipe(
        (
            r"start with $v = 0$; in each round $t$, with weights $w_t^n$ that were fixed before it:",
            f"  {LOCAL}",
            f"  {SEND}",
            r"  the server: $v \leftarrow \beta v + \frac{1}{N} \sum_{n \in S_t} w_t^n \Delta_n$, then "
            r"$x \leftarrow x + \eta v$; without participants neither changes",
        )
    ),
    "fedprox": Recipe(
        (
            r"in each round $t$, with weights $w_t^n$ that were fixed before it:",
            r"  each participant $n \in S_t$ starts at $y = x$ and makes $I$ steps "
            r"$y \leftarrow y - \gamma (g_n(y) + \mu (y - x))$",
            f"  {SEND}",
            r"  the server moves: $x \leftarrow x + \frac{\eta}{N} \sum_{n \in S_t} w_t^n \Delta_n$",
        )
    ),
    "fedsgd": Recipe(
        (
            r"in each round $t$, with weights $w_t^n$ that were fixed before it:",
            r"  each participant sends one stochastic gradient $g_n(x)$",
            r"  the server moves: $x \leftarrow x - \frac{\gamma}{N} \sum_{n \in S_t} w_t^n g_n(x)$",
        )
    ),
    "minibatch_sgd": Recipe(
        (
            r"in each round $t$, with weights $w_t^n$ that were fixed before it:",
            r"  each participant sends the mean $a_n$ of $b$ stochastic gradients, all at $x$",
            r"  the server moves: $x \leftarrow x - \frac{\eta}{N} \sum_{n \in S_t} w_t^n a_n$",
        )
    ),
    "sequential_sgd": Recipe(
        (
            r"in each round one client has the model:",
            r"  it makes $I$ steps $x \leftarrow x - \gamma g_n(x)$ and passes the model on",
        )
    ),
    "mifa": Recipe(
        (
            r"the server keeps a table of updates $G_n$, at first zero; in each round $t$:",
            f"  {LOCAL}",
            r"  it sends $\Delta_n$, and the server renews $G_n \leftarrow \Delta_n / \gamma$",
            r"  the server moves, with or without participants: "
            r"$x \leftarrow x + \eta \gamma \frac{1}{N} \sum_{n = 1}^{N} G_n$",
            r"in the paper the model waits until every client has answered once; in FedAU's code it does not",
        )
    ),
    "fedvarp": Recipe(
        (
            r"the server keeps a table of updates $y_n$, at first zero; in each round $t$:",
            f"  {LOCAL}",
            f"  {SEND}",
            r"  the server moves: $x \leftarrow x + \eta \left(\frac{1}{|S_t|} \sum_{n \in S_t} (\Delta_n - y_n) + "
            r"\frac{1}{N} \sum_{m = 1}^{N} y_m\right)$",
            r"  then $y_n \leftarrow \Delta_n$ for the participants; without participants nothing changes",
        )
    ),
    "scaffold": Recipe(
        (
            r"start with $c = 0$ and $c_n = 0$ for every client; in each round $t$:",
            r"  each participant $n \in S_t$ starts at $y = x$ and makes $I$ steps "
            r"$y \leftarrow y - \gamma (g_n(y) - c_n + c)$",
            r"  its new $c_n$ is a gradient at $x$ (option I), or $c_n - c + (x - y) / (I \gamma)$ (option II)",
            r"  it sends $\Delta_n = y - x$ and the change of $c_n$",
            r"  the server moves: $x \leftarrow x + \frac{\eta}{|S_t|} \sum_{n \in S_t} \Delta_n$, and adds the sum of "
            r"the changes, divided by $N$, to $c$",
        )
    ),
    "fedpage": Recipe(
        (
            r"in each round $t$, with $x_t$ the model and $v$ the server's estimate of the gradient:",
            r"  in a full round (the first, then with probability $p$) every participant sends a large-batch gradient "
            r"at $x_t$; $v$ becomes their mean",
            r"  in any other round a participant starts with $d = v + g_n(x_t) - g_n(x_{t-1})$, on one sample, and "
            r"makes $I$ steps along it, renewing $d$ by differences of gradients as FedAMD's miners do; $v$ becomes "
            r"the mean of $-\Delta_n / (I \gamma)$",
            r"  the server moves: $x_{t+1} = x_t - \eta v$",
        )
    ),
    "bvr_l_sgd": Recipe(
        (
            r"in each of the $T$ inner rounds of a stage, with $v$ the server's estimate of the gradient:",
            r"  clients report: a large-batch gradient at $x$ in the stage's first inner round, and $v$ becomes "
            r"their mean; later the change of the gradient since the last report, on the same samples, whose mean is "
            r"added to $v$",
            r"  clients make $I$ steps along an estimate that starts with $v$ at $x$ and is renewed by differences of "
            r"gradients",
            r"  $x$ becomes the model of one client, drawn uniformly",
        )
    ),
}
