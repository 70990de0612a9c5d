"""Solvers for block-structured K2 and K3, behind the interface of the dense ones."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._blocks import (
    AbstractBlockSolver,
    BlockMatrix,
    BlockValues,
    factor_saddle,
    inverse,
    multiply,
    Pattern,
    product,
    SaddleFactors,
    solve_saddle,
    Structure,
    transpose,
)
from .._custom_types import FloatScalar
from .._system import FlatSystem
from ._base import AbstractBlocks, AbstractLinearSolver
from ._maps import AbstractMap, BlockDiagonal, RowsTransposed


class StructuredBlocks(AbstractBlocks):
    """The derivatives of a system at one point, block by block.

    - `values`: of the blocks.
    - `structure`: where they belong.
    - `bordered`: whether K3 is needed, or, in its place, `p_z` alone.
    """

    values: BlockValues
    structure: Structure = eqx.field(static=True)
    bordered: bool = eqx.field(static=True, default=True)

    @property
    def mass(self) -> AbstractMap:
        return BlockDiagonal(self.values.matrix.K, self.structure.z, self.structure.z)

    @property
    def kinematics(self) -> AbstractMap | None:
        if self.values.v_z is None:
            return None
        return BlockDiagonal(self.values.v_z, self.structure.y, self.structure.z)

    @property
    def push(self) -> AbstractMap:
        count = self.structure.holonomic.num_rows
        bodies = tuple(map(tuple, self.structure.holonomic.rows.tolist()))
        return RowsTransposed(self.values.matrix.forces[:count], bodies, self.structure.z)

    @property
    def end_is_K2(self) -> bool:
        rows, holonomic = self.structure.pattern.num_rows, self.structure.holonomic.num_rows
        return (self.bordered or holonomic == 0) and rows == holonomic


class _Factors(eqx.Module):
    """Those of K2, of K3 if it is another matrix, or the inverses of the blocks of `p_z`."""

    K2: Any
    K3: Any
    masses: Float[Array, "nb q q"] | None
    massive: Bool[Array, ""]


class BlockLinearSolver(AbstractLinearSolver):
    """A solver for blocks, applied to the K2 and K3 of a system whose structure is known.

    **Arguments:**

    - `solver`: for instance [`jaxspark.linear.AcyclicNullSpace`][].
    - `structure`: of the system.
    """

    solver: AbstractBlockSolver
    structure: Structure = eqx.field(static=True)

    @property
    def redundant(self) -> bool:
        """Whether it solves for constraints that depend on each other."""
        return getattr(self.solver, "redundant", False)

    def blocks(
        self,
        system: FlatSystem,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        lam: Float[Array, " nlam"],
        psi: Float[Array, " npsi"],
        bordered: bool = True,
    ) -> StructuredBlocks:
        del lam, psi
        return StructuredBlocks(_values(system, t, y, z), self.structure, bordered)

    def factor(self, blocks: StructuredBlocks) -> _Factors:
        structure, values = self.structure, blocks.values
        K2 = self.solver.factor_blocks(structure.pattern, values.matrix)
        if blocks.end_is_K2:
            return _Factors(K2, None, None, jnp.asarray(True))
        if blocks.bordered:
            matrix = values.holonomic(structure.holonomic.num_rows)
            K3 = self.solver.factor_blocks(structure.holonomic, matrix)
            return _Factors(K2, K3, None, jnp.asarray(True))
        masses, massive = inverse(values.matrix.K)
        return _Factors(K2, None, masses, jnp.all(massive))

    def solve(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        return self._both(self.solver.solve_blocks, factors, rhs2, rhs3, False)

    def solve_transposed(
        self, factors: _Factors, rhs2: Float[Array, "s n2"], rhs3: Float[Array, "m n3"]
    ) -> tuple[Float[Array, "s n2"], Float[Array, "m n3"]]:
        return self._both(self.solver.solve_blocks_transposed, factors, rhs2, rhs3, True)

    def _both(self, solve, factors: _Factors, rhs2, rhs3, transposed: bool):
        """Where K2 is needed in place of K3, too, it takes one more right-hand side."""
        pattern, holonomic = self.structure.pattern, self.structure.holonomic

        def apply(pattern, factors, rhs):
            f, g = self._split(rhs)
            x, lam = solve(pattern, factors, f, g)
            return jnp.concatenate([self.structure.z.scatter(x), lam.T], 1)

        if factors.masses is not None:
            x2 = apply(pattern, factors.K2, rhs2) if rhs2.shape[0] else rhs2
            if not rhs3.shape[0]:
                return x2, rhs3
            inverses = transpose(factors.masses) if transposed else factors.masses
            return x2, self.structure.z.scatter(product(inverses, self.structure.z.gather(rhs3)))
        if factors.K3 is None:
            both = apply(pattern, factors.K2, jnp.concatenate([rhs2, rhs3]))
            return both[: rhs2.shape[0]], both[rhs2.shape[0] :]
        x2 = apply(pattern, factors.K2, rhs2) if rhs2.shape[0] else rhs2
        x3 = apply(holonomic, factors.K3, rhs3) if rhs3.shape[0] else rhs3
        return x2, x3

    def _split(self, rhs: Float[Array, "s n"]) -> tuple[Array, Array]:
        nz = self.structure.z.size
        return self.structure.z.gather(rhs[:, :nz]), rhs[:, nz:].T

    def regular(self, factors: _Factors) -> Bool[Array, ""]:
        structure = self.structure
        good = factors.massive & self.solver.regular_blocks(structure.pattern, factors.K2)
        if factors.K3 is not None:
            good = good & self.solver.regular_blocks(structure.holonomic, factors.K3)
        return good

    def saddle(
        self, system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> "Saddle":
        """The matrix of the accelerations and multipliers at one point, factorised."""
        values = _values(system, t, y, z)
        factors = factor_saddle(self.solver, self.structure.pattern, values.matrix)
        return Saddle(self, values, factors)

    def explain(self) -> str:
        """What is done with the system, and why."""
        return self.solver.explain_blocks(self.structure.pattern)


def _values(system: FlatSystem, t: Any, y: Any, z: Any) -> BlockValues:
    assert system.blocks is not None
    # What is constant comes as an array of NumPy.
    return jax.tree.map(jnp.asarray, system.blocks(t, y, z))


class Saddle(eqx.Module):
    """`[[p_z, C^T], [C, 0]]` with `C = [g_y v_z; k_z]` at one point, factorised.

    - `solver`: by which.
    - `values`: its blocks, through which derivatives flow.
    - `factors`: through which none do.
    - `pattern`: of its rows; `None` for all of the system's.
    """

    solver: BlockLinearSolver
    values: BlockValues
    factors: SaddleFactors
    pattern: Pattern | None = eqx.field(static=True, default=None)

    def along(self, z: Float[Array, "k nz"]) -> Float[Array, "k ny"]:
        """`v_z` times each row."""
        v_z, structure = self.values.v_z, self.solver.structure
        return z if v_z is None else BlockDiagonal(v_z, structure.y, structure.z).times(z)

    def solve(
        self, f: Float[Array, " nz"], g: Float[Array, " m"], or_nan: bool = False
    ) -> tuple[Float[Array, " nz"], Float[Array, " m"]]:
        """`(x, lam)` with `p_z x + C^T lam = f`, `C x = g`; differentiable.

        - `or_nan`: whether NaN has no derivatives, instead of NaN.
        """
        x, lam = self.solve_many(f[None, :], g[None, :], or_nan)
        return x[0], lam[0]

    def of_minimum_norm(self, multipliers: Float[Array, " m"]) -> Float[Array, " m"]:
        """Multipliers of minimum norm, unchanged, with the derivatives that this choice has.

        Those of the equations say nothing of what a redundant combination of the multipliers,
        which is zero, becomes. Here `lam = C u`, with `u` that of minimum norm.

        Source: G. H. Golub & V. Pereyra, *The differentiation of pseudo-inverses and nonlinear
        least squares problems whose variables separate*, SIAM J. Numer. Anal. 10 (1973), (4.12).
        """
        if not self.solver.redundant:
            return multipliers
        pattern, given = self.pattern or self.solver.structure.pattern, self.values.matrix
        nb, width = given.K.shape[:2]
        identity = jnp.broadcast_to(jnp.eye(width, dtype=given.K.dtype), given.K.shape)
        matrix = BlockMatrix(identity, given.forces)
        factors = factor_saddle(self.solver.solver, pattern, matrix)
        nothing = jnp.zeros((nb, width, 1), given.K.dtype)
        lam = multipliers[:, None]
        u, _ = solve_saddle(self.solver.solver, pattern, matrix, factors, nothing, lam, True)
        return multiply(pattern, matrix, u, jnp.zeros_like(lam))[1][:, 0]

    def solve_many(
        self, f: Float[Array, "k nz"], g: Float[Array, "k m"], or_nan: bool = False
    ) -> tuple[Float[Array, "k nz"], Float[Array, "k m"]]:
        """The same for several right-hand sides, one in each row."""
        structure = self.solver.structure
        x, lam = solve_saddle(
            self.solver.solver, self.pattern or structure.pattern, self.values.matrix, self.factors,
            structure.z.gather(f), g.T, or_nan,
        )  # fmt: skip
        return structure.z.scatter(x), lam.T
