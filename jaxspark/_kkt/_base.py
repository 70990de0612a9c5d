"""The blocks of K2 and K3, and the interface of the solvers for them."""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._system import FlatSystem, value_and_jacobian
from ._maps import AbstractMap, Matrix


class AbstractBlocks(eqx.Module):
    """What a step needs of the derivatives at one point, however they are stored."""

    @property
    @abc.abstractmethod
    def mass(self) -> AbstractMap:
        """`p_z`."""

    @property
    @abc.abstractmethod
    def kinematics(self) -> AbstractMap | None:
        """`v_z`; `None` where `v = z`."""

    @property
    @abc.abstractmethod
    def push(self) -> AbstractMap:
        """`r_lam`."""


class KKTBlocks(AbstractBlocks):
    """The derivatives of a system at one point, from which K2 and K3 are built.

        K2 = [[p_z, -r_lam, -f_psi],      K3 = [[p_z, -r_lam],
              [g_y v_z, 0, 0],                  [g_y v_z, 0]]
              [k_z, 0, 0]]

    Methods with as many holonomic conditions as stages (those of Lobatto type) need K2 and, in
    place of K3, the mass matrix `p_z` alone.

    - `p_z`, `r_lam`, `f_psi`: derivatives of the momenta and of the constraint forces, shapes
        `(nz, nz)`, `(nz, nlam)`, `(nz, npsi)`.
    - `gdot_z`, `k_z`: derivatives of the constraints, shapes `(nlam, nz)`, `(npsi, nz)`; `gdot_z`
        is `g_y v_z`.
    - `v_z`: shape `(ny, nz)`; `None` where `v = z`.
    - `bordered`: whether K3 is needed.
    """

    p_z: Float[Array, "nz nz"]
    r_lam: Float[Array, "nz nlam"]
    f_psi: Float[Array, "nz npsi"]
    gdot_z: Float[Array, "nlam nz"]
    k_z: Float[Array, "npsi nz"]
    v_z: Float[Array, "ny nz"] | None
    bordered: bool = eqx.field(static=True, default=True)

    @property
    def mass(self) -> AbstractMap:
        return Matrix(self.p_z)

    @property
    def kinematics(self) -> AbstractMap | None:
        return None if self.v_z is None else Matrix(self.v_z)

    @property
    def push(self) -> AbstractMap:
        return Matrix(self.r_lam)

    @property
    def K3(self) -> Float[Array, "n3 n3"]:
        """The matrix of the holonomic part."""
        nlam = self.gdot_z.shape[0]
        zero = jnp.zeros((nlam, nlam), self.p_z.dtype)
        return jnp.block([[self.p_z, -self.r_lam], [self.gdot_z, zero]])

    @property
    def K_end(self) -> Float[Array, "n3 n3"]:
        """The matrix of the last velocity: K3, or the mass matrix."""
        return self.K3 if self.bordered else self.p_z

    @property
    def end_is_K2(self) -> bool:
        """Whether `K_end` has no fewer constraints than K2, and is the same matrix."""
        holonomic = self.bordered or self.gdot_z.shape[0] == 0
        return holonomic and self.k_z.shape[0] == 0

    @property
    def K2(self) -> Float[Array, "n2 n2"]:
        """The matrix of all constraints."""
        nlam, npsi = self.gdot_z.shape[0], self.k_z.shape[0]
        right = jnp.concatenate([-self.f_psi, jnp.zeros((nlam, npsi), self.p_z.dtype)])
        below = jnp.concatenate([self.k_z, jnp.zeros((npsi, nlam), self.p_z.dtype)], 1)
        corner = jnp.zeros((npsi, npsi), self.p_z.dtype)
        return jnp.block([[self.K3, right], [below, corner]])


def kkt_blocks(
    system: FlatSystem,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    lam: Float[Array, " nlam"],
    psi: Float[Array, " npsi"],
    bordered: bool = True,
) -> KKTBlocks:
    """The blocks of K2 and K3 at one point, by forward-mode automatic differentiation.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to
    constrained systems in mechanics*, equations (2) and (3).
    """
    nz, nlam, npsi = system.nz, system.nlam, system.npsi
    dtype = y.dtype
    identity, mass = jnp.eye(nz, dtype=dtype), system.mass(t, y, z)

    def jacobian(function, at, shape):
        return value_and_jacobian(function, at)[1] if all(shape) else jnp.zeros(shape, dtype)

    def f(psi):
        return system.reaction_force(t, y, z, psi)

    def r(lam):
        return system.constraint_force(t, y, z, lam)

    return KKTBlocks(
        p_z=identity if mass is None else mass,
        r_lam=jacobian(r, lam, (nz, nlam)),
        f_psi=jacobian(f, psi, (nz, npsi)),
        gdot_z=jacobian(lambda z: system.holonomic_rate(t, y, z), z, (nlam, nz)),
        k_z=jacobian(lambda z: system.nonholonomic(t, y, z), z, (npsi, nz)),
        v_z=None if system.v is None else jax.jacfwd(system.v, 2)(t, y, z),
        bordered=bordered,
    )


class AbstractLinearSolver(eqx.Module):
    """Factorises K2 and K3 once and solves with each of them many times.

    A subclass takes `blocks.K_end` in place of K3: for methods of Lobatto type it is `p_z`.
    """

    def blocks(
        self,
        system: FlatSystem,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        lam: Float[Array, " nlam"],
        psi: Float[Array, " npsi"],
        bordered: bool = True,
    ) -> Any:
        """The derivatives of a system in the form that `factor` needs; by default dense ones."""
        return kkt_blocks(system, t, y, z, lam, psi, bordered)

    @abc.abstractmethod
    def factor(self, blocks: Any) -> Any:
        """The factors of K2 and K3, a PyTree."""

    @abc.abstractmethod
    def solve(
        self, factors: Any, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        """Solve with K2 for every row of `rhs2`, with K3 for those of `rhs3`; linear in both.

        Either may have no rows.
        """

    @abc.abstractmethod
    def solve_transposed(
        self, factors: Any, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        """The same with the transposes of K2 and K3, for reverse-mode derivatives."""

    @abc.abstractmethod
    def regular(self, factors: Any) -> Bool[Array, ""]:
        """Whether both matrices are nonsingular to working precision."""


def equilibrate(
    matrix: Float[Array, "n n"],
) -> tuple[Float[Array, "n n"], Float[Array, " n"], Float[Array, " n"]]:
    """Scale rows, then columns, to maximum 1: `scaled = rows * matrix * columns`.

    Masses and constraint gradients differ by many orders of magnitude; without this, pivots
    would be chosen by their units. A zero row or column is left alone.
    """

    def inverse_of_largest(axis, matrix):
        largest = jnp.max(jnp.abs(matrix), axis, initial=0)
        return jnp.where(largest > 0, 1 / jnp.where(largest > 0, largest, 1), 1)

    rows = inverse_of_largest(1, matrix)
    columns = inverse_of_largest(0, rows[:, None] * matrix)
    return rows[:, None] * matrix * columns[None, :], rows, columns


def singular_threshold(size: int, dtype: jnp.dtype) -> float:
    """A pivot of an equilibrated matrix below this is rounding error."""
    return 8 * max(size, 1) * float(jnp.finfo(dtype).eps)
