"""The range-space method: multipliers first, by elimination of many joints at a time."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Bool, Float

from ._base import AbstractBlockSolver
from ._gather import take
from ._once import computed_once
from ._pattern import BlockMatrix, Pattern
from ._rounds import make_rounds, Round, Rounds
from ._small import inverse
from ._sweep import factor_sweep, solve_sweep


# Matrices are stored entry by entry, `(R, R, n)`: what is done to all of them at a time runs along
# the last axis.


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
    r"""Solves `B K^{-1} B^T lam = B K^{-1} f - g` and then for the unknowns.

    Joints that are not neighbours are eliminated together: `log2 N` rounds of batched operations
    for chains, the shape that accelerators want, and on a CPU the fastest way for mechanisms
    whose bodies have few joints each. Loops need no treatment of their own.

    Inaccurate where masses that are joined differ by more than six orders of magnitude; not for
    bodies with very many joints, which make all these neighbours, nor for forces that are not
    ideal.

    **Arguments:**

    - `order`: `"rounds"`, or `"sweep"`: one joint after the other, for joints along paths.
        `"auto"` sweeps where it can on a CPU.

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
                "jaxspark.RangeSpace needs ideal constraint forces: use "
                "jaxspark.AcyclicNullSpace() or jaxspark.KLU()."
            )
        plan = self.symbolic(pattern)
        masses, massive = _reciprocal(matrix)
        sides = _sides(plan, pattern, matrix.B)
        masses, sides = computed_once((masses, sides))
        D, L = _schur_complement(plan, masses, sides)
        D, L = computed_once((D, L))
        if self._sweeps(plan):
            tail, pivot = factor_sweep(*_tridiagonal(plan, D, L))
            return _Factors(masses, sides, (), tail, jnp.minimum(massive, pivot))
        rounds, smallest, size = [], massive, _diagonal(D)
        for step in plan.rounds:
            done, D, L, pivot = _round(step, D, L, _last(size, step.gone))
            size = _last(size, step.kept)
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
        moved = _lighten(factors.masses, jnp.moveaxis(f, 0, -1))
        for side, rows in enumerate(sides):
            b = b + _times(rows, _at(moved, plan.nodes[:, side]))
        b, moved = jax.lax.optimization_barrier((b, moved))
        if self._sweeps(plan):
            lam = _along_path(plan, factors.tail, b)
        else:
            lam = _solve(plan, factors, b)

        def pushes(side):
            def there(x):
                return _at(x, plan.nodes[:, side])

            return jax.linear_transpose(there, moved)(_times(_flip(sides[side]), lam))[0]

        total = jax.lax.optimization_barrier(pushes(0) + pushes(1))
        x = moved - _lighten(factors.masses, total)
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


def _at(x: Float[Array, "*q nb"], body: np.ndarray) -> Float[Array, "*q n"]:
    """The entries of `x` for a block of each node, zero for the ground."""
    if (body >= 0).all():
        return _last(x, body)
    x = jnp.concatenate([jnp.zeros((*x.shape[:-1], 1), x.dtype), x], -1)
    return _last(x, body + 1)


def _last(values: Array, index: np.ndarray) -> Array:
    """`values[..., index]`, zero one beyond the end."""
    size = values.shape[-1]
    missing = index == size
    if missing.all():
        return jnp.zeros((*values.shape[:-1], len(index)), values.dtype)
    if missing.any():
        # A zero on the side on which it keeps the positions regular.
        before = missing[0] and not missing[-1]
        index = np.where(missing, -1, index) + 1 if before else index
        zero = jnp.zeros((*values.shape[:-1], 1), values.dtype)
        values = jnp.concatenate([zero, values] if before else [values, zero], -1)
    return jnp.moveaxis(take(jnp.moveaxis(values, -1, 0), index), 0, -1)


def _times(a: Float[Array, "r s n"], b: Float[Array, "s t n"]) -> Float[Array, "r t n"]:
    terms = [a[:, j, None] * b[None, j] for j in range(a.shape[1])]
    return sum(terms[1:], terms[0])


def _flip(a: Float[Array, "r s n"]) -> Float[Array, "s r n"]:
    return jnp.swapaxes(a, 0, 1)


def _diagonal(a: Float[Array, "r r n"]) -> Float[Array, "r n"]:
    return jnp.stack([a[i, i] for i in range(a.shape[0])]) if a.shape[0] else a[0:0, 0]


def _invert(
    a: Float[Array, "r r n"], size: Float[Array, "r n"]
) -> tuple[Float[Array, "r r n"], Float[Array, ""]]:
    """The inverses of definite matrices, and the smallest pivot in units of `size`.

    Where that is small, so much has cancelled.
    """
    r, n = a.shape[0], a.shape[2]
    one = jnp.ones((), a.dtype)
    if r == 0 or n == 0:
        return a, one
    if r == 1:
        return 1 / jnp.where(a == 0, 1, a), jnp.min(a[0, 0] / jnp.where(size == 0, 1, size)[0])
    if r > 3:
        inverted, good = inverse(jnp.moveaxis(a, -1, 0))
        inverted = jnp.moveaxis(inverted, 0, -1)
        ratios = 1 / jnp.abs(size * _diagonal(inverted))
        return inverted, jnp.where(jnp.all(good), jnp.min(ratios), 0)
    cofactors = _cofactors(a)
    determinant = jnp.sum(a[0] * cofactors[0], 0)
    volume = size[0] * size[1] * (size[2] if r == 3 else 1)
    reciprocal = 1 / jnp.where(determinant == 0, 1, determinant)
    ratio = determinant / jnp.where(volume == 0, 1, volume)
    return _flip(cofactors) * reciprocal[None, None, :], jnp.min(ratio)


def _reciprocal(matrix: BlockMatrix) -> tuple[Array, Float[Array, ""]]:
    """`K^{-1}`, of diagonal blocks the diagonals alone, and its smallest pivot."""
    K = jnp.moveaxis(matrix.K, 0, -1)
    diagonal = _diagonal(K)
    if not matrix.diagonal:
        return _invert(K, diagonal)
    one = jnp.ones((), K.dtype)
    regular = jnp.where(jnp.all(diagonal != 0), one, 0)
    return 1 / jnp.where(diagonal == 0, 1, diagonal), regular


def _lighten(masses: Array, x: Float[Array, "q k n"], transposed: bool = False) -> Array:
    """`K^{-1} x`."""
    if masses.ndim == 2:
        return masses[:, None, :] * x
    return _times(_flip(masses) if transposed else masses, x)


def _cofactors(a: Float[Array, "r r n"]) -> Float[Array, "r r n"]:
    """Of matrices with two or three rows."""
    if a.shape[0] == 2:
        return jnp.stack([a[1, 1], -a[1, 0], -a[0, 1], a[0, 0]]).reshape(a.shape)

    def cofactor(i, j):
        (p, q), (r, s) = ([(x + 1) % 3, (x + 2) % 3] for x in (i, j))
        return a[p, r] * a[q, s] - a[p, s] * a[q, r]

    return jnp.stack([cofactor(i, j) for i in range(3) for j in range(3)]).reshape(a.shape)


def _sides(
    plan: Rounds, pattern: Pattern, B: Float[Array, "m 2 q"]
) -> tuple[Float[Array, "r q n"], ...]:
    """For each node its rows' entries in its first and in its second block."""
    rows = jnp.concatenate([B, jnp.zeros((1, *B.shape[1:]), B.dtype)])
    bodies = np.concatenate([pattern.rows, [[-1, -1]]])[plan.row_index]
    entries = jnp.transpose(take(rows, plan.row_index), (1, 2, 3, 0))  # (R, 2, q, n)
    sides = []
    for side in range(2):
        body = plan.nodes[:, side, None]
        second = np.where(body >= 0, bodies[:, :, 1] == body, bodies[:, :, 1] < 0)
        if (second == second[:1, :1]).all():
            chosen = entries[:, int(second.ravel()[:1].sum())]
        else:
            chosen = jnp.where(second.T[:, None, :], entries[:, 1], entries[:, 0])
        exists = (body >= 0) & ~plan.padded
        sides.append(chosen if exists.all() else jnp.where(exists.T[:, None, :], chosen, 0))
    return tuple(sides)


def _schur_complement(
    plan: Rounds, masses: Float[Array, "*q nb"], sides: tuple[Float[Array, "r q n"], ...]
) -> tuple[Float[Array, "r r n"], Float[Array, "r r e"]]:
    """The blocks of `B K^{-1} B^T` on the diagonal, and those of the edges."""
    dtype = masses.dtype
    D = jnp.asarray(np.moveaxis(plan.padded[:, :, None] * np.eye(plan.R), 0, -1), dtype)
    light = []
    for side, rows in enumerate(sides):
        light.append(_flip(_lighten(_at(masses, plan.nodes[:, side]), _flip(rows), True)))
        D = D + _times(light[side], _flip(rows))
    light = computed_once(light)
    L = jnp.zeros((plan.R, plan.R, len(plan.edges)), dtype)
    for place in range(2):
        body = plan.shared[:, place]
        if (body < 0).all():
            continue
        first = _towards(light, plan.nodes, plan.edges[:, 0], body)
        second = _towards(sides, plan.nodes, plan.edges[:, 1], body)
        L = L + _times(first, _flip(second))
    return D, L


def _towards(sides: Any, blocks: np.ndarray, nodes: np.ndarray, body: np.ndarray) -> Array:
    """For each edge the rows of one of its nodes, in the block that it shares."""
    second = blocks[nodes, 1] == body
    if (second == second[:1]).all():
        chosen = _last(sides[int(second[:1].sum())], nodes)
    else:
        a, b = (_last(side, nodes) for side in sides)
        chosen = jnp.where(second, b, a)
    return chosen if (body >= 0).all() else jnp.where(body >= 0, chosen, 0)


def _round(
    step: Round, D: Float[Array, "r r n"], L: Float[Array, "r r e"], size: Float[Array, "r g"]
) -> tuple[_Eliminated, Array, Array, Float[Array, ""]]:
    """Eliminate the nodes of one round from those that are left."""
    inverted, pivot = _invert(_last(D, step.gone), size)
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
    L = _last(L, np.array([count, *before]))
    if not falling[1:].any():
        L = _flip(L)
    elif not falling.all():
        L = jnp.where(falling, L, _flip(L))
    return jnp.moveaxis(_last(D, path), -1, 0), jnp.moveaxis(L, -1, 0)


def _along_path(plan: Rounds, factors: Any, b: Float[Array, "r k n"]) -> Float[Array, "r k n"]:
    assert plan.path is not None
    x = solve_sweep(factors, jnp.moveaxis(_last(b, plan.path), -1, 0))
    return _last(jnp.moveaxis(x, 0, -1), np.argsort(plan.path))


def _dense_tail(plan: Rounds, D: Array, L: Array, size: Array) -> tuple[Any, Float[Array, ""]]:
    """The inverse of what is left: of one node, or a dense matrix."""
    count, R = plan.tail, plan.R
    if count <= 1:
        return _invert(D, size)
    full = jnp.zeros((count, count, R, R), D.dtype)
    nodes = np.arange(count)
    full = full.at[nodes, nodes].set(jnp.moveaxis(D, -1, 0))
    a, b = plan.tail_edges.T
    blocks = jnp.moveaxis(L, -1, 0)
    full = full.at[a, b].set(blocks).at[b, a].set(jnp.swapaxes(blocks, 1, 2))
    matrix = jnp.swapaxes(full, 1, 2).reshape(count * R, count * R)
    lu, pivots = jsl.lu_factor(matrix)
    return (lu, pivots), jnp.min(jnp.abs(jnp.diagonal(lu))) / jnp.max(size)


def _solve(plan: Rounds, factors: _Factors, b: Float[Array, "r k n"]) -> Float[Array, "r k n"]:
    """Forward through the rounds, and back."""
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
    return x
