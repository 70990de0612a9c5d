"""The public entry: input checked, steps made, derivatives attached, failure reported."""

import warnings
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .._consistent import ConstraintResiduals, flat_multipliers, flat_residuals
from .._custom_types import Args, FloatScalar, IntScalar, RealScalarLike, State
from .._implicit import nan_derivatives, stop_gradient
from .._results import RESULTS
from .._rollout import consistency_tolerance, initial_result, raise_on_failure
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten
from . import _checks
from ._equations import parts
from ._errors import message
from ._formulations import ErrorNorm, Formulation, LinearSolve, Settings
from ._integrate import integrate
from ._replay import attach_rows
from ._rows import Rows
from ._solution import BDFSolution
from ._state import start, start_step, State as Progress


def bdf(
    system: AbstractConstrainedSystem,
    y0: State,
    z0: State,
    args: Args = None,
    *,
    t0: RealScalarLike = 0.0,
    t1: RealScalarLike,
    rtol: RealScalarLike | None = None,
    atol: RealScalarLike | None = None,
    formulation: Formulation = "cm_step",
    max_order: int | np.integer = 2,
    error_norm: ErrorNorm = "positions",
    solve: LinearSolve = "bordered",
    first_step: RealScalarLike | None = None,
    max_steps: int | np.integer = 10_000,
    consistency_tol: float | Literal["auto"] | None = "auto",
    throw: bool = True,
) -> BDFSolution:
    r"""Integrate a mechanism with BDF as DASSL does, in the formulations of Yen and Petzold.

        q' = v,   M(t, q) v' = f(t, q, v) - G^T lam - k_v^T psi
        0 = g(t, q),   0 = g_t + G v,   0 = k(t, q, v)

    with `G = g_q` and `k` affine in `v`. Orders and step sizes vary, with a fixed leading
    coefficient. It is here to reproduce and compare published results, and for low accuracy;
    where tolerances are tight, methods of Runge-Kutta type are more accurate and cheaper.

    The result is differentiable, forward and reverse, with respect to `y0`, `z0`, `t0`, `t1`,
    `args` and `system`: the derivatives are those of the discrete solution, with orders and step
    sizes (as fractions of the time) held constant. They are as accurate as Newton's method was: to
    a fraction of the tolerances. Gradients under `jax.vmap` take time proportional to `max_steps`.

    **Arguments:**

    - `system`: a constrained system with `v = z` and ideal constraint forces.
    - `y0`, `z0`, `args`: as for [`jaxspark.solve`][].
    - `t0`, `t1`: initial and final time; time may run backward.
    - `rtol`, `atol`: an error is measured by `atol + rtol |x|`. Default: 1e-6 in double and 1e-3 in
        single precision, and `atol = rtol`.
    - `formulation`: which equations are solved, by which iteration.
        `"ggl"`: the stabilised index-2 form, with multipliers as unknowns that are predicted, and
        whose convergence is tested. `"ggl_star"`: the same, but the multipliers follow from the
        prediction, and are not tested. `"cs"`: coordinate-split, the multipliers eliminated by an
        annihilator `P(q)` of `G^T`; the matrix is the exact derivative. `"cm_true"`: the same
        equations, but the matrix lacks the derivative of `P`. `"cm_step"`: with `P` at the
        prediction of each step, whose derivative does not arise. `"cm_frozen"`: with `P` where the
        matrix was made, perhaps many steps before: as published, but it does not converge to the
        solution when tolerances are tightened. Its derivatives are those of what it computes.
    - `max_order`: the highest order, 1 to 5. Orders above 2 are not A-stable.
    - `error_norm`: `"positions"`, or `"positions and velocities"`; errors of velocities in stiff
        mechanisms are those of the fast motion. For `"cs"` and `"cm_..."` only independent ones
        count. For `"ggl_star"`, as published, `"positions"` counts all of them, and `"positions and
        velocities"` the independent ones.
    - `solve`: `"bordered"` with `2 (n + m)` unknowns, or `"reduced"` with `2 (n - m)`; the
        iterations are the same. `"ggl"` and `"ggl_star"` need `"bordered"`.
    - `first_step`: the size of the first step. Default: as DASSL does.
    - `max_steps`: the largest number of accepted steps, for which there is room in the solution.
    - `consistency_tol`, `throw`: as for [`jaxspark.solve`][].

    **Returns:** a [`jaxspark.stiff.BDFSolution`][].

    **Raises:** [`jaxspark.SolveError`][] on failure, if `throw`; `ValueError` and `TypeError` for
    invalid input.

    ??? cite "Reference"
        J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
        highly oscillatory constrained multibody dynamic systems*, TR 96-028 (1996); K. E. Brenan,
        S. L. Campbell & L. R. Petzold, *Numerical Solution of Initial-Value Problems in
        Differential-Algebraic Equations*, chapter 5.
    """
    _checks.check_choices(formulation, error_norm, solve)
    _checks.check_integers(max_order, max_steps)
    _checks.check_system(system)
    y0, z0 = as_state("y0", y0), as_state("z0", z0)
    dtype = jnp.result_type(*jax.tree.leaves(y0))
    _checks.check_times(t0, t1, 1.0 if first_step is None else first_step)
    rtol, atol = _checks.tolerances(rtol, atol, dtype)
    if formulation == "cm_frozen":
        warnings.warn(
            'formulation="cm_frozen" does not converge to the DAE\'s solution: its error does not '
            'fall as the tolerances do. It is here to reproduce published results; use "cm_step".',
            stacklevel=2,
        )
    settings = Settings(
        formulation, int(max_order), error_norm, solve, int(max_steps),
        consistency_tolerance(consistency_tol, dtype),
    )  # fmt: skip
    args = as_args(args, dtype)
    t0, t1, rtol, atol = (jnp.asarray(x, dtype) for x in (t0, t1, rtol, atol))
    if first_step is not None:
        first_step = jnp.asarray(first_step, dtype)
    solution = run(system, settings, y0, z0, args, (t0, t1), (rtol, atol), first_step)
    if not throw:
        return solution
    return raise_on_failure(solution, system, args, t1, t0, message)


@eqx.filter_jit
def run(
    system: AbstractConstrainedSystem,
    settings: Settings,
    y0: State,
    z0: State,
    args: Args,
    times: tuple[FloatScalar, FloatScalar],
    tolerances: tuple[FloatScalar, FloatScalar],
    first_step: FloatScalar | None = None,
) -> BDFSolution:
    """The integration with arguments that were checked; see [`jaxspark.stiff.bdf`][]."""
    t0, t1 = times
    flat, y, z = flatten(system, t0, y0, z0, args)
    _checks.check_flat(flat)
    zdot, lam, psi, solvable = flat_multipliers(flat, t0, y, z)
    x = jnp.concatenate([y, z, jnp.zeros(flat.nlam, y.dtype), lam, psi])
    rate = jnp.concatenate([z, zdot, jnp.zeros(x.size - 2 * y.size, y.dtype)])
    frozen = stop_gradient((flat, t0, t1, x, rate, first_step, *tolerances))
    initial = ConstraintResiduals(*stop_gradient(flat_residuals(flat, t0, y, z)))
    result = initial_result(flat, t0, y, z, initial, settings.consistency_tol)
    unsolvable = (result == RESULTS.successful) & ~solvable
    result = RESULTS.where(unsolvable, RESULTS.singular, result)
    end, h = _steps(settings, frozen, result)
    last = end.stats.num_steps
    start_values = jnp.concatenate([y, z]), rate[: 2 * y.size], parts(flat, x)
    rows = _filled(end.rows, last)
    ts, xs = attach_rows(
        flat, settings.formulation, settings.max_order, rows, last, h, start_values, times
    )
    return _solution(flat, end, ts, xs, initial)


def _steps(settings: Settings, frozen, result: RESULTS) -> tuple[Progress, FloatScalar]:
    """The integration, and the first step size that it tried."""
    flat, t0, t1, x, rate, first_step, rtol, atol = frozen
    if first_step is None:
        h = start_step(flat, settings, x, rate, t1 - t0, rtol, atol)
    else:
        h = jnp.minimum(first_step, jnp.abs(t1 - t0)) * jnp.sign(t1 - t0)
    state = start(flat, settings, t0, x, rate, h, result)
    return stop_gradient((integrate(flat, settings, state, t1, rtol, atol), h))


def _filled(rows: Rows, last: IntScalar) -> Rows:
    """The rows, of which those after the last step repeat it."""
    number = jnp.minimum(jnp.arange(rows.h.shape[0], dtype=last.dtype), last)
    return jax.tree.map(lambda leaf: leaf[number], rows)


def _solution(flat: FlatSystem, end: Progress, ts, xs, initial) -> BDFSolution:
    last, failed = end.stats.num_steps, end.result != RESULTS.successful
    late = failed & (jnp.arange(ts.size, dtype=last.dtype) > last)
    x1 = nan_derivatives(xs[last], failed)
    q1, v1, *_ = parts(flat, x1)
    xs = jax.vmap(nan_derivatives)(xs, late)
    q, v, _, multipliers = jax.vmap(lambda x: parts(flat, x))(xs)
    lam, psi = multipliers[:, : flat.nlam], multipliers[:, flat.nlam :]
    ys, zs = jax.vmap(flat.unravel_y)(q), jax.vmap(flat.unravel_z)(v)
    return BDFSolution(
        ts=ts, ys=ys, zs=zs, lam=jax.vmap(flat.unravel_lam)(lam),
        psi=jax.vmap(flat.unravel_psi)(psi), t1=ts[last], y1=flat.unravel_y(q1),
        z1=flat.unravel_z(v1), result=end.result, stats=end.stats,
        initial_residuals=ConstraintResiduals(
            flat.unravel_lam(initial.g), flat.unravel_lam(initial.gdot),
            flat.unravel_psi(initial.k),
        ),
    )  # fmt: skip
