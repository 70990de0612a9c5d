"""The null-space method as published: a sparse basis of the null space, and the reduced system."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ._base import AbstractBlockSolver
from ._operations import (
    add,
    add_symbolic,
    columns_symbolic,
    factorise,
    Factors,
    multiply,
    multiply_transposed,
    null_basis,
    null_basis_symbolic,
    permute_symbolic,
    Sparsity,
    triple,
    triple_symbolic,
)
from ._pattern import BlockMatrix, Pattern
from ._pivots import choose_pivots, Order, order_rows, scalar_entries


def _as_static(pivots: str | Sequence[int] | np.ndarray) -> str | tuple[int, ...]:
    return pivots if isinstance(pivots, str) else tuple(int(column) for column in pivots)


class ExplicitNullSpace(AbstractBlockSolver):
    r"""The algorithm of Areias: null space by a triangular solve, then a dense reduced system.

    Each constraint determines one unknown, its pivot. Rows and columns are ordered such that
    `B = [L1 | B2]` with `L1` lower triangular. Then `Z = [-L1^-1 B2; I]` is a basis of the null
    space, found by one solve with sparse right-hand sides, and with `y = [L1^-1 g; 0]`

    $$Z^T K Z u = Z^T (f - K y), \qquad x = y + Z u, \qquad L_1^T \lambda = (f - K x)_1.$$

    Where the forces are not ideal the basis on the left is that of `C`, on the same pivots.

    `Z` of a chain of `N` bodies has about `N^2` entries and the reduced matrix is dense: good
    where few unknowns remain free. Pivots are chosen by the structure alone and may become small
    in some configurations; errors grow as their inverse squares, and where no digit would be
    left the matrix counts as singular.

    **Arguments:**

    - `pivots`: `"matching"`, `"first_active"` (as published: needs bodies numbered from the
        tips), or the column of each row among all unknowns.
    - `loops`: what to do with constraints that depend on each other in a cycle: `"cluster"`
        factorises `L1` as a dense matrix, `"error"` raises.

    ??? cite "Reference"

        P. Areias, *A dimensional reduction algorithm and software for acyclically dependent
        constraints*, equations (3) to (11). Source of the equations only.
    """

    pivots: str | tuple[int, ...] = eqx.field(static=True, default="matching", converter=_as_static)
    loops: Literal["cluster", "error"] = eqx.field(static=True, default="cluster")

    def symbolic(self, pattern: Pattern) -> "_Plan":
        return _plan(pattern, self.pivots, self.loops)

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> "_Factors":
        plan = self.symbolic(pattern)
        stiffness = matrix.K.ravel()[plan.stiffness_sources]
        right, force = _basis(plan, matrix.B), None
        if matrix.C is not None:
            force = _basis(plan, matrix.C)
        left = right if force is None else force
        values = triple(
            plan.product, plan.basis, plan.stiffness, left.values, stiffness, right.values
        )
        reduced = _factor_equilibrated(plan.product.dense(values))
        regular = _regular(right) & _regular(left) & _regular_reduced(reduced)
        return _Factors(stiffness, right, force, reduced, jax.lax.stop_gradient(regular))

    def solve_blocks(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        plan, k = self.symbolic(pattern), f.shape[2]
        free, m = plan.basis.shape[1], pattern.num_rows
        right = factors.right
        left = right if factors.force is None else factors.force

        def unbalanced(x):
            return force - multiply(plan.stiffness, factors.stiffness, x)

        force = f.reshape(-1, k)[plan.positions]
        determined = right.lower.solve(g[plan.order.rows])
        particular = jnp.concatenate([determined, jnp.zeros((free, k), f.dtype)])
        load = multiply_transposed(plan.basis, left.values, unbalanced(particular))
        motion = factors.reduced.solve(load)
        x = particular + multiply(plan.basis, right.values, motion)
        multipliers = left.lower.solve(unbalanced(x)[:m], transposed=True)
        padded = jnp.zeros((f.shape[0] * f.shape[1], k), f.dtype)
        padded = padded.at[plan.positions].set(x, unique_indices=True)
        return padded.reshape(f.shape), multipliers[np.argsort(plan.order.rows)]

    def regular_blocks(self, pattern: Pattern, factors: Any) -> Bool[Array, ""]:
        del pattern
        return factors.regular

    def explain_blocks(self, pattern: Pattern) -> str:
        plan = self.symbolic(pattern)
        sizes = np.bincount(plan.order.clusters)
        largest = int(sizes.max(initial=0))
        how = self.pivots if isinstance(self.pivots, str) else "given"
        n, free = plan.basis.shape
        cyclic = f"{np.sum(sizes > 1)} cycles, the largest of {largest} rows: LU factors of L1"
        return (
            f"Explicit null space: {pattern.num_blocks} blocks, {n} unknowns, "
            f"{pattern.num_rows} rows in {plan.order.levels} levels, pivots {how}; "
            f"{cyclic if largest > 1 else 'no cycles: L1 is triangular'}. "
            f"Z has {plan.basis.size} entries of {n * free}, the reduced matrix "
            f"{plan.product.size} of {free * free}; it is factorised as a dense matrix."
        )


class _Basis(eqx.Module):
    """`L1`, and the values of the basis of the null space."""

    lower: Factors
    values: Float[Array, " nnz"]


class _Factors(eqx.Module):
    stiffness: Float[Array, " nnz"]
    right: _Basis
    # `None` where the forces are ideal.
    force: _Basis | None
    reduced: Factors
    regular: Bool[Array, ""]


def _static(**options: Any) -> Any:
    return dataclasses.field(compare=False, repr=False, **options)


@dataclasses.dataclass(frozen=True)
class _Plan:
    """All that the structure decides. Unknowns are in the order of `[L1 | B2]`, pivots first.

    - `order`: of the rows.
    - `positions`: of the unknowns, in this order, among the padded ones.
    - `constraint`: the structure of `B`, from that of its entries in first and second blocks:
        `parts` has the positions of their values, `places` where they go, `constraint_sources`
        the permutation.
    - `lower`, `right`, `basis`, `stiffness`, `product`: the structure of `L1`, `B2`, `Z`, `K`
        and `Z^T K Z`, and where the values of the first two and of `K` come from.
    """

    pattern: Pattern
    pivots: str | tuple[int, ...]
    loops: str
    order: Order = _static()
    positions: Int[np.ndarray, " n"] = _static()
    constraint: Sparsity = _static()
    parts: tuple[np.ndarray, np.ndarray] = _static()
    places: tuple[np.ndarray, np.ndarray] = _static()
    constraint_sources: Int[np.ndarray, " nnz"] = _static()
    lower: Sparsity = _static()
    lower_sources: Int[np.ndarray, " nnz_l"] = _static()
    right: Sparsity = _static()
    right_sources: Int[np.ndarray, " nnz_r"] = _static()
    basis: Sparsity = _static()
    stiffness: Sparsity = _static()
    stiffness_sources: Int[np.ndarray, " nnz_k"] = _static()
    product: Sparsity = _static()

    @property
    def triangular(self) -> bool:
        """Whether no rows depend on each other."""
        return len(np.unique(self.order.clusters)) == len(self.order.clusters)


@functools.lru_cache(maxsize=128)
def _plan(
    pattern: Pattern, pivots: str | tuple[int, ...], loops: Literal["cluster", "error"]
) -> _Plan:
    m, n = pattern.num_rows, pattern.size
    chosen = choose_pivots(pattern, pivots)
    order = order_rows(pattern, chosen, loops)
    columns = np.concatenate([chosen[order.rows], np.setdiff1d(np.arange(n), chosen)])
    entries = [scalar_entries(pattern, side) for side in (0, 1)]
    first, second = (Sparsity((m, n), rows, places) for rows, places, _ in entries)
    constraint, *places = add_symbolic(first, second)
    permuted, constraint_sources = permute_symbolic(constraint, order.rows, columns)
    lower, lower_sources = columns_symbolic(permuted, 0, m)
    right, right_sources = columns_symbolic(permuted, m, n)
    basis = null_basis_symbolic(lower, right, order.clusters)
    stiffness, unpermuted = _stiffness(pattern)
    stiffness, stiffness_sources = permute_symbolic(stiffness, columns, columns)
    return _Plan(
        pattern=pattern,
        pivots=pivots,
        loops=loops,
        order=order,
        positions=pattern.unknowns[columns],
        constraint=constraint,
        parts=(entries[0][2], entries[1][2]),
        places=(places[0], places[1]),
        constraint_sources=constraint_sources,
        lower=lower,
        lower_sources=lower_sources,
        right=right,
        right_sources=right_sources,
        basis=basis,
        stiffness=stiffness,
        stiffness_sources=unpermuted[stiffness_sources],
        product=triple_symbolic(basis, stiffness),
    )


def _stiffness(pattern: Pattern) -> tuple[Sparsity, Int[np.ndarray, " nnz"]]:
    """The structure of `K` without padding, and where its values are among the padded ones."""
    real = np.arange(pattern.width) < pattern.sizes[:, None]
    inside = real[:, :, None] & real[:, None, :]
    block, row, column = np.nonzero(inside)
    start = (np.cumsum(pattern.sizes) - pattern.sizes)[block]
    n = pattern.size
    return Sparsity((n, n), start + row, start + column), np.flatnonzero(inside)


def _basis(plan: _Plan, rows: Float[Array, "m 2 q"]) -> _Basis:
    """`L1` with its rows scaled by the largest entry of `[L1 | B2]`, and the null space."""
    first, second = (rows[:, side].ravel()[plan.parts[side]] for side in (0, 1))
    values = add(plan.constraint, *plan.places, first, second)[plan.constraint_sources]
    lower, right = values[plan.lower_sources], values[plan.right_sources]
    largest = jnp.zeros(len(plan.order.rows), values.dtype)
    largest = largest.at[plan.lower.rows].max(jnp.abs(jax.lax.stop_gradient(lower)))
    largest = largest.at[plan.right.rows].max(jnp.abs(jax.lax.stop_gradient(right)))
    ones = jnp.ones_like(largest)
    factors = factorise(plan.lower.dense(lower), _reciprocal(largest), ones, plan.triangular)
    return _Basis(factors, null_basis(plan.basis, factors, plan.right, right))


def _factor_equilibrated(matrix: Float[Array, "n n"]) -> Factors:
    """LU factors, after rows and then columns are scaled to maximum 1."""
    size = jnp.abs(jax.lax.stop_gradient(matrix))
    rows = _reciprocal(jnp.max(size, 1, initial=0))
    columns = _reciprocal(jnp.max(rows[:, None] * size, 0, initial=0))
    return factorise(matrix, rows, columns, triangular=False)


def _reciprocal(largest: Float[Array, " n"]) -> Float[Array, " n"]:
    return 1 / jnp.where(largest > 0, largest, 1)


def _regular(basis: _Basis) -> Bool[Array, ""]:
    """Whether the pivots of `L1` leave the solution some digits: errors are `eps / pivot^2`."""
    threshold = 8 * float(jnp.finfo(basis.values.dtype).eps) ** 0.5
    return jnp.all(basis.lower.pivots() > threshold) & jnp.all(jnp.isfinite(basis.values))


def _regular_reduced(reduced: Factors) -> Bool[Array, ""]:
    pivots = reduced.pivots()
    return jnp.all(pivots > 8 * max(len(pivots), 1) * float(jnp.finfo(pivots.dtype).eps))
