"""The modified Newton iteration for the stage equations."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._custom_types import FloatScalar
from .._results import RESULTS
from ._decoupling import ModifiedJacobian
from ._stages import Stages


class NewtonOptions(eqx.Module):
    """When the iteration for the stage equations stops.

    It has converged when the estimated error, `rate / (1 - rate)` times the last update, is
    at most `atol + rtol * size`, with `size` the largest entry of `y`, respectively `z`. States
    far smaller than 1 in their units need a smaller `atol`.

    **Arguments:**

    - `rtol`, `atol`: relative and absolute tolerance. Default: the machine epsilon
        of the state's dtype, which holds every constraint to rounding error and leaves no
        bias that would add up to an energy drift over many steps. With a larger one,
        constraints are met no better than that; linear equations of derivatives are solved to
        rounding error whatever it is (to 1e-14 if it is at least that: faster).
    - `max_iterations`: after which it gives up.

    **Raises:** `ValueError` if a tolerance is not positive or `max_iterations` less than 1.
    """

    rtol: float | None = eqx.field(default=None, static=True)
    atol: float | None = eqx.field(default=None, static=True)
    max_iterations: int = eqx.field(default=100, static=True)

    def __check_init__(self):
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be positive; got {value}.")
        if self.max_iterations < 1:
            raise ValueError(f"max_iterations must be at least 1; got {self.max_iterations}.")

    def tolerances(self, dtype) -> tuple[float, float]:
        """`(rtol, atol)` with the defaults of the dtype filled in."""
        default = float(jnp.finfo(dtype).eps)
        return self.rtol or default, self.atol or default


class NewtonResult(eqx.Module):
    """The stages, how many iterations they took, and how it ended."""

    stages: Stages
    iterations: Int[Array, ""]
    result: RESULTS


class _Scales(eqx.Module):
    """The sizes by which updates are measured."""

    y: FloatScalar
    z_stages: FloatScalar
    z_end: FloatScalar
    impulse: FloatScalar

    def norms(self, update: Stages) -> tuple[FloatScalar, FloatScalar]:
        """The update in units of the tolerance, and of rounding errors of the stages.

        Multipliers count by their impulses. The last velocity may be as inaccurate as those of
        the stages, where levers are short: this, no iteration can improve.
        """

        def largest(x, scale):
            return jnp.max(jnp.abs(x), initial=0) / scale

        parts = [
            largest(update.y, self.y),
            largest(update.z[:-1], self.z_stages),
            largest(update.lam, self.impulse),
            largest(update.psi, self.impulse),
        ]
        both, last = jnp.max(jnp.stack(parts)), jnp.max(jnp.abs(update.z[-1]), initial=0)
        return jnp.maximum(both, last / self.z_end), jnp.maximum(both, last / self.z_stages)


def _scales(
    jacobian: ModifiedJacobian, y0: Array, z0: Array, guess: Stages, options: NewtonOptions
) -> _Scales:
    rtol, atol = options.tolerances(y0.dtype)
    h = jnp.abs(jacobian.h)
    largest_y = jnp.max(jnp.abs(y0), initial=0)
    largest_z = jnp.maximum(jnp.max(jnp.abs(z0), initial=0), jnp.max(jnp.abs(guess.z), initial=0))
    z_end = atol + rtol * largest_z
    # g(Y)/h = 0 determines the stages Z only up to the rounding error of g, divided by h,
    # and the multipliers up to that divided by h once more.
    z_stages = z_end + 8 * jnp.finfo(y0.dtype).eps * largest_y / h
    multipliers = jnp.maximum(
        jnp.max(jnp.abs(guess.lam), initial=0), jnp.max(jnp.abs(guess.psi), initial=0)
    )
    impulse = 1e3 * (rtol * multipliers + jacobian.mass * z_stages / h)
    # Without any mass there is no such scale, and multipliers do not count.
    impulse = jnp.where(impulse > 0, impulse, jnp.inf)
    return _Scales(atol + rtol * largest_y, z_stages, z_end, impulse)


def modified_newton(
    residual: Callable[[Stages], Stages],
    jacobian: ModifiedJacobian,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    guess: Stages,
    idle: Bool[Array, ""],
    options: NewtonOptions,
) -> NewtonResult:
    """Iterate `x <- x - P^{-1} residual(x)` to convergence, divergence or the limit.

    **Arguments:**

    - `residual`: the stage equations.
    - `jacobian`: `P`, factorised once, used in every iteration.
    - `y0`, `z0`: the state at the start, which sets the scale.
    - `guess`: starting values.
    - `idle`: if true, return the guess at once (a lane with nothing to do).
    - `options`: tolerances and limit.

    **Returns:** the stages with statistics and the result code. Under `jax.vmap` finished
    lanes stay frozen while others go on.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, section 2.2; the test for convergence is that of E.
    Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.10).
    """
    scales = _scales(jacobian, y0, z0, guess, options)
    epsilon = jnp.finfo(y0.dtype).eps
    rtol, _ = options.tolerances(y0.dtype)
    # In units of the tolerance: updates that no longer shrink below this are rounding error.
    floor = max(1.0, 1e3 * float(epsilon) / rtol)

    def body(carry):
        x, count, previous, before, last_rate, _, _ = carry
        update = jacobian.solve(residual(x))
        x = jax.tree.map(jnp.subtract, x, update)
        size, rough = scales.norms(update)
        rate = size / previous
        # Ratios alternate where the Jacobian turns, and the first one flatters: it also
        # measures how far off the guess was.
        contraction = jnp.maximum(jnp.maximum(rate, last_rate), 0.02)
        converged = (count > 0) & (contraction < 1)
        converged = converged & (contraction * size <= 1 - contraction)
        # No progress in two iterations, close to rounding error: as good as it gets.
        stalled = (rate >= 0.9) & (size >= 0.8 * before) & (count > 1)
        converged = converged | (stalled & (size <= floor)) | (size <= 0.01)
        noise = (rate >= 1) & (size >= before) & (count > 1) & (rough <= floor)
        converged = converged | noise
        # The second update may exceed the first, where only multipliers were guessed badly.
        diverged = ~jnp.isfinite(size) | ((count > 1) & (rate >= 2) & (rough > floor))
        return x, count + 1, size, previous, rate, converged, diverged

    def unfinished(carry):
        _, count, *_, converged, diverged = carry
        return ~(converged | diverged) & (count < options.max_iterations)

    infinity = jnp.asarray(jnp.inf, y0.dtype)
    none, no = jnp.zeros((), jnp.int32), jnp.asarray(False)
    start = (guess, none, infinity, infinity, jnp.zeros_like(infinity), idle, no)
    with jax.named_scope("jaxspark_newton"):
        x, count, size, _, _, converged, _ = jax.lax.while_loop(unfinished, body, start)

    regular = idle | jacobian.regular()
    # Not finite at once: a function's doing. Not finite later: divergence.
    at_once = ~jnp.isfinite(size) & (count == 1)
    limit = count >= options.max_iterations
    return NewtonResult(x, count, _verdict(converged, regular, at_once, limit))


def _verdict(
    converged: Bool[Array, ""],
    regular: Bool[Array, ""],
    nonfinite: Bool[Array, ""],
    limit: Bool[Array, ""],
) -> RESULTS:
    result = RESULTS.where(limit, RESULTS.newton_iteration_limit, RESULTS.newton_diverged)
    result = RESULTS.where(nonfinite, RESULTS.nonfinite, result)
    result = RESULTS.where(regular, result, RESULTS.singular)
    return RESULTS.where(converged & regular, RESULTS.successful, result)
