"""The linear equations that the derivatives of a step solve."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from .._implicit import LinearEquations, preconditioned_solve, written_out_solve
from .._jax_internals import mix, written_out
from .._kkt import AbstractLinearSolver, ELEMENTWISE_LIMIT, ElementwiseInverse
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._full import full_jacobian, FullJacobian
from ._linearized import linearized_residual
from ._residual import stage_residual
from ._stages import Stages


T = TypeVar("T")

# Changes of stage multipliers count little: rounding errors in them are large.
EMPHASIS = (1.0, 1.0, 1e-6, 1e-6)


def is_small(system: FlatSystem, linear_solver: AbstractLinearSolver) -> bool:
    """Whether whole steps may be written out."""
    size = system.nz + system.nlam + system.npsi
    return size <= ELEMENTWISE_LIMIT and isinstance(linear_solver, ElementwiseInverse)


def in_one_piece(function: Callable[..., T], written: bool) -> Callable[..., T]:
    """The function, written out if it is to be."""
    return (lambda *operands: written_out(function, *operands)) if written else function


def implicit_equations(
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    written: bool,
    tolerance: float,
    full: bool,
) -> tuple[Callable[..., Stages], Callable[..., Stages]]:
    """The residual of a step and the solver for its derivative, as functions of all operands.

    These are the system, `t0`, `y0`, `z0`, `h` and the factors that were kept, if any.

    - `written`: whether both are written out.
    - `tolerance`: a relative error of the solver that is small enough.
    - `full`: whether it is for all of the Jacobian that equations are factorised. The modified
        one would not do where forces are stiff.
    """

    def residual(x, operands):
        system, t0, y0, z0, h, _ = operands
        return stage_residual(system, tableau, t0, y0, z0, h)(x)

    def factors(at, operands) -> ModifiedJacobian | FullJacobian:
        system, t0, y0, _, h, kept = operands
        if kept is not None:
            return kept
        if full:
            return full_jacobian(system, tableau, t0, y0, h, at)
        return modified_jacobian(system, tableau, linear_solver, t0, h, at)

    def equations(parameters, transposed):
        at, operands = parameters
        system, t0, y0, _, h, _ = operands
        matvec = linearized_residual(system, tableau, t0, y0, h, at)
        jacobian = factors(at, operands)
        along = _Positions(tableau, h, at) if system.v is None else None
        return _directed(matvec, jacobian, along, at, transposed)

    def linear_solve(matvec, rhs, at, operands):
        if written:
            return written_out_solve(matvec, equations, (at, operands), rhs, tolerance)
        jacobian = factors(at, operands)
        return preconditioned_solve(
            matvec, jacobian.solve, jacobian.solve_transposed, rhs, EMPHASIS, tolerance
        )

    return in_one_piece(residual, written), linear_solve


class _Positions:
    """Where velocities are unknowns, positions are their integrals: they are eliminated.

    These are equations (4) of L. O. Jay, *On modified Newton iterations for SPARK methods applied
    to constrained systems in mechanics*, with `v = z`: `dY = h (alpha (x) I) dZ`.
    """

    def __init__(self, tableau: SparkTableau, h: Any, like: Stages):
        self.tableau, self.h, self.like = tableau, h, like

    def added(self, part: tuple[Any, ...]) -> Stages:
        """The changes of all unknowns."""
        z, lam, psi = part
        return Stages(self.h * mix(self.tableau.alpha, z[:-1]), z, lam, psi)

    def alone(self, y: Any) -> Stages:
        """Changes of positions only."""
        return Stages(y, *(jnp.zeros_like(x) for x in _others(self.like)))

    def none(self, part: tuple[Any, ...]) -> Stages:
        """With no changes of positions."""
        return Stages(jnp.zeros_like(self.like.y), *part)


def _others(x: Stages) -> tuple[Any, ...]:
    return x.z, x.lam, x.psi


def _directed(
    matvec: Callable[[Stages], Stages],
    jacobian: ModifiedJacobian | FullJacobian,
    along: _Positions | None,
    like: Stages,
    transposed: bool,
) -> LinearEquations:
    """The equations or their transpose, without the positions that are `along` velocities."""
    inverse = jacobian.solve_transposed if transposed else jacobian.solve
    if along is None:
        forward = _transpose(matvec, like) if transposed else matvec
        emphasis = (1.0,) * len(EMPHASIS) if transposed else EMPHASIS
        return LinearEquations(forward, inverse, lambda rhs: rhs, lambda x, _: x, emphasis)

    def reduced_matvec(part):
        return _others(matvec(along.added(part)))

    def reduced_inverse(part):
        return _others(inverse(along.none(part)))

    def reduced(rhs: Stages):
        known = _others(matvec(along.alone(rhs.y)))
        return jax.tree.map(jnp.subtract, _others(rhs), known)

    def completed(part, rhs: Stages) -> Stages:
        whole = along.added(part)
        return Stages(rhs.y + whole.y, *part)

    def reduced_back(rhs: Stages):
        return _transpose(along.added, _others(like))(rhs)

    def completed_back(part, rhs: Stages) -> Stages:
        known = _transpose(matvec, like)(along.none(part))
        return Stages(rhs.y - known.y, *part)

    if transposed:
        forward = _transpose(reduced_matvec, _others(like))
        alike = (1.0,) * len(EMPHASIS[1:])
        return LinearEquations(forward, reduced_inverse, reduced_back, completed_back, alike)
    return LinearEquations(reduced_matvec, reduced_inverse, reduced, completed, EMPHASIS[1:])


def _transpose(function: Callable[[Any], Any], like: Any) -> Callable[[Any], Any]:
    back = jax.linear_transpose(function, like)
    return lambda x: back(x)[0]
