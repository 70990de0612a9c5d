"""Legendre polynomials on the interval of a step."""

from typing import Any

import numpy as np

from .._tableau import SparkTableau


def legendre(xp: Any, points: Any, degree: int) -> Any:
    """Legendre polynomials up to `degree` at `2 points - 1`, one column each.

    `xp` is NumPy or `jax.numpy`.
    """
    x = 2 * points - 1
    columns = [xp.ones_like(x), x]
    for n in range(1, degree):
        columns.append(((2 * n + 1) * x * columns[n] - n * columns[n - 1]) / (n + 1))
    return xp.stack(columns[: degree + 1], 1)


def polynomial_nodes(tableau: SparkTableau) -> tuple[np.ndarray, np.ndarray]:
    """The start, the inner stages and the end of a step.

    **Returns:** their times, shape `(n,)`, and the matrix `(n, s + 2)` that selects their values
    from those of the start, all stages and the end.
    """
    c, s = tableau.c, tableau.stages
    inner = [i for i in range(s) if 0 < c[i] < 1]
    nodes = np.concatenate([[0.0], c[inner], [1.0]])
    known = np.zeros((len(nodes), s + 2))
    known[range(len(nodes)), [0, *(i + 1 for i in inner), s + 1]] = 1.0
    return nodes, known
