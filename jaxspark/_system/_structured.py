"""Systems that give mass matrix, forces and derivatives of constraints themselves."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Bool, Float

from .._custom_types import Args, FloatScalar
from ._constrained import AbstractConstrainedSystem


class AbstractMasses(eqx.Module):
    """A mass matrix by its parts, with which equations need fewer operations than with entries."""

    @abc.abstractmethod
    def matrix(self) -> Float[Array, "nz nz"]:
        """All entries."""

    @abc.abstractmethod
    def solve(self, rhs: Float[Array, "nz k"]) -> tuple[Float[Array, "nz k"], Bool[Array, ""]]:
        """The solution, and whether the matrix is positive definite."""


class Accelerations(NamedTuple):
    """The equations `M u + C^T mu = h`, `C u = -c` for accelerations `u` and multipliers `mu`.

    - `M`: the mass matrix, shape `(nz, nz)`.
    - `h`: all forces but those of the constraints, less centrifugal and Coriolis forces.
    - `C`: the Jacobian of `b` with respect to velocities, shape `(m, nz)`.
    - `b`: the rates of the constraints, `gdot` of holonomic ones and `k` of others.
    - `c`: what the derivative of `b` along the motion has besides `C u`.
    - `masses`: `M` by its parts, if it is large.
    """

    M: Float[Array, "nz nz"]
    h: Float[Array, " nz"]
    C: Float[Array, "m nz"]
    b: Float[Array, " m"]
    c: Float[Array, " m"]
    masses: AbstractMasses | None = None


class AbstractStructuredSystem(AbstractConstrainedSystem):
    """A system of flat vectors `y` and `z` with equations of its own for accelerations.

    Explicit methods evaluate these, and differentiate their residual, in place of derivatives of
    `p`, `g` and `k`: derivatives of kinematics are the largest part of a robot's program. `v` is
    affine in `z`, and constraint forces are ideal.
    All functions of the system are called with what `prepared` returns, or with `args`.
    """

    @abc.abstractmethod
    def prepared(self, args: Args) -> Any:
        """What all functions need of the `args`, computed once for a solution."""

    @abc.abstractmethod
    def accelerations(
        self, t: FloatScalar, y: Array, z: Array, on: FloatScalar, args: Any
    ) -> Accelerations:
        """The equations; `h` and `c` times `on`, which is 0 or 1."""

    @abc.abstractmethod
    def balance(
        self,
        t: FloatScalar,
        y: Array,
        z: Array,
        u: Array,
        mu: Array,
        on: FloatScalar,
        args: Any,
    ) -> tuple[Array, Array, Array]:
        """`M u + C^T mu - h` and `C u + c`, with `h` and `c` times `on`; and `b`."""
