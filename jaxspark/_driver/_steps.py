"""What the loop asks of a method: steps, and their derivatives."""

import abc
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._results import RESULTS
from ._control import PROBE, Tolerances


class Step(NamedTuple):
    """What came of a step.

    - `x1`: its end; `error`: the estimated error of that.
    - `note`: a PyTree of what its derivatives need besides its start and its size.
    - `memory`: a PyTree of what the next step needs of it.
    - `iterations`: how many were made.
    - `verdict`: whether its end may be used.
    - `slopes`: if the method probes, the derivatives at the start and near the end.
    - `rough`: whether the error does not fall with the `error_order` of the method, for the step
        has a jump in it, or the error is rounding error. `None`: it always falls so.
    """

    x1: Float[Array, " n"]
    error: Float[Array, " n"]
    note: Any
    memory: Any
    iterations: IntScalar
    verdict: RESULTS
    slopes: tuple[Float[Array, " n"], Float[Array, " n"]] | None = None
    rough: BoolScalar | None = None


class AbstractSteps(abc.ABC):
    """A method for a system, whose arrays come as `parameters`.

    These are a pair of PyTrees, those that are differentiated and the others. States are vectors.

    - `error_order`: the power of the step size in the estimated error; `gains`: of the control of
        step sizes, proportional and integral.
    - `probes`: whether the first step size follows from a trial, or is `first_size`.
    """

    probes: ClassVar[bool]
    gains: ClassVar[tuple[float, float]]

    @property
    @abc.abstractmethod
    def error_order(self) -> int:
        """See above."""

    @abc.abstractmethod
    def start(self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]) -> tuple[Any, Any]:
        """The memory before the first step, and a note, of which only the shapes matter."""

    def first_size(
        self, parameters: Any, t: FloatScalar, x: Float[Array, " n"], tolerances: Tolerances
    ) -> FloatScalar | None:
        """The size of the first step; `None` if the method `probes`."""
        del parameters, t, x, tolerances
        return None

    def probe(self, dtype: Any) -> float:
        """If it probes: the size of the trial, by that of the interval."""
        del dtype
        return PROBE

    @abc.abstractmethod
    def recalled(self, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"], note: Any) -> Any:
        """The memory of a step that was recorded."""

    @abc.abstractmethod
    def make(
        self, parameters: Any, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"], memory: Any
    ) -> Step:
        """The step of size `h` from `x` at `t`.

        `memory` is that of the step before or, of a shorter step, of the longer one that has the
        same start.
        """

    @abc.abstractmethod
    def residuals(self, parameters: Any, t: FloatScalar, x: Float[Array, " n"]) -> Any:
        """`g`, `gdot` and `k`."""

    @abc.abstractmethod
    def push(
        self,
        parameters: Any,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: Any,
        tangents: tuple[Any, FloatScalar, FloatScalar, Float[Array, " n"]],
        bounded: bool = False,
    ) -> Float[Array, " n"]:
        """The tangent of the end, for those of the parameters, `t`, `h` and `x`.

        - `bounded`: whether by operations that JAX can differentiate and transpose.
        """

    @abc.abstractmethod
    def pull(
        self,
        parameters: Any,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: Any,
        to_x1: Float[Array, " n"],
        to_parameters: Any,
    ) -> tuple[FloatScalar, FloatScalar, Float[Array, " n"], Any]:
        """The cotangents of `t`, `h` and `x` for that of the end.

        That of the parameters is added to `to_parameters`.
        """


class AbstractRepeatable(AbstractSteps):
    """A method whose derivatives make the step again, so that its end need not be kept."""

    @abc.abstractmethod
    def push_again(
        self,
        parameters: Any,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: Any,
        tangents: tuple[Any, FloatScalar, FloatScalar, Float[Array, " n"]],
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The end, and its tangent: see `push`."""

    @abc.abstractmethod
    def pull_again(
        self,
        parameters: Any,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: Any,
        to_x1: Float[Array, " n"],
        to_parameters: Any,
        on: BoolScalar,
    ) -> tuple[tuple[FloatScalar, FloatScalar, Float[Array, " n"], Any], Float[Array, " n"]]:
        """The cotangents, see `pull`, and the end.

        - `on`: whether cotangents are wanted: else they are any numbers, and `to_parameters`.
        """
