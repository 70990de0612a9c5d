"""The range-space method: multipliers first, by elimination of many joints at a time."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Bool, Float

from .._jax_internals import computed_once
from ._base import AbstractBlockSolver
from ._entrywise import at, diagonal_of, flip, invert, last, times
from ._gather import take
from ._pattern import BlockMatrix, Pattern
from ._rounds import make_rounds, Round, Rounds
from ._schur import lighten, reciprocal_of, schur_complement, sides_of
from ._sweep import factor_sweep, solve_sweep


class _Eliminated(eqx.Module):
    """Of the nodes of one round: `D^{-1}`, and `W = D^{-1} S` for each neighbour."""

    inverse: Float[Array, "r r n"]
    W: tuple[Float[Array, "r r n"], ...]


class _Factors(eqx.Module):
    masses: Float[Array, "q q nb"] | Float[Array, "q nb"]
    sides: tuple[Float[Array, "r q n"], ...]
    rounds: tuple[_Eliminated, ...]
    tail: Any
    smallest: Float[Array, ""]


class RangeSpace(AbstractBlockSolver):
    r"""Solves `B K^{-1} B^T lam = B K^{-1} f - g` for the multipliers, then for the unknowns.

    Joints that are not neighbours are eliminated together: `log2 N` rounds of batched operations
    for chains, the shape that accelerators want, and on a CPU the fastest way for mechanisms
    whose bodies have few joints each. Loops need no treatment of their own.

    It is inaccurate where masses that are joined differ by more than six orders of magnitude. It
    is not for bodies with very many joints, all of which are neighbours then, nor for constraint
    forces that are not ideal.

    **Arguments:**

    - `order`: `"rounds"`, or `"sweep"`: one joint after the other, for joints along paths.
        `"auto"` sweeps where it can on a CPU.

    **Raises:** `ValueError` for another `order` and, where it meets a system, for constraint
    forces that are not ideal, or a sweep where joints branch.

    ??? cite "Reference"
        M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*, Acta
        Numerica 14 (2005), section 5; R. Hockney, *A fast direct solution of Poisson's equation
        using Fourier analysis*, J. ACM 12 (1965), for the rounds (cyclic reduction).
    """

    order: Literal["auto", "sweep", "rounds"] = eqx.field(static=True, default="auto")

    def __check_init__(self):
        if self.order not in ("auto", "sweep", "rounds"):
            raise ValueError(f'order must be "auto", "sweep" or "rounds"; got {self.order!r}.')

    def symbolic(self, pattern: Pattern) -> Rounds:
        plan = make_rounds(pattern)
        if self.order == "sweep" and plan.path is None:
            raise ValueError("order='sweep' is for joints along paths; this mechanism branches.")
        return plan

    def _sweeps(self, plan: Rounds) -> bool:
        if self.order == "auto":
            return plan.path is not None and jax.default_backend() == "cpu"
        return self.order == "sweep"

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> _Factors:
        if matrix.C is not None:
            raise ValueError(
                "jaxspark.linear.RangeSpace needs ideal constraint forces: use "
                "jaxspark.linear.AcyclicNullSpace() or jaxspark.linear.KLU()."
            )
        plan = self.symbolic(pattern)
        masses, massive = reciprocal_of(matrix)
        sides = sides_of(plan, pattern, matrix.B)
        masses, sides = computed_once((masses, sides))
        D, L = schur_complement(plan, masses, sides)
        D, L = computed_once((D, L))
        if self._sweeps(plan):
            tail, pivot = factor_sweep(*_tridiagonal(plan, D, L))
            return _Factors(masses, sides, (), tail, jnp.minimum(massive, pivot))
        rounds, smallest, size = [], massive, diagonal_of(D)
        for step in plan.rounds:
            done, D, L, pivot = _round(step, D, L, last(size, step.gone))
            size = last(size, step.kept)
            rounds.append(done)
            smallest = jnp.minimum(smallest, pivot)
        tail, pivot = _dense_tail(plan, D, L, size)
        return _Factors(masses, sides, tuple(rounds), tail, jnp.minimum(smallest, pivot))

    def solve_blocks(
        self, pattern: Pattern, factors: _Factors, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        plan, sides = make_rounds(pattern), factors.sides
        zero = jnp.zeros((1, g.shape[1]), g.dtype)
        b = -jnp.moveaxis(take(jnp.concatenate([g, zero]), plan.row_index), 0, -1)
        moved = lighten(factors.masses, jnp.moveaxis(f, 0, -1))
        for side, rows in enumerate(sides):
            b = b + times(rows, at(moved, plan.nodes[:, side]))
        b, moved = jax.lax.optimization_barrier((b, moved))
        if self._sweeps(plan):
            lam = _along_path(plan, factors.tail, b)
        else:
            lam = _solve(plan, factors, b)

        def pushes(side):
            def there(x):
                return at(x, plan.nodes[:, side])

            return jax.linear_transpose(there, moved)(times(flip(sides[side]), lam))[0]

        total = jax.lax.optimization_barrier(pushes(0) + pushes(1))
        x = moved - lighten(factors.masses, total)
        lam = jnp.moveaxis(lam, -1, 0).reshape(-1, g.shape[1])
        return jnp.moveaxis(x, -1, 0), take(lam, plan.row_back)

    def solve_blocks_transposed(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        return self.solve_blocks(pattern, factors, f, g)

    def regular_blocks(self, pattern: Pattern, factors: _Factors) -> Bool[Array, ""]:
        return factors.smallest > 32 * pattern.width * jnp.finfo(factors.smallest.dtype).eps

    def explain_blocks(self, pattern: Pattern) -> str:
        plan = self.symbolic(pattern)
        how = "one after the other"
        if not self._sweeps(plan):
            how = f"in {len(plan.rounds)} rounds; {plan.tail * plan.R} multipliers are left for a "
            how += "dense matrix"
        return (
            f"Range space: {pattern.num_blocks} blocks, {pattern.size} unknowns, "
            f"{pattern.num_rows} rows in {len(plan.nodes)} joints, eliminated {how}."
        )


def _round(
    step: Round, D: Float[Array, "r r n"], L: Float[Array, "r r e"], size: Float[Array, "r g"]
) -> tuple[_Eliminated, Array, Array, Float[Array, ""]]:
    """Eliminate the nodes of one round from those that are left."""
    inverted, pivot = invert(last(D, step.gone), size)
    A, W = [], []
    for slot in step.slots:
        edge = last(L, slot.edge)
        if slot.flipped.all():
            edge = flip(edge)
        elif slot.flipped.any():
            edge = jnp.where(slot.flipped, flip(edge), edge)
        A.append(edge)
        W.append(times(inverted, edge))
    D, rest = last(D, step.kept), last(L, step.kept_edges)
    for slot, edge, solved in zip(step.slots, A, W, strict=True):
        given = times(flip(edge), solved)
        for gift in slot.gifts:
            D = D - last(given, gift)
    for fill in step.fills:
        given = times(flip(A[fill.first]), W[fill.second])
        for gift, flipped in fill.gifts:
            part = last(given, gift)
            if flipped.all():
                part = flip(part)
            elif flipped.any():
                part = jnp.where(flipped, flip(part), part)
            rest = rest - part
    # Fused with the next round, this one would be computed again for each of its entries.
    D, rest = jax.lax.optimization_barrier((D, rest))
    return _Eliminated(inverted, tuple(W)), D, rest, pivot


def _tridiagonal(
    plan: Rounds, D: Float[Array, "r r n"], L: Float[Array, "r r e"]
) -> tuple[Float[Array, "n r r"], Float[Array, "n r r"]]:
    """The blocks along the path, and those before them."""
    path = plan.path
    assert path is not None
    number = {tuple(edge): i for i, edge in enumerate(plan.edges.tolist())}
    pairs = [(int(a), int(b)) for a, b in zip(path[:-1], path[1:], strict=True)]
    count = len(plan.edges)
    # An edge is stored from its lower node.
    before = [number.get((min(a, b), max(a, b)), count) for a, b in pairs]
    falling = np.array([True, *(a > b for a, b in pairs)])
    L = last(L, np.array([count, *before]))
    if not falling[1:].any():
        L = flip(L)
    elif not falling.all():
        L = jnp.where(falling, L, flip(L))
    return jnp.moveaxis(last(D, path), -1, 0), jnp.moveaxis(L, -1, 0)


def _along_path(plan: Rounds, factors: Any, b: Float[Array, "r k n"]) -> Float[Array, "r k n"]:
    assert plan.path is not None
    x = solve_sweep(factors, jnp.moveaxis(last(b, plan.path), -1, 0))
    return last(jnp.moveaxis(x, 0, -1), np.argsort(plan.path))


def _dense_tail(plan: Rounds, D: Array, L: Array, size: Array) -> tuple[Any, Float[Array, ""]]:
    """The inverse of what is left: of one node, or a dense matrix."""
    count, R = plan.tail, plan.R
    if count <= 1:
        return invert(D, size)
    full = jnp.zeros((count, count, R, R), D.dtype)
    nodes = np.arange(count)
    full = full.at[nodes, nodes].set(jnp.moveaxis(D, -1, 0))
    a, b = plan.tail_edges.T
    blocks = jnp.moveaxis(L, -1, 0)
    full = full.at[a, b].set(blocks).at[b, a].set(jnp.swapaxes(blocks, 1, 2))
    matrix = jnp.swapaxes(full, 1, 2).reshape(count * R, count * R)
    lu, pivots = jsl.lu_factor(matrix)
    # On a GPU the factors of a matrix with NaN in it can be finite.
    lu = jnp.where(jnp.all(jnp.isfinite(matrix)), lu, jnp.nan)
    return (lu, pivots), jnp.min(jnp.abs(jnp.diagonal(lu))) / jnp.max(size)


def _solve(plan: Rounds, factors: _Factors, b: Float[Array, "r k n"]) -> Float[Array, "r k n"]:
    """Forward through the rounds, and back."""
    waiting = []
    for step, done in zip(plan.rounds, factors.rounds, strict=True):
        own = last(b, step.gone)
        b = last(b, step.kept)
        for slot, W in zip(step.slots, done.W, strict=True):
            given = times(flip(W), own)
            for gift in slot.gifts:
                b = b - last(given, gift)
        b, own = jax.lax.optimization_barrier((b, times(done.inverse, own)))
        waiting.append(own)
    if plan.tail <= 1:
        x = times(factors.tail, b)
    else:
        flat = jnp.moveaxis(b, -1, 0).reshape(-1, b.shape[1])
        flat = jsl.lu_solve(factors.tail, flat)
        x = jnp.moveaxis(flat.reshape(plan.tail, plan.R, b.shape[1]), 0, -1)
    for step, done, own in zip(
        reversed(plan.rounds), reversed(factors.rounds), reversed(waiting), strict=True
    ):
        for slot, W in zip(step.slots, done.W, strict=True):
            own = own - times(W, last(x, slot.neighbour))
        x = jax.lax.optimization_barrier(last(jnp.concatenate([own, x], -1), step.merge))
    return x
