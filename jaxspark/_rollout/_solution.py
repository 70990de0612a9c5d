"""What a solve returns."""

from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._consistent import ConstraintResiduals, Multipliers
from .._custom_types import FloatScalar, IntScalar, State
from .._html import of_lines
from .._results import RESULTS


class Statistics(eqx.Module):
    """What a solve cost, and how well it kept the constraints.

    - `num_steps`: accepted steps.
    - `num_rejected_steps`: steps that were tried again, or at which a solve with steps of known
        sizes ended.
    - `num_failed_steps`: steps for which no solution was found. With tolerances they are rejected;
        a solve with steps of known sizes ends there.
    - `newton_iterations`: Newton iterations, or projections, of all steps together.
    - `max_newton_iterations`: those of the hardest step, a second attempt included.
    - `max_g`, `max_gdot`, `max_k`: the worst constraint residuals at the end of any accepted
        step (in the constraints' own units), not only of those that were saved.
    """

    num_steps: IntScalar
    num_rejected_steps: IntScalar
    num_failed_steps: IntScalar
    newton_iterations: IntScalar
    max_newton_iterations: IntScalar
    max_g: FloatScalar
    max_gdot: FloatScalar
    max_k: FloatScalar

    def __repr__(self) -> str:
        return eqx.tree_pformat(self, short_arrays=False)


class Remark:
    """Words about a solution. All are equal: what is compiled for one solution serves others."""

    def __init__(self, text: str):
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Remark)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return repr(self.text)


class GlobalError(eqx.Module):
    """Estimates of the error of a solution: the solution minus the exact motion.

    NaN where they are not known: the solution, or the second one with which it is compared, failed.

    - `ys`, `zs`, `y1`, `z1`: the errors of these fields of the solution. Where an event ended the
        motion, `y1` and `z1` of the two solutions are at different times.
    - `multipliers`: the errors of `lam` and `psi`, or `None` if they were not asked for.
    - `tolerances`: the greatest error of an entry of any saved state or of the last one, as a
        multiple of `atol + rtol |x|`.
    - `lost_from`: the first of these times at which it exceeds 100, as it does in chaotic motions
        and near singular positions; NaN if there is none.
    """

    ys: State
    zs: State
    y1: State
    z1: State
    multipliers: tuple[Any, Any] | None
    tolerances: FloatScalar
    lost_from: FloatScalar


class Solution(eqx.Module):
    """The result of [`jaxspark.solve`][].

    - `ts`: the times of the saved states, shape `(n,)`, the first of them `t0` (unless only
        the end is saved).
    - `ys`, `zs`: the saved states, with a leading axis of length `n`.
    - `multipliers`: [`jaxspark.diagnostics.Multipliers`][] at the saved times, or `None`.
    - `t1`, `y1`, `z1`: the last good state, and its time.
    - `result`: a member of [`jaxspark.RESULTS`][].
    - `stats`: [`jaxspark.Statistics`][].
    - `initial_residuals`: [`jaxspark.diagnostics.ConstraintResiduals`][] at the start.
    - `step_density`: the density at the end, with a [`jaxspark.StepDensity`][], or `None`.
    - `events`: a [`jaxspark.Occurrences`][], or `None` if no events were given.
    - `interpolation`: what `evaluate` needs, with `dense=True`, or `None`.
    - `error`: with `global_error=True`, a [`jaxspark.diagnostics.GlobalError`][], or `None`.
    - `remark`: holds the text that `method` gives.

    If a solve fails, the rows up to the failure are kept, and the rows after it repeat the last
    good state with its time.
    """

    ts: Float[Array, " n"]
    ys: State
    zs: State
    multipliers: Multipliers | None
    t1: FloatScalar
    y1: State
    z1: State
    result: RESULTS
    stats: Statistics
    initial_residuals: ConstraintResiduals
    step_density: FloatScalar | None = None
    events: Any = None
    interpolation: Any = None
    error: GlobalError | None = None
    remark: Remark = eqx.field(static=True, default_factory=lambda: Remark(""))

    @property
    def method(self) -> str:
        """The method that was used and, where it was not named, why it was chosen."""
        return self.remark.text

    @property
    def successful(self) -> Bool[Array, "..."]:
        """Whether the solve succeeded; one value for each lane of a batch."""
        return self.result == RESULTS.successful

    def evaluate(self, t: Any) -> tuple[State, State]:
        """The state `(y, z)` at a time of the motion or, with a leading axis, at several.

        It is found by a step from the last accepted one: of full order, and on the constraints.
        At the time of an event it is the state before it.

        **Arguments:**

        - `t`: a time, or a vector of times, shape `(n,)`.

        **Returns:** the pair `(y, z)`; NaN outside the motion.

        **Raises:** `ValueError` unless the solution is from `jaxspark.solve(..., dense=True)`.
        """
        if self.interpolation is None:
            raise ValueError(
                "This solution has no dense output. Use jaxspark.solve(..., dense=True), or the "
                "argument ts for times that are known before."
            )
        t = jnp.asarray(t, self.t1.dtype)
        return self.interpolation.evaluate(t) if t.ndim == 0 else jax.vmap(self.evaluate)(t)

    def explain(self) -> str:
        """Say in words which method was used and why, how the solve ended, and what it cost.

        For a batch it gives the smallest and the largest numbers of its lanes.

        **Returns:** a text.

        **Raises:** `ValueError` while a program is traced.
        """
        if isinstance(self.t1, jax.core.Tracer):
            raise ValueError(
                "A solution can be explained once it is known: outside of jax.jit, jax.vmap and "
                "jax.grad."
            )
        stats = self.stats
        steps, rejected, failed, iterations, most = (
            _span(x)
            for x in (
                stats.num_steps, stats.num_rejected_steps, stats.num_failed_steps,
                stats.newton_iterations, stats.max_newton_iterations,
            )
        )  # fmt: skip
        worst = max(float(np.max(x, initial=0)) for x in (stats.max_g, stats.max_gdot, stats.max_k))
        ended = np.asarray(self.successful)
        error = [] if self.error is None else [_of_error(self.error)]
        verdict = f"{ended.sum()} of {ended.size}" if ended.ndim else "yes" if ended else "no"
        lines = [f"Method: {self.method}."] if self.method else []
        lines += [
            f"Ended at {_span(self.t1)}; successful: {verdict}.",
            f"Steps: {steps} accepted, {rejected} rejected, {failed} of these without a solution.",
            f"Newton's iterations, or projections: {iterations} in all, {most} at most in a step.",
            f"Worst residual of a constraint after any step: {worst:.1e}.",
            *error,
        ]
        lanes = np.ndindex(ended.shape)
        reasons = [
            RESULTS[jax.tree.map(lambda x, i=i: jnp.asarray(x)[i], self.result)] for i in lanes
        ]
        for reason in sorted(set(reasons) - {RESULTS[RESULTS.successful]}):
            of_lanes = f" of {reasons.count(reason)}" if ended.ndim else ""
            lines.append(f"Reason{of_lanes}: {reason}")
        return "\n".join(lines)

    def _has_numbers(self) -> bool:
        """Not so while a function is traced, or of the structure of a solution."""
        known = jax.tree.leaves((self.ts, self.t1, self.result, self.stats))
        arrays = all(isinstance(x, (jax.Array, np.ndarray)) for x in known)
        return arrays and not any(isinstance(x, jax.core.Tracer) for x in known)

    def _repr_html_(self) -> str | None:
        return of_lines(repr(self)) if self._has_numbers() else None

    def __repr__(self) -> str:
        if not self._has_numbers():
            return super().__repr__()
        rows = f"{len(self)} saved states" if self.ts.ndim == 1 else f"lanes {self.t1.shape}"
        return f"Solution, {rows}\n{self.explain()}"

    def __len__(self) -> int:
        return self.ts.shape[0]


def _of_error(error: GlobalError) -> str:
    if not np.any(np.isfinite(error.tolerances)):
        return "Estimated error: not known, for this motion or the second one failed."
    text = f"Estimated error: up to {_span(error.tolerances)} tolerances."
    lost = np.asarray(error.lost_from)
    if np.all(np.isnan(lost)):
        return text
    lanes = f" in {np.sum(~np.isnan(lost))} of {lost.size} lanes" if lost.ndim else ""
    return f"{text} THE SOLUTION IS LOST{lanes} from t = {np.nanmin(lost):g} on: more than 100."


def _span(values: Any) -> str:
    """The smallest and the largest of some numbers, where they are numbers."""
    numbers = np.asarray(values)
    numbers = numbers[np.isfinite(numbers)]
    if not numbers.size:
        return "nan"
    low, high = np.min(numbers), np.max(numbers)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def every(count: int, rows: Any) -> Any:
    """The first of the rows, every so many after it, and the last.

    - `rows`: a PyTree of arrays of as many rows.
    """

    def chosen(x: Array) -> Array:
        kept = x[::count]
        return kept if (x.shape[0] - 1) % count == 0 else jnp.concatenate([kept, x[-1:]])

    return rows if count == 1 else jax.tree.map(chosen, rows)
