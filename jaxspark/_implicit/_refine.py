"""Linear solves to round-off with an approximate inverse, and their transposes."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Bool


T = TypeVar("T")

# Where refinement contracts at all it is done long before this.
MAX_REFINEMENTS = 40


def preconditioned_solve(
    matvec: Callable[[T], T],
    inverse: Callable[[T], T],
    inverse_transposed: Callable[[T], T],
    rhs: T,
    emphasis: tuple[float, ...],
) -> T:
    """Solve `matvec(x) = rhs`, exactly differentiable and transposable.

    `x <- x + inverse(rhs - matvec(x))` is repeated until the update is rounding error. It
    contracts as fast as the modified Newton iteration with the same `inverse`. If it does
    not contract, the matrix is formed and factorised: slower, never wrong.

    **Arguments:**

    - `matvec`: a linear function on a PyTree.
    - `inverse`, `inverse_transposed`: its approximate inverse, and the transpose of that.
    - `rhs`: the right-hand side.
    - `emphasis`: by how much the relative change of each leaf of the solution counts for
        convergence. Stage multipliers count little: their rounding error is amplified by
        `1 / h^2`. In the transposed solve, whose unknowns are other ones, all count.

    **Returns:** the solution.
    """
    # One vector: a right-hand side of many arrays, some of them constant, does not transpose.
    flat, unravel = jax.flatten_util.ravel_pytree(rhs)

    def flattened(function):
        return lambda x: jax.flatten_util.ravel_pytree(function(unravel(x)))[0]

    def weights(x, emphasis):
        """The emphasis on each part over its size (at least 1/1000 of the largest)."""
        leaves, structure = jax.tree.flatten(unravel(x))
        sizes = [jnp.max(jnp.abs(leaf), initial=0) for leaf in leaves]
        pairs = zip(sizes, emphasis, strict=True)
        overall = jnp.max(jnp.stack([size for size, factor in pairs if factor == 1]))
        reciprocals = []
        for leaf, size, factor in zip(leaves, sizes, emphasis, strict=True):
            size = jnp.maximum(size, 1e-3 * overall)
            reciprocal = factor / jnp.where(size > 0, size, 1)
            reciprocals.append(jnp.broadcast_to(reciprocal, leaf.shape))
        return jax.flatten_util.ravel_pytree(jax.tree.unflatten(structure, reciprocals))[0]

    apply, apply_transposed = flattened(inverse), flattened(inverse_transposed)

    all_alike = tuple(1.0 for _ in emphasis)

    def solve(matvec, rhs):
        return _refine(matvec, apply, rhs, lambda x: weights(x, emphasis))

    def transpose_solve(vecmat, rhs):
        return _refine(vecmat, apply_transposed, rhs, lambda x: weights(x, all_alike))

    return unravel(jax.lax.custom_linear_solve(flattened(matvec), flat, solve, transpose_solve))


def _refine(matvec, inverse, rhs, weights):
    epsilon = jnp.finfo(rhs.dtype).eps
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
        done = (rate < 1) & (rate * change <= 8 * epsilon * (1 - rate))
        # No progress in two iterations, close to rounding error: as good as it gets.
        stalled = (rate >= 0.9) & (change >= 0.8 * before) & (change <= 1e4 * epsilon)
        return x, count + 1, change, previous, done | stalled | (change <= 8 * epsilon)

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
    return _dense_unless(done, matvec, rhs, x)


def _dense_unless(done, matvec, rhs, x):
    """The solution by a dense factorisation where refinement did not get there.

    A loop of at most one trip, so that under `jax.vmap` it costs nothing unless some lane
    needs it.
    """

    def body(carry):
        done, x, one = carry
        identity = one * jnp.eye(rhs.size, dtype=rhs.dtype)
        matrix = jax.vmap(matvec, out_axes=1)(identity)
        exact = jnp.linalg.solve(matrix, rhs)
        return jnp.asarray(True), jnp.where(done, x, exact), one + 1

    # What the loop changes, here the number one, the compiler cannot hoist out of it.
    start = (done, x, jnp.ones((), rhs.dtype))
    return jax.lax.while_loop(lambda carry: ~carry[0], body, start)[1]
