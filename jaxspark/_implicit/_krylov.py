"""Linear solves where the approximate inverse is too rough for refinement to contract."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


Vector = Float[Array, " n"]
Linear = Callable[[Vector], Vector]

MAX_SWEEPS = 20


def conjugate_gradients(
    matvec: Linear,
    inverse: Linear,
    inverse_transposed: Linear,
    rhs: Vector,
    weight: Vector,
) -> tuple[Vector, Bool[Array, ""]]:
    """Conjugate gradients on the normal equations of the preconditioned system.

    With `A` for `matvec` and `B` for `inverse`, `B A x = B b` is solved in the least-squares
    sense, which needs no more than that `B A` is regular; it is far from singular where `B`
    is of any use. Sweeps of conjugate gradients start again from the true residual until
    they change nothing. Only vectors are stored.

    **Arguments:**

    - `matvec`: `A`.
    - `inverse`, `inverse_transposed`: `B` and its transpose, both regular.
    - `rhs`: `b`.
    - `weight`: reciprocals of the sizes of the unknowns, so that they count alike.

    **Returns:** the solution and whether it was found.

    ??? cite "Reference"
        Y. Saad, *Iterative Methods for Sparse Linear Systems*, 2nd edition, section 8.3
        (CGNR).
    """
    epsilon = jnp.finfo(rhs.dtype).eps
    iterations_in_sweep = 10 * rhs.size

    def backward(r: Vector) -> Vector:
        (w,) = jax.linear_transpose(matvec, r)(inverse_transposed(weight * r))
        return w / weight

    def body(carry):
        x, r, p, gamma, target, count, sweeps, before, change, _ = carry
        # A new sweep spends its first iteration on the residual: one loop body for both.
        renew = (gamma <= target) | (count >= iterations_in_sweep)
        direction = jnp.where(renew, x, p)
        q = weight * inverse(jnp.where(renew, rhs, 0) - matvec(direction / weight))
        curvature = jnp.sum(q * q)
        alpha = jnp.where(renew | (curvature == 0), 0, gamma / curvature)
        x = x + alpha * p
        r = jnp.where(renew, q, r + alpha * q)
        s = backward(r)
        size = jnp.sum(s * s)
        p = s + jnp.where(renew, 0, size / gamma) * p

        moved = jnp.max(jnp.abs(x - before)) / jnp.max(jnp.abs(x))
        done = (sweeps > 1) & (moved <= 8 * epsilon)
        stalled = (moved >= 0.5 * change) & (moved <= 1e4 * epsilon)
        done = renew & (done | ((sweeps > 2) & stalled))
        return (
            x, r, p, size,
            jnp.where(renew, epsilon**2 * size, target),
            jnp.where(renew, 0, count + 1),
            sweeps + renew.astype(jnp.int32),
            jnp.where(renew, x, before),
            jnp.where(renew, moved, change),
            done,
        )  # fmt: skip

    def unfinished(carry):
        _, _, _, gamma, _, _, sweeps, *_, done = carry
        return ~done & (sweeps <= MAX_SWEEPS) & jnp.isfinite(gamma)

    zeros, zero = jnp.zeros_like(rhs), jnp.zeros((), rhs.dtype)
    none = jnp.zeros((), jnp.int32)
    infinity = jnp.asarray(jnp.inf, rhs.dtype)
    start = (zeros, zeros, zeros, zero, zero, none, none, zeros, infinity, jnp.asarray(False))
    x, *_, done = jax.lax.while_loop(unfinished, body, start)
    return x / weight, done
