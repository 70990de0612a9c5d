"""Elimination of clusters from the leaves to the root: linear in their number."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ._basis import Basis
from ._gather import take
from ._pattern import BlockMatrix
from ._plan import Plan
from ._small import inverse, product, transpose


class Factors(eqx.Module):
    """What the solution needs of each cluster `i` with parent `p`.

    - `Y`: `B_i Y = I`; `P`: `C_i P = I`, `None` where `C = B`.
    - `Kh`: its `K` and what its descendants add.
    - `G`: `S (T^T Kh S)^{-1} T^T`.
    - `A`: how it follows its parent; `M`: how what pushes it pushes its parent.
    - `pivot`: the smallest pivot of the rows of each cluster.
    - `definite`: whether its free motions have a mass.
    - `rank`, `null`: of redundant rows, the rank of each cluster's and the combination of them
        that is closest to zero; else `None`.
    """

    Y: Float[Array, "n q r"]
    P: Float[Array, "n q r"] | None
    Kh: Float[Array, "n q q"]
    G: Float[Array, "n q q"]
    A: Float[Array, "n q q"]
    M: Float[Array, "n q q"]
    pivot: Float[Array, " n"]
    definite: Bool[Array, " n"]
    rank: Int[Array, " n"] | None = None
    null: Float[Array, "n r"] | None = None


def cluster_entries(plan: Plan, matrix: BlockMatrix) -> tuple[Any, ...]:
    """`K`, and the rows of `B` and of `C`, for each cluster itself and its parent."""
    constants = jnp.asarray([0, 1], matrix.K.dtype)

    def entries(values, index):
        values = values.ravel()
        used = values if index.max(initial=0) < values.size else jnp.append(values, constants)
        return take(used, index)

    K = entries(matrix.K, plan.K_index)
    B = entries(matrix.B, plan.B_index), entries(matrix.B, plan.parent_index)
    if matrix.C is None:
        return K, B, None
    return K, B, (entries(matrix.C, plan.B_index), entries(matrix.C, plan.parent_index))


def factor_recursively(plan: Plan, matrix: BlockMatrix, basis) -> Factors:
    """Eliminate every cluster.

    **Arguments:**

    - `plan`: the order.
    - `matrix`: the values.
    - `basis`: makes a [`Basis`][] of the rows of all clusters.

    A cluster moves by `dq_i = Y g_i + S u_i + X dq_p` with `X = -Y B_p`: what its rows ask for,
    its free motions, and what its parent's motion makes of it. The free motions are eliminated;
    what is left is added to the parent. It is the null-space method without its basis `Z`, whose
    entries are products of the `X` from each block up to the root.

    Source: P. Areias, *A dimensional reduction algorithm and software for acyclically dependent
    constraints*, equations (3) to (10), with the pivots of a block chosen together.
    """
    K, (B, Bp), forces = cluster_entries(plan, matrix)
    held: Basis = basis(B)
    Y, S, pivot = held.Y, held.S, held.pivot
    X = -product(Y, Bp)
    P, T, W = None, S, X
    if forces is not None:
        pushed = basis(forces[0])
        P, T, W = pushed.Y, pushed.S, -product(pushed.Y, forces[1])
        pivot = jnp.minimum(pivot, pushed.pivot)
    rank = None if held.idle is None else jnp.sum(held.idle, 1)
    free = jnp.zeros(S.shape[::2], S.dtype) if held.idle is None else held.idle.astype(S.dtype)
    K, S, T, X, W = jax.lax.optimization_barrier((K, S, T, X, W))

    def diagonal(x):
        return 0 if held.idle is None else jnp.diag(x)

    def eliminate(K, added, S, T, X, W, idle):
        Kh = K + added
        KX = product(Kh, X)
        KS = product(Kh, S)
        # Columns that are no directions get a mass of 1.
        Hinv, definite = inverse(product(transpose(T), KS) + diagonal(idle))
        follow = product(Hinv, product(transpose(T), KX))
        left = product(transpose(W), KX) - product(product(transpose(W), KS), follow)
        return left, (Kh, Hinv, definite)

    _, (Kh, Hinv, definite) = upward(plan, eliminate, (K, (S, T, X, W, free)), (plan.Q, plan.Q))
    G = product(product(S, Hinv), transpose(T))
    A = X - product(G, product(Kh, X))
    M = transpose(W) - product(transpose(W), product(Kh, G))
    return Factors(Y, P, Kh, G, A, M, pivot, definite, rank, held.null)


def solve_recursively(
    plan: Plan, factors: Factors, f: Float[Array, "nb q k"], g: Float[Array, "m k"]
) -> tuple[Float[Array, "nb q k"], Float[Array, "m k"]]:
    """Up the tree with the forces, down again with the motions."""
    k = f.shape[-1]
    Y, Kh, G = factors.Y, factors.Kh, factors.G
    f, g = (
        _gathered(f.reshape(f.shape[0] * f.shape[1], k), plan.x_index),
        _gathered(g, plan.row_index),
    )
    y = product(Y, g)
    pushed = f - product(Kh, y)

    def push(pushed, added, M):
        total = pushed + added
        return product(M, total), total

    _, total = upward(plan, push, (pushed, (factors.M,)), (plan.Q, k))
    own = y + product(G, total)
    x = downward(plan, own, factors.A)
    P = Y if factors.P is None else factors.P
    lam = product(transpose(P), total - product(Kh, x - y))
    x = _gathered(x.reshape(x.shape[0] * x.shape[1], k), plan.x_back)
    return x, _gathered(lam.reshape(lam.shape[0] * lam.shape[1], k), plan.row_back)


def _gathered(values: Float[Array, "n k"], index: np.ndarray) -> Array:
    """Entries of `values`, zero where the index is one beyond them."""
    if index.max(initial=0) >= values.shape[0]:
        values = jnp.concatenate([values, jnp.zeros((1, values.shape[1]), values.dtype)])
    return take(values, index)


def upward(plan: Plan, visit, inputs: tuple[Any, tuple], shape: tuple[int, ...]):
    """From the leaves to the roots: `visit(own, added, ...) -> (for the parent, output)`.

    Sums for parents that still wait for children are kept in slots, of which there are no more
    than `1 + log2 N`: a carry with one for every cluster would be copied in every step.
    """
    own, rest = inputs
    dtype = own.dtype
    zero = jnp.zeros(shape, dtype)
    slots, to, first = (jnp.asarray(x) for x in (plan.slot, plan.parent_slot, plan.first))
    single = plan.num_slots <= 1

    def body(waiting, at):
        (own, rest), slot, to, first = at
        if single:
            left, output = visit(own, jnp.where(slot == 0, waiting, zero), *rest)
            total = left + jnp.where(first, zero, waiting)
            return jnp.where(to == 0, total, waiting), output
        added = jax.lax.dynamic_index_in_dim(waiting, slot, 0, False)
        left, output = visit(own, added, *rest)
        before = jax.lax.dynamic_index_in_dim(waiting, to, 0, False)
        total = left + jnp.where(first, zero, before)
        return jax.lax.dynamic_update_index_in_dim(waiting, total, to, 0), output

    start = zero if single else jnp.zeros((plan.num_slots + 1, *shape), dtype)
    return jax.lax.scan(body, start, ((own, rest), slots, to, first))


def downward(
    plan: Plan, own: Float[Array, "n q k"], A: Float[Array, "n q q"]
) -> Float[Array, "n q k"]:
    """`x_i = own_i + A_i x_p`, from the roots to the leaves, in the slots of the way up."""
    shape = own.shape[1:]
    slots, of_parent = jnp.asarray(plan.slot), jnp.asarray(plan.parent_slot)
    single = plan.num_slots <= 1

    def body(waiting, at):
        own, A, slot, of_parent = at
        if single:
            # A root has no parent: its A is zero.
            x = own + product(A, waiting)
            return jnp.where(slot == 0, x, waiting), x
        x = own + product(A, jax.lax.dynamic_index_in_dim(waiting, of_parent, 0, False))
        return jax.lax.dynamic_update_index_in_dim(waiting, x, slot, 0), x

    start = jnp.zeros(shape if single else (plan.num_slots + 1, *shape), own.dtype)
    return jax.lax.scan(body, start, (own, A, slots, of_parent), reverse=True)[1]
