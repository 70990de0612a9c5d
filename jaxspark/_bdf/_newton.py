"""The modified Newton iteration of a step, with DASSL's tests."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._implicit import iterate
from .._system import FlatSystem
from ._equations import parts, Unknowns
from ._formulations import correction, Matrix, newton_mask, Settings


# DASSL's constants: MAXIT, the largest rate, the S of a new matrix, and what S times the last
# change must not exceed.
MAX_ITERATIONS = 4
MAX_RATE = 0.9
RESTART = 100.0
CONVERGED = 0.33
# So many units of rounding error may be left in a multiplier.
ROUNDING = 1e3


class Corrected(eqx.Module):
    """What the iteration found.

    - `x`, `rate`: the unknowns, and their discrete derivative.
    - `change`: by how much the unknowns differ from the prediction.
    - `evaluations`: of the residual.
    - `factor`: `S`, which the next step goes on with.
    - `converged`: whether it is to be trusted.
    """

    x: Unknowns
    rate: Unknowns
    change: Unknowns
    evaluations: IntScalar
    factor: FloatScalar
    converged: BoolScalar


def rms(
    x: Float[Array, " unknowns"],
    weights: Float[Array, " unknowns"],
    mask: Bool[Array, " unknowns"],
) -> FloatScalar:
    """The root mean square, in units of the weights, of those that the mask includes."""
    squares = jnp.where(mask, (x / weights) ** 2, 0)
    return jnp.sqrt(jnp.sum(squares) / jnp.maximum(jnp.sum(mask), 1).astype(x.dtype))


def _rounding(system: FlatSystem, x: Unknowns, leading: FloatScalar) -> Unknowns:
    """What rounding errors of coordinates and velocities make of multipliers.

    They are divided by the step size once for `mu`, and twice for `lam`: with tight
    tolerances there is no more to converge to. This is not in DASSL.
    """
    q, v, mu, lam = parts(system, x)
    size, leading = jnp.max(jnp.abs(q), initial=0), jnp.abs(leading)
    sizes = [jnp.zeros_like(q), jnp.zeros_like(v)]
    sizes += [jnp.full_like(mu, leading * size), jnp.full_like(lam, leading**2 * size)]
    return ROUNDING * jnp.finfo(x.dtype).eps * jnp.concatenate(sizes)


def correct(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    predicted: Unknowns,
    rate: Unknowns,
    leading: FloatScalar,
    old_leading: FloatScalar,
    factor: FloatScalar,
    matrix: Matrix,
    weights: Unknowns,
) -> Corrected:
    """Correct a prediction with a matrix that was made for the coefficient `old_leading`.

    Source: K. E. Brenan, S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value
    Problems in Differential-Algebraic Equations*, 5.2.2; subroutine DDASTP, block 3.
    """
    mask = newton_mask(system, settings)
    weights = jnp.maximum(weights, _rounding(system, predicted, leading))
    scale = 2 / (1 + leading / old_leading)
    tiny = 100 * jnp.finfo(rate.dtype).eps * rms(predicted, weights, mask)

    def update(i):
        at, first = i.x
        step = scale * correction(system, settings, t, at.x, at.rate, predicted, matrix)
        size = rms(step, weights, mask)
        first = jnp.where(i.count == 0, size, first)
        power = 1 / jnp.maximum(i.count, 1).astype(size.dtype)
        speed = jnp.where(first > 0, size / first, 0) ** power
        diverged = ~jnp.isfinite(size) | ((i.count > 0) & ~(speed <= MAX_RATE))
        negligible = size <= tiny
        known = (i.count > 0) & ~negligible & ~diverged
        factor = jnp.where(known, speed / jnp.where(known, 1 - speed, 1), at.factor)
        converged = negligible | (~diverged & (factor * size <= CONVERGED))
        found = Corrected(
            at.x - step, at.rate - leading * step, at.change - step, at.evaluations + 1,
            factor, converged,
        )  # fmt: skip
        return (found, jnp.where(diverged, jnp.nan, first)), size

    def verdict(i):
        at, first = i.x
        return at.converged, jnp.isnan(first)

    zero, no = jnp.zeros((), jnp.int32), jnp.asarray(False)
    start = Corrected(predicted, rate, jnp.zeros_like(predicted), zero, factor, no)
    infinity = jnp.asarray(jnp.inf, predicted.dtype)
    return iterate(update, verdict, (start, infinity), infinity, MAX_ITERATIONS).x[0]
