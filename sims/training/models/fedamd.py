"""The models of FedAMD (Wu et al., ICML 2023, Appendix F.1, Tables 3 and 4), with torch's default initialisation."""

from __future__ import annotations

from sims.training.models import plain
from sims.training.models.layers import Chain, cnn


def lenet5(channels: int = 1, size: int = 28, classes: int = 10) -> Chain:
    """Fashion-MNIST, Table 3: conv 5x5 6, pool, conv 5x5 16, pool (no padding), 256-120-84-10. 44,426 parameters."""
    return cnn(channels, size, (6, 16), 5, (120, 84), classes, padding=0)


def mlp(inputs: int = 784, classes: int = 10) -> Chain:
    """EMNIST digits, Table 4: 784-100-10 with ReLU. 79,510 parameters."""
    return plain.mlp((inputs, 100, classes))
