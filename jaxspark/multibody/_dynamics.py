r"""Mass matrix, inverse dynamics and momenta of a tree, in joint coordinates.

With the pseudo-inertia `P_i` of link `i` in the axes of the ground and the motion `S_d` of velocity
`d`,

    M_de = tr(S_d Pc S_e^T),    Pc the sum of `P_i` over the links that both move,
    inverse dynamics_d = tr(S_d (sum_i (A_i + V_i V_i - [0 | gravity]) P_i)^T),
    momentum_d = tr(S_d (sum_i V_i P_i)^T),

sums over the links that `d` moves.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, sections 5.3 and 6.2, composite rigid
bodies and recursive Newton-Euler, in 4 x 4 matrices.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from ._kinematics import Places, products, Rates, up
from ._tables import Tables
from ._tree import Tree


def in_ground(places: Places, tables: Tables) -> Float[Array, "n 4 4"]:
    """The pseudo-inertia of each link in the axes of the ground."""
    T = places.T[:-1]
    return products(products(T, tables.inertia), jnp.swapaxes(T, 1, 2))


def _dots(a: Float[Array, "i 3 4"], b: Float[Array, "j 3 4"]) -> Float[Array, "i j"]:
    a, b = a.reshape(a.shape[0], -1), b.reshape(b.shape[0], -1)
    if a.shape[0] * b.shape[0] * a.shape[1] <= 4000:
        return jnp.sum(a[:, None, :] * b[None, :, :], 2)
    return a @ b.T


def mass(
    tree: Tree,
    armature: Float[Array, " nz"],
    S: Float[Array, "nz 3 4"],
    P: Float[Array, "n 4 4"],
) -> Float[Array, "nz nz"]:
    """The mass matrix, with the armature on its diagonal."""
    # Of two velocities that move a common link, one moves the other's link.
    below = tree.moves[tree.moved]
    number = np.arange(tree.nz)
    lower = below * (number[:, None] >= number[None, :])
    half = _dots(products(S, up(tree, P)), S) * jnp.asarray(lower, P.dtype)
    strict = jnp.asarray(1.0 - np.eye(tree.nz), P.dtype)
    return half + (half * strict).T + jnp.diag(armature)


def projected(tree: Tree, S: Float[Array, "nz 3 4"], F: Float[Array, "n 3 4"]) -> Array:
    """`tr(S_d (sum of F over the links that d moves)^T)`."""
    return jnp.sum((S * up(tree, F)).reshape(tree.nz, 12), 1)


def needed(
    tree: Tree,
    tables: Tables,
    places: Places,
    P: Float[Array, "n 4 4"],
    rates: Rates,
    on: FloatScalar | float,
) -> Float[Array, "n 3 4"]:
    """What each link needs for its accelerations, without `on` times its weight."""
    V, A = rates.V[:-1], rates.A[:-1]
    weight = jnp.concatenate([jnp.zeros((3, 3), A.dtype), (on * tables.gravity)[:, None]], 1)
    return products(A + products(V[:, :, :3], V) - weight[None], P)


def momentum(
    tree: Tree, tables: Tables, S: Array, P: Array, V: Array, z: Float[Array, " nz"]
) -> Float[Array, " nz"]:
    """`M z`, without the matrix."""
    return projected(tree, S, products(V[:-1], P)) + tables.armature * z


def wrench(force: Float[Array, "k 3"], point: Float[Array, "k 3"]) -> Float[Array, "k 3 4"]:
    """A force at a point, as a dual of motions: `tr(S wrench^T)` is its power."""
    place = jnp.concatenate([point, jnp.ones_like(point[:, :1])], 1)
    return force[:, :, None] * place[:, None, :]
