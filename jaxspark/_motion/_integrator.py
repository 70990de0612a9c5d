"""What turns a method into steps of a system."""

import abc
from typing import Any

import equinox as eqx

from .._custom_types import FloatScalar
from .._driver import AbstractSteps, Progress, Tolerances
from .._kkt import LinearSolver
from .._results import RESULTS
from .._system import FlatSystem


class AbstractIntegrator(eqx.Module):
    """A method with its options; its arrays are leaves, all else is static and hashable."""

    linear_solver: eqx.AbstractVar[LinearSolver | None]

    @property
    @abc.abstractmethod
    def orders(self) -> tuple[int, int]:
        """The order of the method, and the power of the step size in the estimate of the error."""

    def check(self, flat: FlatSystem) -> None:
        """Raise if the method cannot solve this system.

        **Raises:** `ValueError`.
        """
        del flat

    def prepared(self, flat: FlatSystem) -> FlatSystem:
        """The system as the method sees it."""
        return flat

    def parameters(self, flat: FlatSystem, tolerances: Tolerances) -> Any:
        """What its steps are given: arrays that are differentiated, and others."""
        del tolerances
        return parameters_of(flat)

    @abc.abstractmethod
    def steps(self, flat: FlatSystem) -> tuple[AbstractSteps, AbstractSteps]:
        """Steps, and the same by operations that JAX can differentiate, both without arrays."""

    def reason(
        self, flat: FlatSystem, end: Progress, sign: FloatScalar, result: RESULTS
    ) -> RESULTS:
        """The result of a solve, where the method knows more of the reason for a failure.

        - `sign`: of the direction of time.
        """
        del flat, end, sign
        return result


def parameters_of(flat: FlatSystem) -> tuple[Any, Any]:
    """The arrays of a system: those that are differentiated, and the others."""
    return eqx.partition(eqx.filter(flat, eqx.is_array), eqx.is_inexact_array)
