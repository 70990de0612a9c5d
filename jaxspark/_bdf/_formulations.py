"""What the formulations are: their residuals, their matrices, and what their norms measure."""

from typing import get_args, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._consistent import constraint_jacobian
from .._custom_types import FloatScalar
from .._system import FlatSystem
from ._equations import parts, Residuals, residuals, stabilised, Unknowns
from ._linear import Bordered, bordered, Reduced, reduced, Splits
from ._split import split, split_as


Formulation = Literal["ggl", "ggl_star", "cs", "cm_step", "cm_true", "cm_frozen"]
FORMULATIONS: tuple[str, ...] = get_args(Formulation)
ErrorNorm = Literal["positions", "positions and velocities"]
ERROR_NORMS: tuple[str, ...] = get_args(ErrorNorm)
LinearSolve = Literal["bordered", "reduced"]
LINEAR_SOLVES: tuple[str, ...] = get_args(LinearSolve)


class Settings(eqx.Module):
    """What is compiled into the integrator; all of it static.

    - `formulation`: which equations, and which matrix.
    - `max_order`: of the BDF.
    - `error_norm`: what the error test measures.
    - `solve`: how the linear systems are solved.
    - `max_steps`: the room for rows.
    - `force_gradient`: whether matrices have the forces' derivative with respect to coordinates.
        Without it the convergence failures of stiff forces can be studied.
    """

    formulation: Formulation = eqx.field(static=True)
    max_order: int = eqx.field(static=True)
    error_norm: ErrorNorm = eqx.field(static=True)
    solve: LinearSolve = eqx.field(static=True)
    max_steps: int = eqx.field(static=True)
    consistency_tol: float | None = eqx.field(static=True)
    force_gradient: bool = eqx.field(static=True, default=True)

    @property
    def with_multipliers(self) -> bool:
        """Whether multipliers are unknowns of the iteration."""
        return self.formulation in ("ggl", "ggl_star")


class Matrix(eqx.Module):
    """An iteration matrix, and where it was taken.

    - `linear`: its factors.
    - `splits`: the splittings there.
    - `t`, `q`: the time and the coordinates.
    """

    linear: Bordered | Reduced
    splits: Splits
    t: FloatScalar
    q: Float[Array, " n"]


def splits_at(
    system: FlatSystem, t: FloatScalar, x: Unknowns, like: Splits | None = None
) -> Splits:
    """The splittings at a state, with the choice of coordinates of `like` or a new one."""
    q, v, _, _ = parts(system, x)
    C = constraint_jacobian(system, t, q, v)
    G = C[: system.nlam]
    if like is None:
        first = split(G)
        return Splits(first, split(C) if system.npsi else first)
    return Splits(split_as(like.position.order, G), split_as(like.velocity.order, C))


def matrix_multipliers(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    splits: Splits,
) -> Float[Array, " multipliers"]:
    """`[s1; s2]`, with which the derivative of `G^T s` enters the matrix.

    - `"ggl"`: the multipliers of the prediction.
    - `"ggl_star"`, `"cs"`: `s = -GY^{-T} Y^T r` of the residuals there: by Lemma 2.2 the matrix is
        then the derivative of the projected residuals (2.14).
    - the others: zero, the CM iteration.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equation (2.14) and section 3.
    """
    if settings.formulation == "ggl":
        return x[2 * system.ny :]
    if settings.formulation in ("ggl_star", "cs"):
        return splits.multipliers(residuals(system, t, x, rate))
    return jnp.zeros(x.size - 2 * system.ny, x.dtype)


def matrix_at(
    system: FlatSystem,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    leading: FloatScalar,
    multipliers: Float[Array, " multipliers"],
    force_gradient: bool = True,
) -> Float[Array, "unknowns unknowns"]:
    """The derivative of the stabilised equations, with `rate` that grows by `leading`."""
    at = jnp.concatenate([x[: 2 * system.ny], multipliers])

    def equations(moved):
        slope = rate + leading * (moved - at)
        return stabilised(system, t, moved, slope, force_gradient=force_gradient)

    return jax.jacfwd(equations)(at)


def new_matrix(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    leading: FloatScalar,
) -> Matrix:
    """The iteration matrix at a prediction, factorised, with a new choice of coordinates."""
    splits = splits_at(system, t, x)
    multipliers = matrix_multipliers(system, settings, t, x, rate, splits)
    full = matrix_at(system, t, x, rate, leading, multipliers, settings.force_gradient)
    linear = reduced(system, splits, full) if settings.solve == "reduced" else bordered(full)
    return Matrix(linear, splits, t, x[: system.ny])


def projection_splits(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    x: Unknowns,
    predicted: Unknowns,
    matrix: Matrix,
) -> Splits:
    """The splittings whose annihilators the residual is multiplied by.

    - `"cs"`, `"cm_true"`: those of the iterate `x`: the equations (2.12).
    - `"cm_step"`: those of the prediction of this step.
    - `"cm_frozen"`: those of the last matrix, whatever step it was made for.
    """
    if settings.formulation == "cm_frozen":
        return matrix.splits
    at = predicted if settings.formulation == "cm_step" else x
    return splits_at(system, t, at, matrix.splits)


def correction(
    system: FlatSystem,
    settings: Settings,
    t: FloatScalar,
    x: Unknowns,
    rate: Unknowns,
    predicted: Unknowns,
    matrix: Matrix,
) -> Unknowns:
    """What an iteration takes from the unknowns: zero at multipliers that are none of them."""
    if settings.with_multipliers:
        assert isinstance(matrix.linear, Bordered)
        return matrix.linear.solve_all(stabilised(system, t, x, rate))
    found: Residuals = residuals(system, t, x, rate)
    splits = projection_splits(system, settings, t, x, predicted, matrix)
    step = matrix.linear.solve(matrix.splits, splits.project(found))
    return jnp.concatenate([step, jnp.zeros(x.size - step.size, x.dtype)])


def newton_mask(system: FlatSystem, settings: Settings) -> Bool[Array, " unknowns"]:
    """Which unknowns the test for convergence measures: for `"ggl"`, multipliers, too."""
    size = 2 * (system.ny + system.nlam) + system.npsi
    return (jnp.arange(size) < 2 * system.ny) | (settings.formulation == "ggl")


def error_mask(system: FlatSystem, settings: Settings, splits: Splits) -> Bool[Array, " unknowns"]:
    """Which unknowns the error test measures.

    Positions, or positions and velocities; of the coordinate-split forms the independent ones. For
    `"ggl_star"` all positions, or the independent positions and velocities.

    Source: J. Yen & L. Petzold, as above, (2.27) and sections 5.1 and 5.2.
    """
    both = settings.error_norm == "positions and velocities"
    every = jnp.ones(system.ny, bool)
    all_count = settings.formulation == "ggl" or (settings.formulation == "ggl_star" and not both)
    free = splits.position.is_independent(), splits.velocity.is_independent()
    positions, velocities = (every, every) if all_count else free
    others = jnp.zeros(2 * system.nlam + system.npsi, bool)
    return jnp.concatenate([positions, velocities & both, others])
