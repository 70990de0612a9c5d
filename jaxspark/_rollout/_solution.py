"""What a solve returns."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._consistent import ConstraintResiduals, Multipliers
from .._custom_types import FloatScalar, IntScalar, State
from .._results import RESULTS


class Statistics(eqx.Module):
    """What a rollout cost, and how well it kept the constraints.

    - `num_steps`: accepted steps.
    - `num_rejected_steps`: always 0 for fixed steps; a failed step ends the rollout.
    - `num_failed_steps`: those for which Newton's iteration found no solution. An adaptive
        controller rejects them; with given steps the solve ends.
    - `newton_iterations`: of all steps together.
    - `max_newton_iterations`: of the hardest step, a second attempt included.
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


class Solution(eqx.Module):
    """The result of [`jaxspark.rollout`][] or [`jaxspark.solve`][].

    - `ts`: the times of the saved states, shape `(n,)`, the first of them `t0` (unless only
        the end is saved).
    - `ys`, `zs`: the saved states, with a leading axis of length `n`.
    - `multipliers`: [`jaxspark.Multipliers`][] at the saved times, or `None`.
    - `t1`, `y1`, `z1`: the last good state, and its time.
    - `result`: a member of [`jaxspark.RESULTS`][].
    - `stats`: [`jaxspark.Statistics`][].
    - `initial_residuals`: [`jaxspark.ConstraintResiduals`][] at the start.
    - `step_density`: at the end, of a rollout with a [`jaxspark.StepDensity`][], or `None`.
    - `events`: of [`jaxspark.solve`][], a [`jaxspark.Occurrences`][], or `None`.
    - `interpolation`: of [`jaxspark.solve`][] with `dense=True`; use `evaluate`.

    If a rollout or solve fails, nothing is lost: rows up to the failure are as they were, and the
    rows after it repeat the last good state with its time.
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

    @property
    def successful(self) -> Bool[Array, "..."]:
        """Whether the rollout reached its end; one value for each lane of a batch."""
        return self.result == RESULTS.successful

    def evaluate(self, t: Any) -> tuple[State, State]:
        """The state `(y, z)` at a time of the motion or, with a leading axis, at several.

        It is found by a step from the last accepted one: of full order, and on the constraints.
        NaN outside the motion. At the time of an event it is the state before it.

        **Raises:** `ValueError` unless the solution is from `jaxspark.solve(..., dense=True)`.
        """
        if self.interpolation is None:
            raise ValueError(
                "This solution has no dense output. Use jaxspark.solve(..., dense=True), or the "
                "argument ts for times that are known before."
            )
        t = jnp.asarray(t, self.t1.dtype)
        return self.interpolation.evaluate(t) if t.ndim == 0 else jax.vmap(self.evaluate)(t)

    def __len__(self) -> int:
        return self.ts.shape[0]


def every(count: int, rows: Any) -> Any:
    """The first of the rows, every so many after it, and the last.

    - `rows`: a PyTree of arrays of as many rows.
    """

    def chosen(x: Array) -> Array:
        kept = x[::count]
        return kept if (x.shape[0] - 1) % count == 0 else jnp.concatenate([kept, x[-1:]])

    return rows if count == 1 else jax.tree.map(chosen, rows)
