"""S. Wang, M. Ji, "A Unified Analysis of Federated Learning with Arbitrary Client Participation", NeurIPS 2022.
Sections 2 to 6; its supplement (Appendices A to D) was not read.

`setting` has the algorithm and the assumptions, `bounds` Theorem 3.1 and its corollaries, `participation` section 4
up to Proposition 4.2, `stochastic` what follows up to Proposition 4.7 and the laws of the weights, `rates` Corollary
4.8, the remarks, the experiment and Table 1.

The proof of Theorem 3.1 stands in the supplement, so the explicit constants here come from a proof of ours along the
printed sketch; the published order stands beside each bound.
"""

from fltheory.papers.amplified.attained import *  # noqa: F403
from fltheory.papers.amplified.bounds import *  # noqa: F403
from fltheory.papers.amplified.participation import *  # noqa: F403
from fltheory.papers.amplified.rates import *  # noqa: F403
from fltheory.papers.amplified.setting import *  # noqa: F403
from fltheory.papers.amplified.setting import paper as paper
from fltheory.papers.amplified.stochastic import *  # noqa: F403
