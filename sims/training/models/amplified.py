"""The CNNs of amplified FedAvg (Wang and Ji, NeurIPS 2022): two 5x5 convolutions, each with ReLU and 2x2 max-pooling,
then fully connected layers with ReLU between them.

The paper says "CNNs" and leaves the rest to its supplement; kernel, widths and initialisation (Kaiming normal, zero
biases, all but the last layer) are from the authors' code. They differ from FedAU's in kernel and widths.
"""

from __future__ import annotations

from sims.training.models.layers import Chain, cnn, kaiming


def cifar10(channels: int = 3, size: int = 32, classes: int = 10) -> Chain:
    """CIFAR-10: conv 5x5 32, pool, conv 5x5 64, pool, 4096-512-128-10. 2,218,314 parameters."""
    return kaiming(cnn(channels, size, (32, 64), 5, (512, 128), classes))


def fashion(channels: int = 1, size: int = 28, classes: int = 10) -> Chain:
    """Fashion-MNIST: conv 5x5 32, pool, conv 5x5 32, pool, 1568-128-10. 228,586 parameters."""
    return kaiming(cnn(channels, size, (32, 32), 5, (128,), classes))
