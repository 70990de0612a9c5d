"""Transforms of links, the motions of unit velocities, and sums along the tree.

A motion is `[skew(w) | u]`, shape `(3, 4)`: the derivative of a transform `T` is the motion times
`T`, in the axes of the ground. All links are computed at once: transforms by pointer doubling, in
as many rounds as the logarithm of the depth; sums by products with constant matrices of zeros and
ones.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, chapter 4, in 4 x 4 matrices; pointer
doubling is that of J. JaJa, *An Introduction to Parallel Algorithms*, section 2.2.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._rotations import products, quaternion_rate, rotation, skew, transform
from ._tables import Tables
from ._tree import Tree


# Multiplications up to which a product with a constant matrix is a sum; larger ones are left to a
# library, which has a start-up cost.
SUM = 4000
# Links from which products without the last rows of transforms are several times faster, measured.
LARGE = 40


class Places(NamedTuple):
    """Where links are and how velocities move them.

    - `T`: of each link and, last, of the ground.
    - `S`: the motion of each unit velocity.
    """

    T: Float[Array, "n1 4 4"]
    S: Float[Array, "nz 3 4"]


class Rates(NamedTuple):
    """Motions of links, the last the ground.

    - `V`: of velocities; `A`: their derivatives, for given accelerations.
    """

    V: Float[Array, "n1 3 4"]
    A: Float[Array, "n1 3 4"]


def constant_times(matrix: np.ndarray, x: Float[Array, "j r s"]) -> Float[Array, "i r s"]:
    """A constant matrix times small matrices."""
    i, j = matrix.shape
    constant = jnp.asarray(matrix, x.dtype)
    if i * j * x.shape[1] * x.shape[2] <= SUM:
        return jnp.sum(constant[:, :, None, None] * x[None], 1)
    return (constant @ x.reshape(j, -1)).reshape(i, *x.shape[1:])


def local_transforms(tree: Tree, tables: Tables, y: Float[Array, " ny"]) -> Float[Array, "n 4 4"]:
    """Of each link, relative to its parent."""
    parts, order = [], []
    if len(tree.axis):
        q = take(y, tree.axis_y)[:, None, None]
        parts.append(tables.TA + jnp.sin(q) * tables.TB + jnp.cos(q) * tables.TC + q * tables.TD)
        order.append(tree.axis)
    if len(tree.turned):
        R = rotation(y[tree.turned_y[:, None] + np.arange(4)])
        at = np.where(tree.free, tree.turned_y - 3, 0)[:, None] + np.arange(3)
        x = jnp.where(jnp.asarray(tree.free)[:, None], y[at], 0)
        parts.append(products(products(tables.TP, transform(R, x)), tables.TQ))
        order.append(tree.turned)
    if not parts:
        return jnp.zeros((0, 4, 4), y.dtype)
    return take(jnp.concatenate(parts), np.argsort(np.concatenate(order)))


def transforms(tree: Tree, tables: Tables, y: Float[Array, " ny"]) -> Float[Array, "n1 4 4"]:
    """Of each link relative to the ground, and of the ground."""
    ground = jnp.eye(4, dtype=y.dtype)[None]
    T = jnp.concatenate([local_transforms(tree, tables, y), ground])
    up = np.append(np.where(tree.parent < 0, tree.n, tree.parent), tree.n)
    if tree.n < LARGE:
        while np.any(up != tree.n):
            T, up = products(take(T, up), T), up[up]
        return T
    T = T[:, :3]
    while np.any(up != tree.n):
        A = take(T, up)
        moved = jnp.pad(A[:, :, 3:], ((0, 0), (0, 0), (3, 0)))
        T, up = products(A[:, :, :3], T) + moved, up[up]
    last = jnp.asarray([[[0, 0, 0, 1]]], y.dtype)
    return jnp.concatenate([T, jnp.broadcast_to(last, (tree.n + 1, 1, 4))], 1)


def places(tree: Tree, tables: Tables, y: Float[Array, " ny"]) -> Places:
    """Transforms and motions."""
    T = transforms(tree, tables, y)
    at = take(T, tree.carried)
    R, p = at[:, :3, :3], at[:, :3, 3]
    w, u = (jnp.sum(R * x[:, None, :], 2) for x in (tables.w, tables.u))
    W = skew(w)
    origin = u - jnp.sum(W * p[:, None, :], 2)
    return Places(T, jnp.concatenate([W, origin[:, :, None]], 2))


def down(tree: Tree, x: Float[Array, "nz r s"]) -> Float[Array, "n1 r s"]:
    """Sums over the velocities that move each link."""
    return constant_times(tree.moves, x)


def up(tree: Tree, x: Float[Array, "n r s"]) -> Float[Array, "nz r s"]:
    """Sums over the links that each velocity moves."""
    return constant_times(tree.moves[:-1].T, x)


def rates(
    tree: Tree, S: Array, z: Float[Array, " nz"], u: Float[Array, " nz"] | None = None
) -> Rates:
    """Motions of links at velocities `z`, and derivatives at accelerations `u`, by default zero."""
    V = down(tree, S * z[:, None, None])
    change = transport(tree, S, V) * z[:, None, None]
    if u is not None:
        change = change + S * u[:, None, None]
    return Rates(V, down(tree, change))


def transport(tree: Tree, S: Array, V: Array) -> Float[Array, "nz 3 4"]:
    """The derivative of `S` while links move by `V`."""
    at = take(V, tree.carried)
    return products(at[:, :, :3], S) - products(S[:, :, :3], at)


def velocity(tree: Tree, y: Float[Array, " n"], z: Float[Array, " nz"]) -> Float[Array, " ny"]:
    """The derivatives of the coordinates of joints, the first in `y`."""
    if not len(tree.turned):
        return z
    out = jnp.zeros(tree.ny, z.dtype)
    out = out.at[tree.axis_y].set(take(z, tree.axis_z))
    four = tree.turned_y[:, None] + np.arange(4)
    w = z[tree.turned_z[:, None] + np.arange(3)]
    out = out.at[four].set(quaternion_rate(y[four], w))
    three = np.arange(3)
    free = np.flatnonzero(tree.free)
    if len(free):
        at = tree.turned_y[free][:, None] - 3 + three
        out = out.at[at].set(z[tree.turned_z[free][:, None] - 3 + three])
    return out


def homogeneous(x: Any) -> Any:
    """Points with a fourth coordinate, one."""
    return jnp.concatenate([x, jnp.ones_like(x[..., :1])], -1)


def carried(T: Float[Array, "4 4"], at: Any) -> Float[Array, " 3"]:
    """A point of a body, in its plane or in space, in the ground's frame."""
    x = jnp.asarray(at, T.dtype)
    x = homogeneous(jnp.append(x, 0.0) if x.shape == (2,) else x)
    return jnp.sum(T[:3] * x[None, :], 1)
