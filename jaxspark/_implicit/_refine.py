"""Linear solves to rounding error with an approximate inverse, and their transposes."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ._krylov import conjugate_gradients
from ._lazily import lazily


T = TypeVar("T")
Vector = Float[Array, " n"]
Linear = Callable[[Vector], Vector]
Weights = Callable[[Vector], Vector]

# Where refinement contracts at all it is done long before this.
MAX_REFINEMENTS = 40

# Masks over all parts fuse into one operation; of long vectors they would be large arrays.
LONGEST_MASKED = 2048


def preconditioned_solve(
    matvec: Callable[[T], T],
    inverse: Callable[[T], T],
    inverse_transposed: Callable[[T], T],
    rhs: T,
    emphasis: Sequence[float],
    tolerance: float = 0.0,
    exact: bool = False,
) -> T:
    """Solve `matvec(x) = rhs`, exactly differentiable and transposable.

    `x <- x + inverse(rhs - matvec(x))` is repeated until the update is rounding error, or
    below the tolerance. It contracts as fast as the modified Newton iteration with the same
    `inverse`. If it does not contract, conjugate gradients take over: slower, no less accurate.

    **Arguments:**

    - `matvec`: a linear function on a PyTree.
    - `inverse`, `inverse_transposed`: its approximate inverse, and the transpose of that.
    - `rhs`: the right-hand side.
    - `emphasis`: by how much the relative change of each leaf of the solution counts for
        convergence. Stage multipliers count little: their rounding error is amplified by
        `1 / h^2`. In the transposed solve, whose unknowns are other ones, all count.
    - `tolerance`: a relative error that is small enough, if it is larger than rounding error;
        an estimate from the last two updates, and not for large ones.
    - `exact`: whether `inverse` is the inverse but for rounding errors: refinement is all that is
        done, where it does not contract the solution is not a number, and programs are shorter.

    **Returns:** the solution; not a number if no way leads to it.
    """
    # One vector: a right-hand side of many arrays, some of them constant, does not transpose.
    flat, unravel = jax.flatten_util.ravel_pytree(rhs)
    sizes = [leaf.size for leaf in jax.tree.leaves(rhs)]

    def flattened(function):
        return lambda x: jax.flatten_util.ravel_pytree(function(unravel(x)))[0]

    # Each is used several times, and traced once.
    apply, apply_transposed = jax.jit(flattened(inverse)), jax.jit(flattened(inverse_transposed))
    alike = _part_weights(sizes, np.ones(len(sizes)))

    def solve(matvec, rhs):
        weights = _part_weights(sizes, np.asarray(emphasis))
        return _solve(
            jax.jit(matvec), apply, apply_transposed, rhs, weights, alike, tolerance, exact
        )

    def transpose_solve(vecmat, rhs):
        return _solve(jax.jit(vecmat), apply_transposed, apply, rhs, alike, alike, tolerance, exact)

    return unravel(jax.lax.custom_linear_solve(flattened(matvec), flat, solve, transpose_solve))


def _part_weights(sizes: Sequence[int], emphasis: np.ndarray) -> Weights:
    """The emphasis on each part of a vector over its size (at least 1/1000 of the largest)."""
    ends = np.cumsum(sizes)
    small = ends[-1] <= LONGEST_MASKED
    part = np.repeat(np.arange(len(sizes)), sizes) if small else np.zeros(0, int)
    member = part[None, :] == np.arange(len(sizes))[:, None]

    def largest_of_parts(x):
        if small:
            return jnp.max(jnp.where(member, jnp.abs(x), 0), 1)
        parts = jnp.split(jnp.abs(x), ends[:-1])
        return jnp.stack([jnp.max(values, initial=0) for values in parts])

    def spread(values):
        if small:
            return jnp.sum(jnp.where(member, values[:, None], 0), 0)
        each = [jnp.broadcast_to(values[i], (size,)) for i, size in enumerate(sizes)]
        return jnp.concatenate(each)

    def weights(x):
        largest = largest_of_parts(x)
        overall = jnp.max(jnp.where(emphasis == 1, largest, 0))
        size = jnp.maximum(largest, 1e-3 * overall)
        reciprocal = jnp.asarray(emphasis, x.dtype) / jnp.where(size > 0, size, 1)
        return spread(reciprocal)

    return weights


def _solve(
    matvec: Linear,
    inverse: Linear,
    inverse_transposed: Linear,
    rhs: Vector,
    weights: Weights,
    alike: Weights,
    tolerance: float,
    exact: bool,
) -> Vector:
    """Refinement; where it does not contract, conjugate gradients unless the inverse is exact.

    These cost no time unless they are needed.
    """
    x, done = refine(matvec, inverse, rhs, weights, tolerance)
    if exact:
        return jnp.where(done, x, jnp.nan)

    def slowly(rhs: Vector) -> Vector:
        weight = alike(inverse(rhs))
        slow, found = conjugate_gradients(matvec, inverse, inverse_transposed, rhs, weight)
        return jnp.where(found, slow, jnp.nan)

    return lazily(~done, slowly, rhs, x)


def refine(
    matvec: Linear, inverse: Linear, rhs: Vector, weights: Weights, tolerance: float
) -> tuple[Vector, Bool[Array, ""]]:
    """The solution by refinement, and whether it converged; as in `preconditioned_solve`.

    Source: the test for convergence is that of E. Hairer & G. Wanner, *Solving Ordinary
    Differential Equations II*, IV.8 (8.10), for a linear iteration.
    """
    epsilon = jnp.finfo(rhs.dtype).eps
    enough = max(8 * float(epsilon), tolerance)
    # In long chains rounding errors add up.
    floor = 1e4 * epsilon * max(1.0, rhs.size / 1000)
    nothing = jnp.all(rhs == 0)
    # Nothing is to be done for zero, not even by factors that are not finite.
    first = jnp.where(nothing, 0, inverse(rhs))
    weight = weights(first)

    def body(carry):
        x, count, previous, before, _ = carry
        update = inverse(rhs - matvec(x))
        x = x + update
        change = jnp.max(jnp.abs(update) * weight)
        rate = change / previous
        # The error that remains is at most rate / (1 - rate) times the last change.
        done = (rate < 1) & (rate * change <= enough * (1 - rate))
        # No progress in two iterations, close to rounding error: as good as it gets.
        stalled = (rate >= 0.9) & (change >= 0.8 * before) & (change <= floor)
        return x, count + 1, change, previous, done | stalled | (change <= enough)

    def unfinished(carry) -> Bool[Array, ""]:
        _, count, change, _, done = carry
        return ~done & (count < MAX_REFINEMENTS) & jnp.isfinite(change)

    # The first approximation solves for the right-hand side itself: a change of relative
    # size 1.
    start = (
        first, jnp.ones((), jnp.int32), jnp.ones((), rhs.dtype),
        jnp.asarray(jnp.inf, rhs.dtype), nothing,
    )  # fmt: skip
    x, _, _, _, done = jax.lax.while_loop(unfinished, body, start)
    return x, done
