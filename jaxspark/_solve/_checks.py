"""Whether what `solve` is given is of the kinds that it is for."""

from typing import Any

from .._explicit import ExplicitMethod
from .._rollout import KnownSteps
from .._stiff import GGL
from .._system import AbstractConstrainedSystem
from .._tableau import RolloutMethod


Method = RolloutMethod | GGL | ExplicitMethod


def check_kinds(system: Any, y0: Any, method: Any, steps: Any) -> None:
    """Raise unless system, method and steps are such.

    **Raises:** `TypeError`.
    """
    if not isinstance(system, AbstractConstrainedSystem):
        raise TypeError(f"system must be a jaxspark system; got {system!r}.")
    if isinstance(y0, Method):
        raise TypeError(f"The method is a keyword argument: solve(system, y0, z0, method={y0!r}).")
    of_name = isinstance(method, str) and method == "auto"
    if not (method is None or isinstance(method, Method) or of_name):
        kind = type(method)
        raise TypeError(
            "method must be one such as jaxspark.Gauss(3) or jaxspark.DOP853(), called, or "
            f'"auto"; got {method!r} of the type {kind.__module__}.{kind.__qualname__}.'
        )
    if not (steps is None or isinstance(steps, KnownSteps)):
        raise TypeError(
            "steps must be such as jaxspark.EqualSteps(100) or jaxspark.GivenSteps(times); got "
            f"{steps!r}. Controllers of diffrax are for diffrax.diffeqsolve, with "
            "jaxspark.diffrax.DiffraxSolver."
        )
