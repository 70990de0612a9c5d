"""Methods for stiff, highly oscillatory mechanisms."""

import dataclasses
from typing import get_args

from .._tableau import AbstractSparkMethod
from ._coefficients import ggl_coefficients, GGLCoefficients
from ._newton import NewtonMode


ERROR_NORMS = ("positions and velocities", "slow motion", "positions")


@dataclasses.dataclass(frozen=True)
class GGL:
    """A method that damps, on the stabilised index-2 form; its steps follow the slow motion.

    `jaxspark.solve(system, ..., method=jaxspark.GGL(jaxspark.RadauIIA(3)))` integrates mechanisms
    with stiff springs, bushings or beams. Its steps do not depend on the stiffness, once the
    oscillations, of velocities too, are damped or as small as the tolerance:
    [`jaxspark.stiff.damp_start`][] makes such a start. Larger oscillations are resolved until they
    are damped.

    With `error_norm="slow motion"` the error of velocities counts times the step size, and with it
    or `"positions"` steps may be as long as the interval: fewer steps for what is slow and smooth,
    while oscillations of velocities that the steps damp go unheeded. Velocities are then less
    accurate than coordinates, by far where forces jump, and what happens within a step, in a motion
    that is otherwise quiet, is missed unless `max_step` is given.

    Declare stiff potentials by [`jaxspark.stiff.Elongated`][]. Left in the forces they are
    integrated, too, but Newton's iteration then meets forces that are far from linear, which is
    less safe, and elongations drown in the rounding errors of lengths.

    **Arguments:**

    - `method`: `RadauIIA(2)`, for what oscillates; `RadauIIA(3)`, in general; or
        `Lobatto(3, "C", "C", "C")`.
    - `newton`: at which multipliers the matrix of Newton's iteration is taken: `"g0"`, 0 in the
        first iteration and those just found afterwards; `"gl"`, those of the last step at first;
        `"fcm"`, 0 always. With friction the first are those of the last step in any case.
    - `error_norm`: what the error of independent coordinates is measured on: `"positions and
        velocities"`; `"slow motion"`, velocities times the step size; `"positions"` alone.

    **Raises:** `TypeError` if `method` is not a SPARK method; `ValueError` if it does not damp, or
    for an unknown `newton` or `error_norm`.

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, for the form and the matrix; E.
    Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8, for the methods.
    """

    method: AbstractSparkMethod
    newton: str = "g0"
    error_norm: str = "positions and velocities"

    def __post_init__(self):
        if not isinstance(self.method, AbstractSparkMethod):
            raise TypeError(f"method must be a method such as RadauIIA(2); got {self.method!r}.")
        if self.newton not in get_args(NewtonMode):
            raise ValueError(f"newton must be one of {get_args(NewtonMode)}; got {self.newton!r}.")
        if self.error_norm not in ERROR_NORMS:
            raise ValueError(f"error_norm must be one of {ERROR_NORMS}; got {self.error_norm!r}.")
        ggl_coefficients(self.method.tableau)

    @property
    def of_slow_motion(self) -> bool:
        """Whether a step may be as long as the slow motion allows."""
        return self.error_norm != "positions and velocities"

    @property
    def coefficients(self) -> GGLCoefficients:
        """The coefficients of the stage equations."""
        return ggl_coefficients(self.method.tableau)
