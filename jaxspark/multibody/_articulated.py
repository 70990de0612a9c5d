r"""Articulated bodies: equations with the mass matrix of a tree, in operations linear in its size.

In the axes of the ground, with the motion `S_d` of velocity `d` as a vector of 6, and its parent
`p(d)`, the velocity before it on the way from the ground,

    U_d = J_d S_d,   D_d = S_d . U_d + armature_d,   J_p(d) += J_d - U_d U_d^T / D_d,

where `J_d` begins as the inertia of the link that `d` is the last velocity of. So `M x = r` is

    e_d = r_d - S_d . P_d,   P_p(d) += P_d + U_d e_d / D_d          (from the tips to the ground),
    x_d = (e_d - U_d . A_p(d)) / D_d,   A_d = A_p(d) + S_d x_d      (from the ground to the tips).

A joint with several freedoms is as many velocities, one after the other.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, section 7.3, without bias forces.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._system import AbstractMasses
from ._dynamics import mass
from ._rotations import skew
from ._tree import Tree


# Velocities from which this is faster than a dense matrix.
FEWEST = 26
# Pivots below so many units of rounding of what they are differences of are none.
UNITS = 100


class Articulated(AbstractMasses):
    """The mass matrix of a tree.

    - `S`: the motion of each unit velocity; `P`: the pseudo-inertia of each link, in the axes of
        the ground.
    - `armature`: of each velocity.
    - `tree`: what the numbers mean.
    """

    S: Float[Array, "nz 3 4"]
    P: Float[Array, "n 4 4"]
    armature: Float[Array, " nz"]
    tree: Tree = eqx.field(static=True)

    def matrix(self) -> Float[Array, "nz nz"]:
        """All entries."""
        return mass(self.tree, self.armature, self.S, self.P)

    def solve(self, rhs: Float[Array, "nz k"]) -> tuple[Float[Array, "nz k"], Bool[Array, ""]]:
        """The solution, and whether all pivots are positive."""
        nz, S, dtype = self.tree.nz, _vectors(self.S), rhs.dtype
        parent = jnp.asarray(_parents(self.tree), jnp.int32)
        last = _last(self.tree)
        own = _inertias(self.P)
        sizes = jnp.trace(own, axis1=1, axis2=2)
        # Of velocities, and of the ground.
        J = jnp.zeros((nz + 1, 6, 6), dtype).at[last].set(own)
        size = jnp.zeros(nz + 1, dtype).at[last].set(sizes)

        def inward(i, carry):
            J, size, P, U, D, e, good = carry
            d = nz - 1 - i
            s, inertia, p = _at(S, d), _at(J, d), _at(parent, d)
            u = jnp.sum(inertia * s[None, :], 1)
            armature = _at(self.armature, d)
            pivot = jnp.sum(s * u) + armature
            scale = jnp.sum(s * s) * _at(size, d) + armature
            good = good & (pivot > UNITS * jnp.finfo(dtype).eps * scale)
            force = _at(P, d)
            left = _at(rhs, d) - jnp.sum(s[:, None] * force, 0)
            rest = inertia - u[:, None] * (u / pivot)[None, :]
            J = _put(J, _at(J, p) + rest, p)
            size = _put(size, _at(size, p) + _at(size, d), p)
            P = _put(P, _at(P, p) + force + u[:, None] * (left / pivot)[None, :], p)
            return J, size, P, _put(U, u, d), _put(D, pivot, d), _put(e, left, d), good

        k = rhs.shape[1]
        start = (
            J, size, jnp.zeros((nz + 1, 6, k), dtype), jnp.zeros((nz, 6), dtype),
            jnp.ones(nz, dtype), jnp.zeros((nz, k), dtype), jnp.asarray(True),
        )  # fmt: skip
        _, _, _, U, D, e, good = jax.lax.fori_loop(0, nz, inward, start)

        def outward(d, carry):
            A, x = carry
            a = _at(A, _at(parent, d))
            found = (_at(e, d) - jnp.sum(_at(U, d)[:, None] * a, 0)) / _at(D, d)
            return _put(A, a + _at(S, d)[:, None] * found[None, :], d), _put(x, found, d)

        start = jnp.zeros((nz + 1, 6, k), dtype), jnp.zeros((nz, k), dtype)
        return jax.lax.fori_loop(0, nz, outward, start)[1], good


def _at(x: Any, i: Any) -> Any:
    return jax.lax.dynamic_index_in_dim(x, i, 0, False)


def _put(x: Any, row: Any, i: Any) -> Any:
    return jax.lax.dynamic_update_index_in_dim(x, row, i, 0)


def _parents(tree: Tree) -> np.ndarray:
    """Of each velocity, the one before it on the way from the ground; `nz` is the ground."""
    last = np.append(_last(tree), tree.nz)
    first = np.append(True, tree.moved[1:] != tree.moved[:-1])
    before = last[tree.parent[tree.moved]]
    return np.where(first, before, np.arange(tree.nz) - 1)


def _last(tree: Tree) -> np.ndarray:
    """Of each link, its last velocity."""
    return np.append(tree.z_at[1:], tree.nz).astype(int) - 1


def _vectors(S: Float[Array, "nz 3 4"]) -> Float[Array, "nz 6"]:
    """Angular velocities, and velocities of the point at the origin of the ground."""
    return jnp.stack([S[:, 2, 1], S[:, 0, 2], S[:, 1, 0], S[:, 0, 3], S[:, 1, 3], S[:, 2, 3]], 1)


def _inertias(P: Float[Array, "n 4 4"]) -> Float[Array, "n 6 6"]:
    """Spatial inertias of links from their pseudo-inertias, about the origin of the ground."""
    second, first, m = P[:, :3, :3], skew(P[:, :3, 3]), P[:, 3, 3][:, None, None]
    eye = jnp.eye(3, dtype=P.dtype)[None]
    about = jnp.trace(second, axis1=1, axis2=2)[:, None, None] * eye - second
    top = jnp.concatenate([about, first], 2)
    return jnp.concatenate([top, jnp.concatenate([-first, m * eye], 2)], 1)
