"""Which coordinates the constraints leave free, and how they determine the others."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Elimination(eqx.Module):
    """What `m` constraints with the Jacobian `C` say about `n` coordinates or velocities.

    - `free`: those that are independent, `p = n - m` of them.
    - `tangent`: `T`, a basis of the directions that the constraints admit: `C T = 0`.
    - `normal`: `B`, zero for the independent ones: `C B = I`.

    `T^T` is the annihilator `P` of the constraint forces, `P C^T = 0`, and `B^T` finds multipliers
    from the dependent entries of such a force.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equations (2.1)-(2.3).
    """

    free: Bool[Array, "*s n"]
    tangent: Float[Array, "*s n p"]
    normal: Float[Array, "*s n m"]


def eliminate(C: Float[Array, "m n"], weights: Float[Array, " n"] | None = None) -> Elimination:
    """Gauss-Jordan elimination that takes in each constraint the coordinate of largest influence.

    Written out: a batch of small matrices is slow in LAPACK. Where constraints are dependent it
    divides by zero.

    **Arguments:**

    - `C`: the constraint Jacobian.
    - `weights`: by which influences are multiplied before they are compared.
    """
    m, n = C.shape
    free = jnp.ones(n, bool)
    rows = jnp.concatenate([C, jnp.eye(m, dtype=C.dtype)], 1)
    pivots = []
    for i in range(min(m, n)):
        influence = jnp.abs(rows[i, :n])
        influence = influence if weights is None else weights * influence
        candidates = jnp.where(free, influence, -1)
        pivot = jnp.arange(n) == jnp.argmax(candidates)
        pivots.append(pivot)
        free = free & ~pivot
        column = jnp.sum(jnp.where(pivot[None, :], rows[:, :n], 0), 1)
        row = rows[i] / column[i]
        others = jnp.where(jnp.arange(m) == i, 0, column)
        rows = jnp.where((jnp.arange(m) == i)[:, None], row[None, :], rows)
        rows = rows - others[:, None] * row[None, :]
    p = max(n - m, 0)
    rank = jnp.cumsum(free) - 1
    chosen = (free[:, None] & (rank[:, None] == jnp.arange(p)[None, :])).astype(C.dtype)
    if m == 0:
        return Elimination(free, chosen, jnp.zeros((n, 0), C.dtype))
    places = jnp.stack(pivots, 1).astype(C.dtype)
    tangent = chosen - places @ (rows[: places.shape[1], :n] @ chosen)
    return Elimination(free, tangent, places @ rows[: places.shape[1], n:])
