"""Section 6, Appendices A and D: the other method of [22], costs, and numbers of the experiments."""

from __future__ import annotations

from sympy import Integer, Symbol

from fltheory.papers.fedlaavg.letters import C, E, K, N, beta, paper

absent = Symbol("absent", positive=True)  # probability that the client is away
backpropagation, size = Symbol("backpropagation", positive=True), Symbol("size", positive=True)
sort = Symbol("sort", positive=True)  # comparisons to sort N numbers, N log N

appA_z = paper.claim(
    "appA.z", "Values of z_r in Appendix A",
    kind="remark", where="Appendix A",
    words="z_r is 0 if E[w_i s_i]/w_i is the same for all clients and 1 otherwise; a single client that is away with "
    "this "
    "probability gives z_r = `value`.",
    formulas={"value": absent},
    gap="M_R sums expectations of z_r, so the value reads as E[z_r] with z_r about the clients that did come; and `s "
    "= 1 "
    "with probability 1` reads as `s = 0 for one client`.",
)  # fmt: skip
appA_MR = paper.claim(
    "appA.MR", "M_R = R on Example 1, so the method diverges",
    kind="remark", where="Appendix A",
    words="In Example 1 M_R/R is `share` for every R, from which it is said to follow that the method does not get to "
    "the "
    "minimiser: the distance stays positive. Its updates are those of FedAvg there.",
    formulas={"share": Integer(1), "distance": Symbol("positive_distance", positive=True)},
    uses=("fedlaavg.ex1", "fedlaavg.appA.z"),
    gap="A share M_R/R that does not vanish leaves the bound of [22] uninformative; it does not by itself show "
    "divergence. For t_1 other than t_2, e_1 other than e_2 and small steps the updates do settle away from the "
    "minimiser; that follows from Theorem 1.",
)  # fmt: skip
appD_client = paper.claim(
    "appD.client", "Client time and space complexity",
    kind="remark", where="Appendix D",
    words="A round costs a client `time` (P a backpropagation, Q numbers of the model) and it stores `space` between "
    "rounds; C = 1 for Algorithm 1. The cache has to survive between participations.",
    formulas={"time": C * backpropagation + size, "space": size},
    uses=("fedlaavg.alg1", "fedlaavg.alg2"),
)  # fmt: skip
appD_server = paper.claim(
    "appD.server", "Server time and space complexity",
    kind="remark", where="Appendix D",
    words="A round costs the server `time` (sorting N numbers, adding K updates), and it stores `space`.",
    formulas={"time": sort + K * size, "space": N + size},
    uses=("fedlaavg.alg1", "fedlaavg.alg2"),
)  # fmt: skip
exp_sizes = paper.claim(
    "exp.sizes", "Data set and model sizes of the experiments",
    kind="number", where="section 6.1",
    words="MNIST: 60000 images for training and 10000 for testing of 70000, 28 by 28; with N = 1000 clients the sizes "
    "have this mean and deviation. The parameters of softmax regression and of the LSTM classifier (25 inputs, two "
    "layers "
    "of 16, one output) follow.",
    formulas={
        "images": Integer(70000), "mean": Integer(60), "deviation": Integer(10),
        "softmax parameters": Integer(7850), "LSTM parameters": Integer(4945),
    },
    gap="The paper prints no numbers of parameters; the LSTM's has two bias vectors for each gate, as in torch.",
)  # fmt: skip
exp_seqsgd = paper.claim(
    "exp.seqsgd", "Sequential SGD runs 1000 iterations per round",
    kind="number", where="section 6.1.2",
    words="beta N C iterations, as many as all selected clients together, which are this many by default.",
    formulas={"iterations": Integer(1000), "law": beta * N * C},
)  # fmt: skip
exp_E = paper.claim(
    "exp.E", "Block availability of E rounds satisfies Assumption 5 with E",
    kind="number", where="section 6.1.3",
    words="Two groups that are available for E rounds in turn satisfy Assumption 5 with this window.",
    formulas={"window": E},
    uses=("fedlaavg.ass5", "fedlaavg.lem5"),
    gap="E is called the period length there; the assumption holds with E + 1.",
)  # fmt: skip
exp_conv2000 = paper.claim(
    "exp.conv2000", "Convergence in about 2000 rounds coincides with Theorem 3",
    kind="remark", where="section 6.2",
    words="FedLaAvg is reported to converge in about 2000 rounds under all availability settings.",
    unchecked="Published observation of training; the speed-up threshold E N^(3/2)/beta is 3.16e7 rounds there, and "
    "the "
    "bound is not informative at the step size used",
    uses=("fedlaavg.thm3", "fedlaavg.cor1.speedup"),
)  # fmt: skip
E25 = paper.claim(
    "E25", "FedAvg oscillates especially when E or D is large",
    kind="remark", where="section 6.2",
    words="FedSGD, FedAvg and FedProx are reported to oscillate most when E or D is large.",
    unchecked="Published observation of oscillation in training; the small-step bias of Theorem 1 is another quantity",
    uses=("fedlaavg.thm1.limit",),
)  # fmt: skip
