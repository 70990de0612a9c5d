"""Newton's method with the full Jacobian, for small systems of equations."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ._iterate import iterate
from ._noise import is_noise
from ._refine import preconditioned_solve
from ._root import differentiable_root
from ._stop import stop_gradient


Vector = Float[Array, " n"]
MAX_ITERATIONS = 30


class DenseRoot(eqx.Module):
    """A root and whether it is one."""

    value: Vector
    converged: Bool[Array, ""]


def newton_root(
    residual: Callable[..., Vector],
    parameters: object,
    guess: Vector,
    invert: Callable[[Float[Array, "n n"]], Float[Array, "n n"]],
) -> DenseRoot:
    """A root of `residual(x, parameters)`, differentiable with respect to `parameters`.

    **Arguments:**

    - `residual`: the equations.
    - `parameters`: a PyTree with everything that they depend on.
    - `guess`: starting values.
    - `invert`: the (generalised) inverse of a matrix.

    **Returns:** the root, to rounding error, and whether the iteration converged. It has
    converged when an update is rounding error or, close to that, no longer shrinks, or where
    rounding errors of the residual explain it.
    """
    residual = eqx.filter_jit(residual)  # so that it is traced once, not at every use
    guess = stop_gradient(guess)
    frozen = stop_gradient(parameters)
    epsilon = jnp.finfo(guess.dtype).eps

    def inverse_at(x, parameters):
        return invert(jax.jacfwd(residual)(x, parameters))

    def update_at(x):
        return inverse_at(x, frozen) @ residual(x, frozen)

    def largest(x):
        return jnp.max(jnp.abs(x), initial=0)

    def update(at):
        x, _ = at.x
        change = update_at(x)
        return (x - change, change), largest(change)

    def verdict(at):
        scale = 1 + largest(at.x[0])
        done = at.size <= 4 * epsilon * scale
        done = done | ((at.size <= 1e5 * epsilon * scale) & (at.size > 0.3 * at.previous))
        return done, ~jnp.isfinite(at.size)

    end = iterate(update, verdict, (guess, guess), guess, MAX_ITERATIONS)
    x, last = end.x
    # As small as that, updates are linear.
    unknown = ~end.converged & (end.size <= epsilon ** (1 / 3) * (1 + largest(x)))
    converged = end.converged | is_noise(update_at, largest, x, last, unknown)
    x = jnp.where(converged, x, guess)

    def linear_solve(matvec, rhs, at, parameters):
        inverse = inverse_at(stop_gradient(at), stop_gradient(parameters))
        return preconditioned_solve(
            matvec, lambda b: inverse @ b, lambda b: inverse.T @ b, rhs, (1.0,), exact=True
        )

    root = differentiable_root(residual, parameters, x, linear_solve)
    return DenseRoot(root, converged)
