"""The scan over equal steps: its state, its body, and what it saves."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._consistent import flat_residuals
from .._custom_types import BoolScalar, FloatScalar
from .._implicit import stop_gradient
from .._kkt import LinearSolver, select_linear_solver
from .._results import RESULTS
from .._step import constant_guess, NewtonOptions, solves_for_multipliers, Stages
from .._system import FlatSystem
from .._tableau import RolloutMethod
from ._density import Clock, Growth
from ._given import GivenTimes, Place
from ._initial import initial_result, largest
from ._parts import whole_step
from ._segments import Checkpoint, segment_length, segmented_scan
from ._solution import Statistics


class Carry(eqx.Module):
    """The state of the scan: where it is, starting values, verdict, statistics.

    Equal steps need no clock.
    """

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    guess: Stages
    result: RESULTS
    stats: Statistics
    clock: Clock | Place | None


class Settings(eqx.Module):
    """Everything static about a rollout."""

    num_steps: int = eqx.field(static=True)
    save_every: int | None = eqx.field(static=True)
    multipliers: bool = eqx.field(static=True)
    checkpoint: Checkpoint = eqx.field(static=True)
    predict: bool = eqx.field(static=True)
    consistency_tol: float | None = eqx.field(static=True)
    newton: NewtonOptions
    linear_solver: LinearSolver | None


def start(flat, method, t0, y, z, h, initial, settings, clock) -> Carry:
    """The state of the scan before the first step, with the verdict on initial values."""
    result = RESULTS.successful
    if settings.num_steps > 0:
        result = RESULTS.where(h == 0, RESULTS.zero_step_size, result)
    first = initial_result(flat, t0, y, z, initial, settings.consistency_tol)
    result = RESULTS.where(first == RESULTS.successful, result, first)
    result = RESULTS.where(jnp.isfinite(h), result, RESULTS.nonfinite)
    zero, none = jnp.zeros((), jnp.int32), jnp.zeros((), y.dtype)
    stats = Statistics(zero, zero, zero, zero, zero, none, none, none)
    guess = constant_guess(flat, method.tableau, y, z)
    return Carry(y, z, stop_gradient(guess), result, stats, clock)


def time(carry: Carry, t0: FloatScalar, h: FloatScalar) -> FloatScalar:
    """Multiplied, not added up: no rounding error accumulates in time."""
    if carry.clock is not None:
        return carry.clock.t
    steps = carry.stats.num_steps.astype(t0.dtype)
    return t0 + jnp.where(steps > 0, steps * h, 0)


def advance_by(
    flat: FlatSystem,
    method: RolloutMethod,
    t0: FloatScalar,
    h: FloatScalar,
    settings: Settings,
    grow: Growth | None,
    given: GivenTimes | None = None,
    *,
    start: Carry,
):
    """The body of the scan: one step, or none once a step has failed.

    - `start`: of which shapes matter.
    - `grow`: how the density of the steps changes; `given`: the times of all steps; `None`,
        both, for equal steps.
    """
    steps = whole_step(
        flat,
        method,
        select_linear_solver(flat, settings.linear_solver),
        settings.newton,
        keep_factors=settings.checkpoint == "none",
        predict=settings.predict,
        structured=settings.linear_solver is None
        and solves_for_multipliers(flat, method.tableau, t0, start.y, start.z),
    )

    def advance(carry: Carry, _: Any) -> tuple[Carry, None]:
        running: BoolScalar = carry.result == RESULTS.successful
        y, z, stats = carry.y, carry.z, carry.stats
        t = time(carry, t0, h)
        full, rho, ratio = h, h, 1.0
        if given is not None and isinstance(carry.clock, Place):
            full, ratio = given.step(carry.clock)
        elif grow is not None and isinstance(carry.clock, Clock):
            rho = carry.clock.rho + h / 2 * grow(t, y, z)
            full = h / rho
        size = jnp.where(running, full, jnp.zeros_like(h))
        y1, z1, follow, info = steps(t, y, z, size, carry.guess)
        good = info.result == RESULTS.successful
        if grow is not None:
            good = good & (rho > 0)
        passed = running & good
        # Between equal times there is no step.
        moved = passed & (full != 0) if given is not None else passed
        residuals = flat_residuals(flat, t + size, y1, z1)
        g, gdot, k = (jnp.where(moved, largest(x), 0) for x in residuals)
        stats = Statistics(
            num_steps=stats.num_steps + moved.astype(jnp.int32),
            num_rejected_steps=stats.num_rejected_steps,
            num_failed_steps=stats.num_failed_steps,
            newton_iterations=stats.newton_iterations + info.iterations,
            max_newton_iterations=jnp.maximum(stats.max_newton_iterations, info.iterations),
            max_g=jnp.maximum(stats.max_g, g),
            max_gdot=jnp.maximum(stats.max_gdot, gdot),
            max_k=jnp.maximum(stats.max_k, k),
        )
        clock = carry.clock
        if given is not None and isinstance(clock, Place):
            clock = select(passed, given.after(clock), clock)
        elif grow is not None and isinstance(clock, Clock):
            half = h / 2 * grow(t + size, y1, z1)
            ratio = stop_gradient(rho / (rho + 2 * half))
            clock = select(moved, clock.after(size, rho + half), clock)
        guess = select(moved, follow(ratio), carry.guess)
        result = RESULTS.where(running, info.result, carry.result)
        if grow is not None:
            result = RESULTS.where(running & ~(rho > 0), RESULTS.step_density_lost, result)
        return Carry(y1, z1, stop_gradient(guess), result, stop_gradient(stats), clock), None

    return advance


def select(chosen: BoolScalar, a: Any, b: Any) -> Any:
    """One of two PyTrees."""
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), a, b)


def scan_steps(advance, carry: Carry, t0, h, settings: Settings):
    """All steps, and the rows that are saved after the initial one."""
    count, every = settings.num_steps, settings.save_every
    segment = segment_length(settings.checkpoint, count)

    def run(carry, steps):
        long = segment if segment is not None and segment < steps else None
        return segmented_scan(advance, carry, jnp.arange(steps), long)[0]

    def save(carry):
        return time(carry, t0, h), carry.y, carry.z, carry.result != RESULTS.successful

    def row(steps):
        def body(carry, _):
            carry = run(carry, steps)
            return carry, save(carry)

        return body

    if every is None:
        carry = run(carry, count) if count else carry
        return carry, jax.tree.map(lambda x: x[None], save(carry))
    full, rest = divmod(count, every)
    # Rows longer than a segment have segments inside.
    rows_in_segment = None if segment is None or segment < every else segment // every
    carry, rows = segmented_scan(row(every), carry, jnp.arange(full), rows_in_segment)
    if rest:
        carry, last = row(rest)(carry, None)
        rows = jax.tree.map(lambda a, b: jnp.concatenate([a, b[None]]), rows, last)
    return carry, rows
