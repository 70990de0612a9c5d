"""What a rollout returns."""

import equinox as eqx
from jaxtyping import Array, Bool, Float

from .._consistent import ConstraintResiduals, Multipliers
from .._custom_types import FloatScalar, IntScalar, State
from .._results import RESULTS


class Statistics(eqx.Module):
    """What a rollout cost, and how well it kept the constraints.

    - `num_steps`: accepted steps.
    - `num_rejected_steps`: always 0 for fixed steps; a failed step ends the rollout.
    - `newton_iterations`: of all steps together.
    - `max_newton_iterations`: of the hardest step, a second attempt included.
    - `max_g`, `max_gdot`, `max_k`: the worst constraint residuals at the end of any accepted
        step (in the constraints' own units), not only of those that were saved.
    """

    num_steps: IntScalar
    num_rejected_steps: IntScalar
    newton_iterations: IntScalar
    max_newton_iterations: IntScalar
    max_g: FloatScalar
    max_gdot: FloatScalar
    max_k: FloatScalar

    def __repr__(self) -> str:
        return eqx.tree_pformat(self, short_arrays=False)


class Solution(eqx.Module):
    """The result of [`jaxspark.rollout`][].

    - `ts`: the times of the saved states, shape `(n,)`, the first of them `t0` (unless only
        the end is saved).
    - `ys`, `zs`: the saved states, with a leading axis of length `n`.
    - `multipliers`: [`jaxspark.Multipliers`][] at the saved times, or `None`.
    - `t1`, `y1`, `z1`: the last good state, and its time.
    - `result`: a member of [`jaxspark.RESULTS`][].
    - `stats`: [`jaxspark.Statistics`][].
    - `initial_residuals`: [`jaxspark.ConstraintResiduals`][] at the start.

    If a rollout fails, nothing is lost: rows up to the failure are as they were, and the rows
    after it repeat the last good state with its time.
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

    @property
    def successful(self) -> Bool[Array, "..."]:
        """Whether the rollout reached its end; one value for each lane of a batch."""
        return self.result == RESULTS.successful

    def __len__(self) -> int:
        return self.ts.shape[0]
