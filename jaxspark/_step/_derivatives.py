"""The linear equations that the derivatives of a step solve."""

from collections.abc import Callable

from .._implicit import preconditioned_solve
from .._kkt import AbstractLinearSolver
from .._tableau import SparkTableau
from ._decoupling import modified_jacobian, ModifiedJacobian
from ._full import full_jacobian, FullJacobian
from ._residual import stage_residual
from ._stages import Stages


# Changes of stage multipliers count little: rounding errors in them are large.
EMPHASIS = (1.0, 1.0, 1e-6, 1e-6)


def implicit_equations(
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    tolerance: float,
    full: bool,
) -> tuple[Callable[..., Stages], Callable[..., Stages]]:
    """The residual of a step and the solver for its derivative, as functions of all operands.

    These are the system, `t0`, `y0`, `z0`, `h` and the factors that were kept, if any.

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

    def linear_solve(matvec, rhs, at, operands):
        jacobian = factors(at, operands)
        return preconditioned_solve(
            matvec, jacobian.solve, jacobian.solve_transposed, rhs, EMPHASIS, tolerance
        )

    return residual, linear_solve
