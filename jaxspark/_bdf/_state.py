"""The state of an integration between two attempts at steps, and its start."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS
from .._rollout import largest
from .._system import FlatSystem
from ._coefficients import Differences
from ._equations import parts, Unknowns
from ._formulations import Matrix, new_matrix, newton_mask, Settings
from ._newton import RESTART, rms
from ._rows import Rows
from ._solution import BDFStatistics


class State(eqx.Module):
    """The state of the integration between two attempts.

    - `k`, `h`, `settled`: order and step size of the next attempt, and whether the start-up
        phase, in which both grow at every step, is over.
    - `old_k`, `old_h`, `constant_steps`: order and size of the last step, and for how many both
        have been the same.
    - `leading`, `matrix_leading`: `cj` of the last attempt, and that of the matrix.
    - `factor`: `S` of Newton's iteration.
    - `stale`: whether the next attempt needs a new matrix.
    - `error_failures`, `newton_failures`: in this step.
    """

    t: FloatScalar
    differences: Differences
    psi: Float[Array, " columns"]
    k: IntScalar
    h: FloatScalar
    settled: BoolScalar
    old_k: IntScalar
    old_h: FloatScalar
    constant_steps: IntScalar
    leading: FloatScalar
    matrix_leading: FloatScalar
    factor: FloatScalar
    stale: BoolScalar
    error_failures: IntScalar
    newton_failures: IntScalar
    matrix: Matrix
    refreshed: tuple[BoolScalar, FloatScalar, IntScalar]
    rows: Rows
    stats: BDFStatistics
    result: RESULTS


def start_step(
    system: FlatSystem,
    settings: Settings,
    x: Unknowns,
    rate: Unknowns,
    span: FloatScalar,
    rtol: FloatScalar,
    atol: FloatScalar,
) -> FloatScalar:
    """DASSL's first step size: a change of half a tolerance, at most a thousandth of the time."""
    longest = 1e-3 * span
    size = rms(rate, atol + rtol * jnp.abs(x), newton_mask(system, settings))
    bounded = size * jnp.abs(longest) > 0.5
    return jnp.where(bounded, 0.5 * jnp.sign(span) / jnp.where(bounded, size, 1), longest)


def start(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    h: FloatScalar,
    result: RESULTS,
) -> State:
    """The state before the first attempt."""
    columns, dtype = settings.max_order + 1, x.dtype
    differences = jnp.zeros((columns, x.size), dtype).at[0].set(x).at[1].set(h * rate)
    zero, one, no = jnp.zeros((), jnp.int32), jnp.ones((), jnp.int32), jnp.asarray(False)
    nothing = jnp.zeros((), dtype)
    shapes = eqx.filter_eval_shape(new_matrix, system, settings, t, x, rate, t)
    matrix = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    size = settings.max_steps + 1
    floats, integers = jnp.zeros(size, dtype), jnp.zeros(size, jnp.int32)
    kept = jnp.zeros((size, x.size), dtype).at[0].set(x)
    rows = Rows(
        kept, floats.at[0].set(t), floats, integers, jnp.zeros(size, bool), floats, integers
    )
    psi = h * jnp.arange(1, columns + 1, dtype=dtype)
    worst = [largest(part) for part in flat_residuals(system, t, *parts(system, x)[:2])]
    stats = BDFStatistics(zero, zero, zero, zero, zero, *worst)
    return State(
        t=t, differences=differences, psi=psi, k=one, h=h, settled=no, old_k=zero, old_h=nothing,
        constant_steps=zero, leading=1 / h, matrix_leading=1 / h,
        factor=jnp.asarray(RESTART, dtype), stale=jnp.asarray(True), error_failures=zero,
        newton_failures=zero, matrix=matrix, refreshed=(no, nothing, one), rows=rows, stats=stats,
        result=result,
    )  # fmt: skip
