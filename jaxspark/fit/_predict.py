"""What a model predicts at given unknowns."""

from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._consistent import multipliers
from .._custom_types import BoolScalar, FloatScalar, IntScalar, State
from .._results import RESULTS
from .._rollout import Checkpoint
from ._compile import compiled
from ._initial import initial_state
from ._moved import moved
from ._problem import Data, Problem
from ._signal import Signal
from ._spread import each
from ._tangent import Tangent


class Prediction(eqx.Module):
    """Of one trial; with another axis in front, of all of them.

    - `values`: of the channels at the samples.
    - `y1`, `z1`: flat state at the end; `y0`, `z0`: at the start.
    - `good`: whether the simulation succeeded.
    - `residual`: the worst of all constraints in any step.
    - `newton_iterations`: in all steps.
    - `points`: of the mechanism at the samples (m); `None` if the model has none.
    """

    values: Float[Array, "*n samples channels"]
    y0: Float[Array, "*n ny"]
    z0: Float[Array, "*n nz"]
    y1: Float[Array, "*n ny"]
    z1: Float[Array, "*n nz"]
    good: Bool[Array, "*n"]
    residual: Float[Array, "*n"]
    newton_iterations: Any
    points: Float[Array, "*n samples points dim"] | None


class Motion(eqx.Module):
    """States at all steps of one trial, and how the simulation went."""

    args: Any
    ys: State
    zs: State
    good: BoolScalar
    residual: FloatScalar
    newton_iterations: IntScalar


def start_of_trial(
    problem: Problem, local: Float[Array, " q"], at: Tangent, inputs: dict[str, Signal]
) -> tuple[Any, State, State, BoolScalar]:
    """What the system's functions get, the state where a trial starts, and whether there is one.

    Arguments as for [`simulate`][]; `inputs` of the trial.
    """
    model, count = problem.model, problem.single.size
    args = model.args(problem.single.args(local[:count]), inputs)
    if callable(model.start.y) or callable(model.start.z):
        guess = model.start.guess(0, 1, args)
        flat = tuple(jax.flatten_util.ravel_pytree(part)[0] for part in guess)
        at = eqx.tree_at(lambda at: (at.y, at.z), at, flat)
    return args, *initial_state(model.system, problem.like, at, local[count:], args)


def simulate(
    problem: Problem,
    local: Float[Array, " q"],
    at: Tangent,
    data: Data,
    checkpoint: Checkpoint = "stages",
) -> Motion:
    """Simulate one trial.

    **Arguments:**

    - `local`: the unknowns that act on it: parameters, then its start.
    - `at`, `data`: of this trial.
    - `checkpoint`: as for [`jaxspark.solve`][]; forward derivatives compile faster with `"none"`.
    """
    model = problem.model
    args, y0, z0, consistent = start_of_trial(problem, local, at, data.inputs)
    solution = moved(model, (y0, z0), args, data.ts, checkpoint)
    stats = solution.stats
    residual = jnp.maximum(stats.max_g, jnp.maximum(stats.max_gdot, stats.max_k))
    good = consistent & (solution.result == RESULTS.successful)
    return Motion(args, solution.ys, solution.zs, good, residual, stats.newton_iterations)


def predict_trial(
    problem: Problem,
    local: Float[Array, " q"],
    at: Tangent,
    data: Data,
    checkpoint: Checkpoint = "stages",
) -> Prediction:
    """What the sensors of one trial show; arguments as for [`simulate`][]."""
    motion = simulate(problem, local, at, data, checkpoint)
    delayed = problem.model.delayed
    nodes = jnp.arange(data.ts.shape[0]) if delayed else data.at
    ts, ys, zs = jax.tree.map(lambda x: x[nodes], (data.ts, motion.ys, motion.zs))
    shown = jax.vmap(lambda t, y, z: _observe(problem, t, y, z, motion.args))(ts, ys, zs)
    if delayed:
        shown = _delayed(problem, shown, motion.args, data)
    y0, z0 = (_row(states, 0) for states in (motion.ys, motion.zs))
    y1, z1 = (_row(states, -1) for states in (motion.ys, motion.zs))
    points, stats = _points(problem, motion, data), (motion.residual, motion.newton_iterations)
    return Prediction(shown, y0, z0, y1, z1, motion.good, *stats, points)


def _points(
    problem: Problem, motion: Motion, data: Data
) -> Float[Array, "samples points dim"] | None:
    """Where the points of the mechanism are at the samples."""
    points = problem.model.points
    if points is None:
        return None
    ts, ys = jax.tree.map(lambda x: x[data.at], (data.ts, motion.ys))
    return jax.vmap(lambda t, y: jnp.asarray(points(t, y, motion.args)))(ts, ys)


def _row(states: State, index: int) -> Float[Array, " n"]:
    return jax.flatten_util.ravel_pytree(jax.tree.map(lambda x: x[index], states))[0]


def _observe(problem: Problem, t: FloatScalar, y: State, z: State, args: Any) -> Array:
    model = problem.model
    lam = psi = jnp.zeros(0, t.dtype)
    if problem.forces:
        found = multipliers(model.system, t, y, z, args)
        lam, psi = found.lam, found.psi
    return model.channels(model.observed(t, y, z, lam, psi, args), problem.channels)


def _delayed(
    problem: Problem, shown: Float[Array, "steps channels"], args: Any, data: Data
) -> Float[Array, "samples channels"]:
    """Channels at the samples, of which some show the past.

    Interpolated by the cubic through the four steps around, of fourth order as the method is.
    """
    delays, times = problem.model.lags(args), data.ts[data.at]
    for name in delays:
        if name not in problem.channels:
            raise ValueError(
                f"delays(args) has a channel {name!r}; those of observe are "
                f"{', '.join(problem.channels)}."
            )

    def at(t, values):
        first = jnp.searchsorted(data.ts, t, side="right").astype(data.last.dtype) - 2
        first = jnp.clip(first, 0, jnp.maximum(data.last - 3, 0))
        nodes = jax.lax.dynamic_slice_in_dim(data.ts, first, 4)
        around = jax.lax.dynamic_slice_in_dim(values, first, 4)
        total = jnp.zeros_like(t)
        for i in range(4):
            others = [(t - nodes[j]) / (nodes[i] - nodes[j]) for j in range(4) if j != i]
            total = total + around[i] * others[0] * others[1] * others[2]
        return total

    columns = []
    for j, name in enumerate(problem.channels):
        if name in delays:
            past = times - jnp.asarray(delays[name], times.dtype)
            columns.append(jax.vmap(at, (0, None))(past, shown[:, j]))
        else:
            columns.append(shown[data.at, j])
    return jnp.stack(columns, 1)


@compiled
def predict(problem: Problem, u: Float[Array, " p"]) -> Prediction:
    """What the sensors of all trials show."""
    operands = u[problem.local()], problem.tangents, problem.data
    return each(predict_trial, problem.mesh, problem, *operands)
