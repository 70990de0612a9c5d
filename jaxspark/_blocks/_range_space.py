"""The range-space method: multipliers first, by elimination of many joints at a time."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Bool, Float

from ._base import AbstractBlockSolver
from ._gather import take
from ._pattern import BlockMatrix, Pattern
from ._rounds import make_rounds, Round, Rounds
from ._small import inverse, product


# Matrices are stored entry by entry, `(R, R, n)`: what is done to all of them at a time runs along
# the last axis.


class _Eliminated(eqx.Module):
    """Of the nodes of one round: `D^{-1}`, and `W = D^{-1} S` for each neighbour."""

    inverse: Float[Array, "r r n"]
    W: tuple[Float[Array, "r r n"], ...]
    A: tuple[Float[Array, "r r n"], ...]


class _Factors(eqx.Module):
    masses: Float[Array, "nb q q"]
    B: Float[Array, "m 2 q"]
    rounds: tuple[_Eliminated, ...]
    tail: Any
    good: Bool[Array, ""]


class RangeSpace(AbstractBlockSolver):
    r"""Solves `B K^{-1} B^T lam = B K^{-1} f - g` and then for the unknowns.

    Joints that are not neighbours are eliminated together: `log2 N` rounds of batched operations
    for chains, the shape that accelerators want, and on a CPU the fastest way for mechanisms
    whose bodies have few joints each. Loops need no treatment of their own.

    Inaccurate where masses that are joined differ by more than six orders of magnitude; not for
    bodies with very many joints, which make all these neighbours, nor for forces that are not
    ideal.

    ??? cite "Reference"
        M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*, Acta
        Numerica 14 (2005), section 5; R. Hockney, *A fast direct solution of Poisson's equation
        using Fourier analysis*, J. ACM 12 (1965), for the rounds (cyclic reduction).
    """

    def symbolic(self, pattern: Pattern) -> Rounds:
        return make_rounds(pattern)

    def factor_blocks(self, pattern: Pattern, matrix: BlockMatrix) -> _Factors:
        if matrix.C is not None:
            raise ValueError(
                "jaxspark.RangeSpace needs ideal constraint forces: use "
                "jaxspark.AcyclicNullSpace() or jaxspark.KLU()."
            )
        plan = make_rounds(pattern)
        masses, massive = inverse(matrix.K)
        D, L = _schur_complement(plan, pattern, masses, matrix.B)
        rounds, good = [], jnp.all(massive)
        for step in plan.rounds:
            done, D, L, regular = _round(step, D, L)
            rounds.append(done)
            good = good & regular
        tail, regular = _dense_tail(plan, D, L)
        return _Factors(masses, matrix.B, tuple(rounds), tail, good & regular)

    def solve_blocks(
        self, pattern: Pattern, factors: _Factors, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        plan, B = make_rounds(pattern), factors.B
        moved = product(factors.masses, f)
        zero = jnp.zeros((1, *f.shape[1:]), f.dtype)
        there = _ends(moved, zero, pattern.rows)
        rhs = jnp.sum(B[..., None] * there, (1, 2)) - g
        lam = _solve(plan, factors, rhs)
        pushes = B[..., None] * lam[:, None, None, :]
        total = _transposed_ends(pushes, f, zero, pattern.rows)
        return moved - product(factors.masses, total), lam

    def solve_blocks_transposed(
        self, pattern: Pattern, factors: Any, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
    ) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
        return self.solve_blocks(pattern, factors, f, g)

    def regular_blocks(self, pattern: Pattern, factors: _Factors) -> Bool[Array, ""]:
        del pattern
        return factors.good

    def explain_blocks(self, pattern: Pattern) -> str:
        plan = make_rounds(pattern)
        return (
            f"Range space: {pattern.num_blocks} blocks, {pattern.size} unknowns, "
            f"{pattern.num_rows} rows in {len(plan.nodes)} joints, eliminated in "
            f"{len(plan.rounds)} rounds; {plan.tail * plan.R} multipliers are left for a dense "
            "matrix."
        )


def _ends(x: Array, zero: Array, rows: np.ndarray) -> Array:
    """The entries of `x` for the two blocks of each row, zero for the ground."""
    x = jnp.concatenate([zero, x])
    return jnp.stack([take(x, rows[:, side] + 1) for side in range(2)], 1)


def _transposed_ends(pushes: Array, like: Array, zero: Array, rows: np.ndarray) -> Array:
    """For each block the sum of what its rows push: the transpose of `_ends`."""
    return jax.linear_transpose(lambda x: _ends(x, zero, rows), like)(pushes)[0]


def _last(values: Array, index: np.ndarray) -> Array:
    """`values[..., index]`, zero one beyond the end."""
    values = jnp.moveaxis(values, -1, 0)
    if index.max(initial=-1) >= values.shape[0]:
        values = jnp.concatenate([values, jnp.zeros((1, *values.shape[1:]), values.dtype)])
    return jnp.moveaxis(take(values, index), 0, -1)


def _times(a: Float[Array, "r s n"], b: Float[Array, "s t n"]) -> Float[Array, "r t n"]:
    terms = [a[:, j, None] * b[None, j] for j in range(a.shape[1])]
    return sum(terms[1:], terms[0])


def _flip(a: Float[Array, "r s n"]) -> Float[Array, "s r n"]:
    return jnp.swapaxes(a, 0, 1)


def _invert(a: Float[Array, "r r n"]) -> tuple[Float[Array, "r r n"], Bool[Array, ""]]:
    """The inverses of definite matrices, and whether all of them are."""
    r = a.shape[0]
    if r > 2:
        inverted, good = inverse(jnp.moveaxis(a, -1, 0))
        return jnp.moveaxis(inverted, 0, -1), jnp.all(good)
    if r == 1:
        return 1 / jnp.where(a == 0, 1, a), jnp.all(a != 0)
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    good = jnp.abs(determinant) > 32 * jnp.finfo(a.dtype).eps * jnp.abs(a[0, 0] * a[1, 1])
    reciprocal = 1 / jnp.where(determinant == 0, 1, determinant)
    adjugate = jnp.stack([a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]]).reshape(a.shape)
    return adjugate * reciprocal, jnp.all(good)


def _schur_complement(
    plan: Rounds, pattern: Pattern, masses: Float[Array, "nb q q"], B: Float[Array, "m 2 q"]
) -> tuple[Float[Array, "r r n"], Float[Array, "r r e"]]:
    """The blocks of `B K^{-1} B^T` on the diagonal, and those of the edges."""
    dtype = B.dtype
    rows = jnp.concatenate([B, jnp.zeros((1, *B.shape[1:]), dtype)])
    bodies = np.concatenate([pattern.rows, [[-1, -1]]])[plan.row_index]
    B = take(rows, plan.row_index)  # (n, R, 2, q)
    zero = jnp.zeros((1, *masses.shape[1:]), dtype)
    padded = jnp.concatenate([zero, masses])

    def through(a: Array, body: np.ndarray, b: Array) -> Array:
        inverses = take(padded, body + 1)
        return jnp.moveaxis(product(product(a, inverses), jnp.swapaxes(b, 1, 2)), 0, -1)

    D = jnp.asarray(np.moveaxis(plan.padded[:, :, None] * np.eye(plan.R), 0, -1), dtype)
    first = bodies[:, 0]  # Rows of a joint touch the same two blocks, in either order.
    sides = [_side(B, bodies, first[:, side]) for side in range(2)]
    for side in range(2):
        D = D + through(sides[side], first[:, side], sides[side])
    L = jnp.zeros((plan.R, plan.R, len(plan.edges)), dtype)
    for place in range(2):
        body = plan.shared[:, place]
        if (body < 0).all():
            continue
        a, b = (
            _towards(sides, first, plan.edges[:, end], body) for end in range(2)
        )
        L = L + through(a, body, b)
    return D, L


def _side(B: Array, bodies: np.ndarray, body: np.ndarray) -> Array:
    """For each node its rows' entries in one block."""
    matches = bodies == body[:, None, None]
    matches = matches & (body >= 0)[:, None, None]
    which = np.where(matches[:, :, 1], 1, 0)
    if (which == which[:1, :1]).all():
        chosen = B[:, :, int(which.flat[0])] if which.size else B[:, :, 0]
    else:
        chosen = jnp.where(jnp.asarray(which)[..., None] == 1, B[:, :, 1], B[:, :, 0])
    exists = matches.any(2)
    return chosen if exists.all() else jnp.where(exists[..., None], chosen, 0)


def _towards(sides: list[Array], first: np.ndarray, nodes: np.ndarray, body: np.ndarray) -> Array:
    """For each edge the rows of one of its nodes, in the block that it shares."""
    second = first[nodes, 1] == body
    if second.all() or not second.any():
        return take(sides[int(second.all())], nodes)
    a, b = (take(side, nodes) for side in sides)
    chosen = jnp.where(second[:, None, None], b, a)
    return jnp.where((body >= 0)[:, None, None], chosen, 0)


def _round(
    step: Round, D: Float[Array, "r r n"], L: Float[Array, "r r e"]
) -> tuple[_Eliminated, Array, Array, Bool[Array, ""]]:
    """Eliminate the nodes of one round from those that are left."""
    inverted, good = _invert(_last(D, step.gone))
    A, W = [], []
    for slot in step.slots:
        edge = _last(L, slot.edge)
        if slot.flipped.all():
            edge = _flip(edge)
        elif slot.flipped.any():
            edge = jnp.where(slot.flipped, _flip(edge), edge)
        A.append(edge)
        W.append(_times(inverted, edge))
    D, rest = _last(D, step.kept), _last(L, step.kept_edges)
    for slot, edge, solved in zip(step.slots, A, W, strict=True):
        given = _times(_flip(edge), solved)
        for gift in slot.gifts:
            D = D - _last(given, gift)
    for fill in step.fills:
        given = _times(_flip(A[fill.first]), W[fill.second])
        for gift, flipped in fill.gifts:
            part = _last(given, gift)
            if flipped.all():
                part = _flip(part)
            elif flipped.any():
                part = jnp.where(flipped, _flip(part), part)
            rest = rest - part
    # Fused with the next round, this one would be computed again for each of its entries.
    D, rest = jax.lax.optimization_barrier((D, rest))
    return _Eliminated(inverted, tuple(W), tuple(A)), D, rest, good


def _dense_tail(plan: Rounds, D: Array, L: Array) -> tuple[Any, Bool[Array, ""]]:
    """The inverse of what is left: of one node, or a dense matrix."""
    count, R = plan.tail, plan.R
    if count <= 1:
        return _invert(D)
    full = jnp.zeros((count, count, R, R), D.dtype)
    nodes = np.arange(count)
    full = full.at[nodes, nodes].set(jnp.moveaxis(D, -1, 0))
    a, b = plan.tail_edges.T
    blocks = jnp.moveaxis(L, -1, 0)
    full = full.at[a, b].set(blocks).at[b, a].set(jnp.swapaxes(blocks, 1, 2))
    matrix = jnp.swapaxes(full, 1, 2).reshape(count * R, count * R)
    lu, pivots = jsl.lu_factor(matrix)
    diagonal = jnp.abs(jnp.diagonal(lu))
    floor = 8 * count * R * jnp.finfo(D.dtype).eps * jnp.max(diagonal)
    return (lu, pivots), jnp.min(diagonal) > floor


def _solve(plan: Rounds, factors: _Factors, rhs: Float[Array, "m k"]) -> Float[Array, "m k"]:
    """Forward through the rounds, and back."""
    rows = jnp.concatenate([rhs, jnp.zeros((1, rhs.shape[1]), rhs.dtype)])
    b = jnp.moveaxis(take(rows, plan.row_index), 0, -1)  # (R, k, n)
    waiting = []
    for step, done in zip(plan.rounds, factors.rounds, strict=True):
        own = _last(b, step.gone)
        b = _last(b, step.kept)
        for slot, W in zip(step.slots, done.W, strict=True):
            given = _times(_flip(W), own)
            for gift in slot.gifts:
                b = b - _last(given, gift)
        b, own = jax.lax.optimization_barrier((b, _times(done.inverse, own)))
        waiting.append(own)
    if plan.tail <= 1:
        x = _times(factors.tail, b)
    else:
        flat = jnp.moveaxis(b, -1, 0).reshape(-1, b.shape[1])
        flat = jsl.lu_solve(factors.tail, flat)
        x = jnp.moveaxis(flat.reshape(plan.tail, plan.R, b.shape[1]), 0, -1)
    for step, done, own in zip(
        reversed(plan.rounds), reversed(factors.rounds), reversed(waiting), strict=True
    ):
        for slot, W in zip(step.slots, done.W, strict=True):
            own = own - _times(W, _last(x, slot.neighbour))
        x = jax.lax.optimization_barrier(_last(jnp.concatenate([own, x], -1), step.merge))
    return take(jnp.moveaxis(x, -1, 0).reshape(-1, x.shape[1]), plan.row_back)
