"""Newton's iteration for the stage equations, and when it stops."""

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._blocks import AbstractBlockSolver
from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._implicit import ALLOWED, iterate, lazily, newton_result
from .._results import RESULTS
from ._decoupling import ModifiedJacobian
from ._full import FullJacobian
from ._stages import Stages


# A Jacobian is made anew after an update of this relative size, or one that is not much smaller
# than the one before.
LARGE, SLOW = 1e-3, 1e-2

# With its factors.
Jacobian: TypeAlias = ModifiedJacobian | FullJacobian


class NewtonOptions(eqx.Module):
    """When Newton's iteration for the stage equations stops, and which Jacobian it takes.

    It has converged when the estimated error, `rate / (1 - rate)` times the last update, is
    at most `atol + rtol * size`, with `size` the largest entry of `y`, respectively `z`. States
    far smaller than 1 in their units need a smaller `atol`.

    **Arguments:**

    - `rtol`, `atol`: relative and absolute tolerance. Default: the machine epsilon
        of the state's dtype, which holds every constraint to rounding error and leaves no
        bias that would add up to an energy drift over many steps. With a larger one,
        constraints are met no better than that; linear equations of derivatives are solved to
        rounding error whatever it is (to 1e-14 if it is at least that: faster).
    - `max_iterations`: the number of iterations after which it gives up.
    - `jacobian`: `"modified"`, that of Jay, falls apart into small matrices, factorised once for a
        step. It leaves out how forces depend on the state, and so contracts only as long as the
        step size times the rates of dampers (the frequencies of springs) is below about 1.
        `"full"` has everything in it, and contracts fast however stiff the forces are: a dense
        matrix, made and factorised where contraction is poor, at a cost of
        `((s + 1) nz + (m + 1) nlam + s npsi)^3`, with `(s + 1) ny` more in the parentheses unless
        `v = z`; `m` is `s`, or `s - 1` for Lobatto methods. Derivatives use it, too.

    **Raises:** `ValueError` if a tolerance is not a positive number, `max_iterations` not a
    positive integer, or `jacobian` another word.
    """

    rtol: float | None = eqx.field(default=None, static=True)
    atol: float | None = eqx.field(default=None, static=True)
    max_iterations: int = eqx.field(default=100, static=True)
    jacobian: str = eqx.field(default="modified", static=True)

    def __check_init__(self):
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ValueError(f"{name} must be a Python number or None; got {value!r}.")
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite; got {value}.")
        count = self.max_iterations
        if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
            raise ValueError(
                f"max_iterations must be a Python integer of at least 1; got {count!r}."
            )
        if self.jacobian not in ("modified", "full"):
            raise ValueError(f'jacobian must be "modified" or "full"; got {self.jacobian!r}.')

    def tolerances(self, dtype) -> tuple[float, float]:
        """The pair `(rtol, atol)` with the defaults of the dtype filled in."""
        default = float(jnp.finfo(dtype).eps)
        return self.rtol or default, self.atol or default


def check_newton(newton: Any, linear_solver: Any) -> None:
    """Raise unless `newton` are options that go with the linear solver.

    **Raises:** `TypeError` if it is something else, `ValueError` if a linear solver is chosen for
    the full Jacobian.
    """
    if not isinstance(newton, NewtonOptions):
        raise TypeError(f"newton must be jaxspark.NewtonOptions(...); got {newton!r}.")
    if newton.jacobian == "full" and isinstance(linear_solver, AbstractBlockSolver):
        raise ValueError(
            'NewtonOptions(jacobian="full") factorises a dense matrix, of all blocks together. '
            f"linear_solver is for the modified Jacobian: leave out one of the two. Got "
            f"{linear_solver!r}."
        )


class NewtonResult(eqx.Module):
    """The stages, how many iterations they took, and how it ended.

    - `stuck`: whether it ended with small updates that did not shrink.
    """

    stages: Stages
    iterations: Int[Array, ""]
    result: RESULTS
    stuck: Bool[Array, ""]


class Sizes(eqx.Module):
    """A size for each kind of unknown: of updates, or by which these are measured."""

    y: FloatScalar
    z_stages: FloatScalar
    z_end: FloatScalar
    impulse: FloatScalar

    def norms(self, update: "Sizes") -> tuple[FloatScalar, FloatScalar]:
        """An update in units of the tolerance, and of rounding errors of the stages.

        Multipliers count by their impulses. The last velocity may be as inaccurate as those of
        the stages, where levers are short: this, no iteration can improve.
        """
        both = jnp.maximum(
            jnp.maximum(update.y / self.y, update.z_stages / self.z_stages),
            update.impulse / self.impulse,
        )
        last = update.z_end
        return jnp.maximum(both, last / self.z_end), jnp.maximum(both, last / self.z_stages)


def sizes_of(update: Stages) -> Sizes:
    """The largest entries."""

    def largest(x):
        return jnp.max(jnp.abs(x), initial=0)

    impulse = jnp.maximum(largest(update.lam), largest(update.psi))
    return Sizes(largest(update.y), largest(update.z[:-1]), largest(update.z[-1]), impulse)


def floor_of(options: NewtonOptions, dtype: Any) -> float:
    """In units of the tolerance: updates that no longer shrink below this are rounding error."""
    return max(1.0, 1e3 * float(jnp.finfo(dtype).eps) / options.tolerances(dtype)[0])


def scales(
    mass: FloatScalar,
    h: FloatScalar,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    guess: Stages,
    noise: Sizes,
    options: NewtonOptions,
) -> Sizes:
    """The units in which updates are measured.

    **Arguments:**

    - `mass`: the largest entry of the mass matrix.
    - `h`: the step size.
    - `y0`, `z0`, `guess`: the state at the start and starting values, which set the scale.
    - `noise`: rounding errors that were measured, or zero.
    - `options`: the tolerances.
    """
    rtol, atol = options.tolerances(y0.dtype)
    h = jnp.abs(h)
    of_guess = sizes_of(guess)
    largest_y = jnp.max(jnp.abs(y0), initial=0)
    largest_z = jnp.maximum(of_guess.z_stages, of_guess.z_end)
    largest_z = jnp.maximum(jnp.max(jnp.abs(z0), initial=0), largest_z)
    z_end = atol + rtol * largest_z
    # g(Y)/h = 0 determines the stages Z only up to the rounding error of g, divided by h,
    # and the multipliers up to that divided by h once more.
    z_stages = z_end + 8 * jnp.finfo(y0.dtype).eps * largest_y / h
    impulse = 1e3 * (rtol * of_guess.impulse + mass * z_stages / h)
    # Without any mass there is no such scale, and multipliers do not count.
    impulse = jnp.where(impulse > 0, impulse, jnp.inf)
    usual = Sizes(atol + rtol * largest_y, z_stages, z_end, impulse)
    return allowing(noise, usual, options)


def allowing(noise: Sizes, scales: Sizes, options: NewtonOptions) -> Sizes:
    """Units in which updates that are no larger than some rounding errors pass for these."""
    part = ALLOWED / floor_of(options, scales.y.dtype)
    return jax.tree.map(lambda a, b: jnp.maximum(a, part * b), scales, noise)


def newton(
    residual: Callable[[Stages], Stages],
    jacobian: Jacobian,
    renew: Callable[[Stages], Jacobian] | None,
    start: Stages,
    scales: Sizes,
    idle: BoolScalar,
    limit: IntScalar | int,
    watch: BoolScalar,
    options: NewtonOptions,
) -> tuple[NewtonResult, Jacobian]:
    """Iterate `x <- x - P^{-1} residual(x)` to convergence, divergence or the limit.

    **Arguments:**

    - `residual`: the stage equations.
    - `jacobian`: `P`, factorised, used in every iteration; if it is renewed, of any values.
    - `renew`: from the stages to a new `P`; `None` if it stays.
    - `start`: starting values.
    - `scales`: the units of updates.
    - `idle`: if true, return the start at once (a lane with nothing to do).
    - `limit`: the number of iterations.
    - `watch`: whether to stop where small updates do not shrink, to find out why.
    - `options`: the tolerances.

    **Returns:** the stages with statistics and the result code, and the last `P`. Under
    `jax.vmap` finished lanes stay frozen while others go on.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, section 2.2; the test for convergence is that of E.
    Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.10).
    """
    dtype = start.y.dtype
    floor = floor_of(options, dtype)
    # Where updates are so small, what is not linear in them is far smaller.
    rtol, _ = options.tolerances(dtype)
    small, large = float(jnp.finfo(dtype).eps) ** (1 / 3) / rtol, LARGE / rtol

    fixed: Any = jacobian

    def update(at):
        x, jacobian, rate, _ = at.x
        due = (at.size > large) | ((rate > SLOW) & (at.size > floor))
        used = fixed if renew is None else lazily(due, renew, x, jacobian)
        change = used.solve(residual(x))
        size, rough = scales.norms(sizes_of(change))
        kept = None if renew is None else used
        return (jax.tree.map(jnp.subtract, x, change), kept, size / at.size, rough), size

    def verdict(at):
        _, _, rate, rough = at.x
        size, first = at.size, at.count == 1
        # Ratios alternate where the Jacobian turns, and the first one flatters: it also
        # measures how far off the guess was.
        last_rate = jnp.where(at.count <= 2, 0, at.previous / at.before)
        contraction = jnp.maximum(jnp.maximum(rate, last_rate), 0.02)
        converged = ~first & (contraction < 1)
        converged = converged & (contraction * size <= 1 - contraction)
        # No progress in two iterations, close to rounding error: as good as it gets.
        late = at.count > 2
        stalled = (rate >= 0.9) & (size >= 0.8 * at.before) & late
        converged = converged | (stalled & (size <= floor)) | (size <= 0.01)
        noise = (rate >= 1) & (size >= at.before) & late & (rough <= floor)
        # The second update may exceed the first, where only multipliers were guessed badly.
        diverged = ~jnp.isfinite(size) | (late & (rate >= 2) & (rough > floor))
        return converged | noise, diverged | (watch & stalled & (size <= small))

    zero = jnp.zeros((), dtype)
    begin = (start, None if renew is None else jacobian, zero, zero)
    end = iterate(update, verdict, begin, zero, limit, idle)
    x, last, _, _ = end.x
    used: Any = jacobian if renew is None else last
    regular = idle | used.regular()
    result = newton_result(end.converged, end.nonfinite_at_once, end.count >= limit, regular)
    stuck = end.failed & regular & (end.size <= small)
    return NewtonResult(x, end.count, result, stuck), used
