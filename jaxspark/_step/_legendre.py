"""Legendre polynomials on the interval of a step."""

from typing import Any


def legendre(xp: Any, points: Any, degree: int) -> Any:
    """Legendre polynomials up to `degree` at `2 points - 1`, one column each.

    `xp` is NumPy or `jax.numpy`.
    """
    x = 2 * points - 1
    columns = [xp.ones_like(x), x]
    for n in range(1, degree):
        columns.append(((2 * n + 1) * x * columns[n] - n * columns[n - 1]) / (n + 1))
    return xp.stack(columns[: degree + 1], 1)
