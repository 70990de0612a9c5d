"""What the BDF returns."""

from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float

from .._consistent import ConstraintResiduals
from .._custom_types import FloatScalar, IntScalar, State
from .._results import RESULTS


class BDFStatistics(eqx.Module):
    """What an integration cost, and how well it kept the constraints.

    - `num_steps`: accepted steps.
    - `residual_evaluations`: one for each iteration of Newton's method.
    - `matrix_evaluations`: iteration matrices made and factorised.
    - `error_test_failures`: steps repeated because their error was too large (`etf`).
    - `convergence_failures`: steps repeated because Newton's method did not converge with a
        matrix of their own (`ctf`).
    - `max_g`, `max_gdot`, `max_k`: the worst constraint residuals at the end of any accepted
        step.

    The first five are the columns of the tables of Yen and Petzold.
    """

    num_steps: IntScalar
    residual_evaluations: IntScalar
    matrix_evaluations: IntScalar
    error_test_failures: IntScalar
    convergence_failures: IntScalar
    max_g: FloatScalar
    max_gdot: FloatScalar
    max_k: FloatScalar

    def __repr__(self) -> str:
        return eqx.tree_pformat(self, short_arrays=False)


class BDFSolution(eqx.Module):
    """The result of [`jaxspark.stiff.bdf`][].

    - `ts`: the times after each step, shape `(max_steps + 1,)`, the first of them `t0`.
    - `ys`, `zs`: the states there, with a leading axis of length `max_steps + 1`.
    - `lam`, `psi`: the multipliers there, structured as what `g` and `k` return, likewise.
    - `t1`, `y1`, `z1`: the last good state, and its time.
    - `result`: a member of [`jaxspark.RESULTS`][].
    - `stats`: [`jaxspark.stiff.BDFStatistics`][].
    - `initial_residuals`: [`jaxspark.diagnostics.ConstraintResiduals`][] at the start.

    Rows after the last step, also where the integration failed, repeat the last good state with
    its time.
    """

    ts: Float[Array, " rows"]
    ys: State
    zs: State
    lam: Any
    psi: Any
    t1: FloatScalar
    y1: State
    z1: State
    result: RESULTS
    stats: BDFStatistics
    initial_residuals: ConstraintResiduals

    @property
    def successful(self) -> Bool[Array, "..."]:
        """Whether the end was reached; one value for each lane of a batch."""
        return self.result == RESULTS.successful

    def __len__(self) -> int:
        return self.ts.shape[0]
