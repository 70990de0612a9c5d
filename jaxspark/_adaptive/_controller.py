"""Proportional-integral control of the step size, aware of Newton's iteration."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optimistix as optx
from diffrax import AbstractAdaptiveStepSizeController, PIDController, RESULTS
from jaxtyping import PyTree

from .._custom_types import Args, BoolScalar, FloatScalar
from .._driver import LARGEST, RELAXATION


class _Memory(eqx.Module):
    """What the controller remembers.

    - `error`: that of the last accepted step.
    - `longest`: the longest step that Newton's iteration admits.
    - `span`: the whole interval.
    - `wall`: where the last step that was rejected for its error would have ended.
    """

    error: FloatScalar
    longest: FloatScalar
    span: FloatScalar
    wall: FloatScalar


class PIController(AbstractAdaptiveStepSizeController):
    """A controller for [`jaxspark.DiffraxSolver`][]; any other of diffrax's will do, too.

    A step is accepted if its error, in units of `atol + rtol |y|`, is at most 1. The next one is
    larger by `safety error^(-(p + i) / order) previous^(p / order)`. A step that failed, of
    which there is no error, is halved, and those after it grow slowly: what Newton's iteration
    did not manage, it will not a moment later. Before the end of a step that was rejected for its
    error is passed, none is longer than the one before: what was in its way is still ahead.

    **Arguments:**

    - `rtol`, `atol`: relative and absolute tolerance, for positions and velocities alike.
    - `pcoeff`, `icoeff`: the proportional and the integral coefficient `p` and `i`.
    - `dtmax`: the largest step. Default: a tenth of the interval, as has ode45 of MATLAB. Give
        infinity for no limit.
    - `dtmin`: at a step smaller than this the solve ends with `dt_min_reached`. It does so in any
        case where a step is as small as the rounding error of the time.
    - `safety`, `factormin`, `factormax`: the usual limits of a change.
    - `norm`: over all entries of the state.

    Source: K. Gustafsson, *Control-theoretic techniques for stepsize selection in implicit
    Runge-Kutta methods*, ACM TOMS 20 (1994); E. Hairer & G. Wanner, *Solving Ordinary Differential
    Equations II*, IV.2. The limits after a failure and after a rejection are this project's.
    """

    rtol: Any
    atol: Any
    norm: Callable[[PyTree], Any] = optx.rms_norm
    pcoeff: float = 0.4
    icoeff: float = 0.3
    dtmin: Any = None
    dtmax: Any = None
    safety: float = 0.9
    factormin: float = 0.2
    factormax: float = 5.0

    def wrap(self, direction: Any) -> "PIController":
        """Nothing depends on the direction of time."""
        del direction
        return self

    def init(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        dt0: Any | None,
        args: Args,
        func: Callable[..., Any],
        error_order: Any,
    ) -> tuple[Any, _Memory]:
        """The end of the first step, selected as diffrax does unless it is given."""
        dtype = jnp.result_type(*jax.tree.leaves(y0))
        span = jnp.asarray(t1 - t0, dtype)
        largest = self._largest(span)
        first = PIDController(rtol=self.rtol, atol=self.atol, norm=self.norm, dtmax=largest)
        end, _ = first.init(terms, t0, t1, y0, dt0, args, func, error_order)
        infinite = jnp.asarray(jnp.inf, dtype)
        return end, _Memory(jnp.ones((), dtype), infinite, span, -infinite)

    def adapt_step_size(
        self,
        t0: Any,
        t1: Any,
        y0: Any,
        y1_candidate: Any,
        args: Args,
        y_error: Any,
        error_order: Any,
        controller_state: _Memory,
    ) -> tuple[BoolScalar, Any, Any, bool, _Memory, RESULTS]:
        """Whether the step is kept, and the next one."""
        del args
        memory, h = controller_state, jnp.asarray(t1 - t0)
        error = jax.lax.stop_gradient(self._scaled(y0, y1_candidate, y_error))
        failed = ~jnp.isfinite(error)
        keep = error <= 1
        h = h.astype(error.dtype)

        known = jnp.maximum(jnp.where(failed, 1.0, error), 1e-10)
        integral = known ** (-(self.pcoeff + self.icoeff) / error_order)
        accepted = self.safety * integral * memory.error ** (self.pcoeff / error_order)
        rejected = self.safety * known ** (-1 / error_order)
        factor = jnp.where(keep, accepted, jnp.minimum(rejected, self.safety))
        ahead = t1 < memory.wall - 1e-3 * h
        factor = jnp.where(keep & ahead, jnp.minimum(factor, 1.0), factor)
        factor = jnp.where(failed, 0.5, jnp.clip(factor, self.factormin, self.factormax))
        wall = jnp.where(keep | failed, memory.wall, jnp.asarray(t1, memory.wall.dtype))

        longest = jnp.where(keep, memory.longest * RELAXATION, memory.longest)
        longest = jnp.where(failed, jnp.minimum(longest, 0.5 * h), longest)
        longest_allowed = jnp.minimum(longest, self._largest(memory.span))
        dt = jax.lax.stop_gradient(jnp.minimum(h * factor, longest_allowed))
        start = jnp.where(keep, t1, t0)
        verdict = self._verdict(jnp.maximum(jnp.abs(start), memory.span), dt)
        memory = _Memory(jnp.where(keep, known, memory.error), longest, memory.span, wall)
        return keep, start, start + dt, False, memory, verdict

    def _largest(self, span: FloatScalar) -> Any:
        return LARGEST * span if self.dtmax is None else self.dtmax

    def _scaled(self, y0: Any, y1: Any, y_error: Any) -> FloatScalar:
        """The error in units of the tolerance; infinite if there is none."""

        def scale(a, b, error):
            size = jnp.maximum(jnp.abs(a), jnp.abs(jnp.where(jnp.isfinite(b), b, a)))
            return error / (self.atol + size * self.rtol)

        norm = jnp.asarray(self.norm(jax.tree.map(scale, y0, y1, y_error)))
        return jnp.where(jnp.isfinite(norm), norm, jnp.inf)

    def _verdict(self, times: Any, dt: FloatScalar) -> RESULTS:
        smallest = 16 * jnp.finfo(dt.dtype).eps * times
        if self.dtmin is not None:
            smallest = jnp.maximum(smallest, self.dtmin)
        return RESULTS.where(dt <= smallest, RESULTS.dt_min_reached, RESULTS.successful)
