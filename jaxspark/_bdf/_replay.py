"""The steps that were made, once more: their derivatives, sizes and orders held constant."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._implicit import differentiable_root, stop_gradient
from .._jax_internals import attach_derivative
from .._kkt import dense_linear_solve
from .._step import differentiated_if
from .._system import FlatSystem
from ._equations import parts, stabilised
from ._formulations import Formulation
from ._rows import Rows


States = Float[Array, "columns states"]
Unknown = tuple[Array, Array, Array, Array]

# How many rows are passed over at once where no step was made.
CHUNK = 64

# Rounding errors of multipliers count for less than those of states.
EMPHASIS = (1.0, 1.0, 1e-3, 1e-3)


class Before(eqx.Module):
    """What a step starts from.

    - `x`: the last row, `(q, v, mu, lam)`.
    - `states`: the last coordinates and velocities, the latest first, as many as a prediction of
        the highest order needs; before the start, those of a motion with its derivative.
    - `spans`: how long ago each of them was.
    - `t`: the time.
    - `at`: the time and coordinates of the last matrix.
    """

    x: Unknown
    states: States
    spans: Float[Array, " columns"]
    t: FloatScalar
    at: tuple[FloatScalar, Float[Array, " n"]]


def lagrange(
    spans: Float[Array, " columns"], k: IntScalar, ahead: FloatScalar
) -> tuple[Float[Array, " columns"], Float[Array, " columns"]]:
    """Weights of the polynomial of degree `k` through past states, and of its derivative.

    **Arguments:**

    - `spans`: how long ago the states were.
    - `ahead`: where the polynomial is evaluated.
    """
    used = jnp.arange(spans.size, dtype=k.dtype) <= k
    others = used[None, :] & ~jnp.eye(spans.size, dtype=bool)
    apart = jnp.where(others, spans[None, :] - spans[:, None], 1)
    ahead_of = jnp.where(others, spans[None, :] + ahead, 1)
    value = jnp.where(used, jnp.prod(ahead_of / apart, 1), 0)
    return value, value * jnp.sum(jnp.where(others, 1 / ahead_of, 0), 1)


def step_residual(x: Unknown, operands) -> Unknown:
    """The equations of one step of the BDF, as a function of `(q, v, mu / cj, lam / cj)`.

    Divided by `cj`, the equations of motion are of the size of the constraints, however small the
    step: what is left of their derivative by rounding does not grow with one over its size.

    Source: K. E. Brenan, S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value
    Problems in Differential-Algebraic Equations*, (5.2.4): the fixed leading coefficient.
    """
    system, t, predicted, slope, leading, at = operands
    states = jnp.concatenate(x[:2])
    none = jnp.zeros(2 * system.nlam + system.npsi, states.dtype)
    rate = jnp.concatenate([slope + leading * (states - predicted), none])
    unknowns = jnp.concatenate([states, *(leading * part for part in x[2:])])
    found = stabilised(system, t, unknowns, rate, at)
    size = states.size
    return parts(system, jnp.concatenate([found[:size] / leading, found[size:]]))


def _advance(
    system: FlatSystem, formulation: Formulation, before: Before, row: Rows, active: BoolScalar
) -> Before:
    n, h, k = system.ny, row.h, row.k
    value, derivative = lagrange(before.spans, k, h)
    predicted, slope = value @ before.states, derivative @ before.states
    orders = 1 / jnp.arange(1, before.spans.size + 1, dtype=h.dtype)
    used = jnp.arange(before.spans.size, dtype=k.dtype) < k
    leading = jnp.sum(jnp.where(used, orders, 0)) / h
    there, _ = lagrange(before.spans, row.k_matrix, row.ahead)
    fresh = before.t + row.ahead, there @ before.states[:, :n]
    matrix = jax.tree.map(lambda a, b: jnp.where(row.refreshed, a, b), fresh, before.at)
    t = before.t + h
    at = {"cm_step": (t, predicted[:n]), "cm_frozen": matrix}.get(formulation)
    operands = differentiated_if(active, (system, t, predicted, slope, leading, at))
    root = jax.tree.map(lambda a, b: jnp.where(active, a, b), parts(system, row.x), before.x)
    leading = operands[4]
    scaled = (*root[:2], root[2] / leading, root[3] / leading)
    solve = dense_linear_solve(step_residual, EMPHASIS)
    q, v, mu, lam = differentiable_root(step_residual, operands, scaled, solve)
    x = q, v, leading * mu, leading * lam
    states = jnp.concatenate([jnp.concatenate(x[:2])[None, :], before.states[:-1]])
    spans = jnp.concatenate([jnp.zeros_like(h)[None], before.spans[:-1] + h])
    return Before(x, states, spans, t, matrix)


def attach_rows(
    system: FlatSystem,
    formulation: Formulation,
    max_order: int,
    rows: Rows,
    last: IntScalar,
    first_step: FloatScalar,
    start: tuple[Array, Array, Unknown],
    times: tuple[FloatScalar, FloatScalar],
) -> tuple[Float[Array, " rows"], Float[Array, "rows unknowns"]]:
    """The times and unknowns of all rows, with their derivatives; they are not computed again.

    The equations of each step are differentiated as they were solved: those of `"cm_step"` with
    the annihilator at the prediction, those of `"cm_frozen"` with that at the last matrix.
    Step sizes are held constant, as fractions of `t1 - t0`.

    **Arguments:**

    - `rows`: of the steps, padded.
    - `last`: the last that was made.
    - `first_step`: the first step size that was tried, which the first derivative belongs to.
    - `start`: coordinates and velocities, their derivatives, and all unknowns, at the start.
    - `times`: `t0` and `t1`.
    """
    recorded = stop_gradient((last, first_step, rows))
    found = recorded[2].t, recorded[2].x

    def correction(found, parameters):
        moving, recorded = parameters
        again = replay(formulation, max_order, moving, stop_gradient(recorded))
        return jax.tree.map(lambda a, b: jax.lax.stop_gradient(a) - b, found, again)

    moving = (system, start, times)
    return attach_derivative(correction, found, (moving, recorded))


def replay(formulation: Formulation, max_order: int, moving, recorded):
    """The recorded times and unknowns, as a differentiable function of `moving`."""
    system, (states, rates, x), (t0, t1) = moving
    last, first_step, rows = recorded
    span = jnp.where(t1 == t0, 1, t1 - t0)
    scale = span / jax.lax.stop_gradient(span)
    # Where no step was made there may be no first size either.
    first_step = jnp.where(first_step == 0, 1, first_step)
    ghosts = first_step * scale * jnp.arange(max_order + 1, dtype=t0.dtype)
    history = states[None, :] - ghosts[:, None] * rates[None, :]
    before = Before(x, history, ghosts, t0, (t0, states[: system.ny]))

    def body(before, inputs):
        row, number = inputs
        active = number <= last
        h, ahead = (jnp.where(active, x, first_step) * scale for x in (row.h, row.ahead))
        row = eqx.tree_at(lambda row: (row.h, row.ahead), row, (h, ahead))

        def advance(before):
            return _advance(system, formulation, before, row, active)

        before = jax.lax.cond(active, jax.checkpoint(advance), lambda before: before, before)
        return before, (before.t, jnp.concatenate(before.x))

    ts, xs = _scan_while(body, before, jax.tree.map(lambda leaf: leaf[1:], rows), last)
    first = t0[None], jnp.concatenate(x)[None, :]
    ts, xs = (jnp.concatenate(pair) for pair in zip(first, (ts, xs), strict=True))
    return ts, xs


def _scan_while(body, before: Before, rows: Rows, last: IntScalar):
    """A scan over rows and their numbers, in chunks: those after the last step cost nothing."""
    count = rows.h.size
    pieces = -(-count // CHUNK)
    numbers = jnp.arange(1, pieces * CHUNK + 1, dtype=last.dtype).reshape(pieces, CHUNK)

    def chunked(leaf):
        padding = jnp.repeat(leaf[-1:], pieces * CHUNK - count, 0)
        return jnp.concatenate([leaf, padding]).reshape(pieces, CHUNK, *leaf.shape[1:])

    def chunk(before, inputs):
        def run(before):
            return jax.lax.scan(body, before, inputs)

        def idle(before):
            kept = before.t, jnp.concatenate(before.x)
            return before, jax.tree.map(
                lambda leaf: jnp.broadcast_to(leaf[None], (CHUNK, *leaf.shape)), kept
            )

        return jax.lax.cond(inputs[1][0] <= last, jax.checkpoint(run), idle, before)

    _, found = jax.lax.scan(chunk, before, (jax.tree.map(chunked, rows), numbers))
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], found)
