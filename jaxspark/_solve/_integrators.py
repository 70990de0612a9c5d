"""What makes the steps of a method."""

from typing import Any

from .._adaptive import GGLIntegrator, SparkIntegrator
from .._explicit import ExplicitIntegrator, ExplicitMethod
from .._kkt import check_linear_solver, LinearSolver
from .._motion import AbstractIntegrator
from .._step import check_newton, NewtonOptions
from .._stiff import GGL
from .._tableau import AbstractSparkMethod, RolloutMethod


# A step of a size that follows from tolerances is better tried again, smaller.
MOST_ITERATIONS = 50


def integrator_of(
    method: Any, newton: NewtonOptions | None, linear_solver: LinearSolver | None, predict: bool
) -> AbstractIntegrator:
    """The integrator of a method, with its options; `None` where by default.

    **Raises:** `TypeError` or `ValueError` if they do not fit together.
    """
    check_linear_solver(linear_solver)
    if isinstance(method, ExplicitMethod):
        if newton is not None or not predict:
            raise ValueError(f"{method} solves no equations: newton and predict are not for it.")
        chosen = None if linear_solver == "auto" else linear_solver
        return ExplicitIntegrator(method=method, linear_solver=chosen)
    if isinstance(method, GGL):
        if newton is not None or linear_solver is not None:
            raise ValueError(
                "jaxspark.GGL has a Newton iteration of its own, with a fresh matrix every time: "
                "newton and linear_solver are for other methods. GGL(method, newton=...) chooses "
                "at which multipliers its matrix is taken."
            )
        return GGLIntegrator(method=method)
    if not isinstance(method, AbstractSparkMethod):
        if not isinstance(method, RolloutMethod):
            raise TypeError(f"method must be one such as Gauss(3) or DOP853(); got {method!r}.")
        raise TypeError(
            f"The method {method!r} is for steps of known sizes: use jaxspark.solve with "
            "steps=jaxspark.EqualSteps(...)."
        )
    newton = NewtonOptions(max_iterations=MOST_ITERATIONS) if newton is None else newton
    check_newton(newton, linear_solver)
    return SparkIntegrator(
        method=method, newton=newton, linear_solver=linear_solver, predict=predict
    )
