"""The CNNs of FedAU (Wang and Ji, ICLR 2024, Appendix C.3): two 3x3 convolutions of 32 filters, each with ReLU and
2x2 max-pooling, then fully connected layers with ReLU between them.

The paper gives kernel, filters, number of layers, dropout and Kaiming initialisation; the widths of the fully
connected layers, and that Kaiming normal weights with zero biases go into all layers but the last, are from the
authors' code. Images are (B, channels, size, size); other sizes than the defaults change the first of these widths.
"""

from __future__ import annotations

from collections.abc import Sequence

from sims.training.models.layers import Chain, cnn, kaiming


def _model(channels: int, size: int, hidden: Sequence[int], classes: int, dropout: float = 0.0) -> Chain:
    return kaiming(cnn(channels, size, (32, 32), 3, hidden, classes, dropout=dropout))


def svhn(channels: int = 3, size: int = 32, classes: int = 10) -> Chain:
    """SVHN: conv 3x3 32, pool, conv 3x3 32, pool, 2048-128-10. 273,706 parameters."""
    return _model(channels, size, (128,), classes)


def fashion(channels: int = 1, size: int = 28, classes: int = 10) -> Chain:
    """Fashion-MNIST: conv 3x3 32, pool, conv 3x3 32, pool, 1568-128-10. 211,690 parameters.

    In the authors' code alone.
    """
    return _model(channels, size, (128,), classes)


def cifar10(channels: int = 3, size: int = 32, classes: int = 10) -> Chain:
    """CIFAR-10: conv 3x3 32, pool, conv 3x3 32, pool, 2048-256-64-10. 551,786 parameters."""
    return _model(channels, size, (256, 64), classes)


def cifar100(channels: int = 3, size: int = 32, classes: int = 100, dropout: float = 0.2) -> Chain:
    """CIFAR-100: conv 3x3 32, pool, conv 3x3 32, pool, 2048-512-256-100, dropout 0.2 before each of the three.

    1,216,260 parameters.
    """
    return _model(channels, size, (512, 256), classes, dropout)


def cinic10(channels: int = 3, size: int = 32, classes: int = 10, dropout: float = 0.2) -> Chain:
    """CINIC-10: as CIFAR-100, with 10 classes. 1,193,130 parameters."""
    return _model(channels, size, (512, 256), classes, dropout)
