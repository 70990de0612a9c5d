"""Which coordinates the constraints leave free."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def independent(C: Float[Array, "m n"]) -> Bool[Array, " n"]:
    """Which of `n` coordinates or velocities are free: those that are no pivots of `C^T`.

    Gaussian elimination with row pivoting, written out: a batch of small matrices is slow in
    LAPACK.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.2) and (2.3).
    """
    m, n = C.shape
    free = jnp.ones(n, bool)
    rows = C.T
    for column in range(min(m, n)):
        candidates = jnp.where(free, jnp.abs(rows[:, column]), -1)
        pivot = jnp.arange(n) == jnp.argmax(candidates)
        free = free & ~pivot
        row = jnp.sum(jnp.where(pivot[:, None], rows, 0), 0)
        scale = jnp.where(row[column] == 0, 1, row[column])
        rows = rows - rows[:, column : column + 1] * (row / scale)[None, :]
    return free
