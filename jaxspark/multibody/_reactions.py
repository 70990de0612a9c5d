r"""Accelerations, multipliers, and the wrenches that joints transmit.

A wrench is a matrix `sum f [x, 1]^T`, shape `(3, 4)`, of forces `f` at points `x` in the axes of
the ground: dual to motions. With what each body needs, `(A + V V - [0 | gravity]) P`, less the
wrenches of forces and of joints that are cut, a joint on the tree transmits the sum over the
bodies behind it. Of this a part acts along its coordinates, that of its springs, dampers, motors
and armature; what is left is the constraint's, and does no work.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, section 5.3, and section 8.2 for loops.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.scipy.linalg
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from .._consistent import multipliers
from .._system import Accelerations
from ._closure import Loops
from ._joints import FREE, GROUND, SHIFT
from ._kinematics import constant_times, Places, Rates
from ._rotations import cross, products, SKEW
from ._tables import inertias_of, joint_frames, Tables
from ._tree import Tree


class Motions(NamedTuple):
    """Bodies in motion, the last of them the ground.

    - `X`: their transforms; `V`: their motions; `A`: the derivatives of these.
    """

    X: Float[Array, "nb1 4 4"]
    V: Float[Array, "nb1 3 4"]
    A: Float[Array, "nb1 3 4"]


class Transmitted(NamedTuple):
    """What joints exert on their children, at the joints' frames on them, in ground axes.

    - `force`, `torque`: of the constraints alone; `whole_force`, `whole_torque`: with forces along
        the joints' coordinates. Of all joints in their order.
    """

    force: Float[Array, "nj 3"]
    torque: Float[Array, "nj 3"]
    whole_force: Float[Array, "nj 3"]
    whole_torque: Float[Array, "nj 3"]


def vee(W: Float[Array, "*n 3 3"]) -> Float[Array, "*n 3"]:
    """`w` of `skew(w)`."""
    return 0.5 * jnp.einsum("...ij,kij->...k", W, jnp.asarray(SKEW, W.dtype))


def pseudo_inverse(C: Float[Array, "m n"]) -> Float[Array, "n m"]:
    """That of Moore and Penrose; what is small is zero.

    Source: G. H. Golub & V. Pereyra, *The differentiation of pseudo-inverses*, for its derivative.
    """
    return jnp.linalg.pinv(C, rtol=0.67 * float(jnp.finfo(C.dtype).eps) ** 0.5)


def accelerations(of: Accelerations) -> tuple[Float[Array, " nz"], Float[Array, " m"]]:
    """Accelerations `u` and multipliers `mu` of minimum norm.

    `M u + C^T mu = h`, `C u = -c` are solved in what `C` leaves free, so that rows may depend on
    each other, and links be without mass as long as loops hold them.

    Source: M. Benzi, G. H. Golub & J. Liesen, *Numerical solution of saddle point problems*,
    section 6.
    """
    size = jnp.diagonal(of.M)
    D = 1 / jnp.sqrt(jnp.where(size > 0, size, 1))
    M, h = of.M * D[:, None] * D[None, :], of.h * D
    if not of.C.shape[0]:
        return D * jax.scipy.linalg.solve(M, h, assume_a="pos"), jnp.zeros(0, h.dtype)
    C = of.C * D[None, :]
    inverse = pseudo_inverse(C)
    held = inverse @ C
    free = jnp.eye(h.size, dtype=h.dtype) - held
    first = -inverse @ of.c
    K = free @ M @ free + held
    rest = jax.scipy.linalg.solve(0.5 * (K + K.T), free @ (h - M @ first), assume_a="pos")
    u = first + free @ rest
    return D * u, inverse.T @ (h - M @ u)


def accelerations_of(
    system: Any, t: Any, y: Array, z: Array, tables: Tables
) -> tuple[Float[Array, " nz"], Float[Array, " m"]]:
    """The same of a mechanism at a state, with friction in its joints."""
    if system.friction is None:
        return accelerations(system.accelerations(t, y, z, jnp.ones((), y.dtype), tables))
    found = multipliers(system, t, y, z, tables)
    of_both = jax.tree.leaves((found.lam, found.psi))
    return found.zdot, jnp.concatenate([jnp.ravel(x) for x in of_both])


def of_all_rows(
    mu: Float[Array, " kept"], C: Float[Array, "rows nz"], kept: np.ndarray | None
) -> Float[Array, " rows"]:
    """Multipliers of all rows, of minimum norm, that have the forces of those that are kept.

    **Arguments:**

    - `mu`: of the combinations `kept` of rows; `C`: the Jacobian of all rows.
    """
    if kept is None:
        return mu
    return pseudo_inverse(C).T @ (C.T @ (jnp.asarray(kept, C.dtype).T @ mu))


def motions(tree: Tree, tables: Tables, at: Places, rates: Rates) -> Motions:
    """The bodies' motions, from those of links."""
    link = np.array([tree.link_of[k] for k in (*range(len(tree.bodies)), -1)])
    link = np.where(link < 0, tree.n, link)
    X = products(take(at.T, link), tables.frames)
    return Motions(X, take(rates.V, link), take(rates.A, link))


def needed(tree: Tree, tables: Tables, bodies: Motions) -> Float[Array, "nb 3 4"]:
    """What each body needs for its acceleration, without its weight."""
    X, V, A = (x[:-1] for x in bodies)
    P = products(products(X, inertias_of(tree, tables.args)), jnp.swapaxes(X, 1, 2))
    weight = jnp.pad(tables.gravity[:, None], ((0, 0), (3, 0)))
    return products(A + products(V[:, :, :3], V) - weight[None], P)


def about(W: Float[Array, "k 3 4"], x: Float[Array, "k 3"]) -> tuple[Array, Array]:
    """The force of a wrench, and its torque about a point."""
    force = W[:, :, 3]
    # Of f [x, 1]^T the torque x x f is that of the antisymmetric part.
    torque = 2 * vee(jnp.swapaxes(W[:, :, :3], 1, 2))
    return force, -torque - cross(x, force)


def behind(tree: Tree) -> np.ndarray:
    """Which bodies are behind each joint on the tree, `(joints of the order, bodies)`."""
    number_of = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: -1}
    of_body: dict[int, np.ndarray] = {-1: np.zeros(len(tree.order), bool)}
    out = np.zeros((len(tree.order), len(tree.bodies)))
    for row, (body, number, backward) in enumerate(tree.order):
        joint = tree.joints[number]
        above = of_body[number_of[joint.child if backward else joint.parent]].copy()
        above[row] = True
        of_body[body] = above
        out[above, body] = 1.0
    return out


def transmitted(
    tree: Tree,
    tables: Tables,
    S: Float[Array, "nz 3 4"],
    bodies: Motions,
    missing: Float[Array, "nb 3 4"],
    of_cut: Float[Array, "nc 3 4"],
    dry: Float[Array, "nc 3 4"],
) -> Transmitted:
    """What all joints exert on their children.

    **Arguments:**

    - `S`: the motion of each unit velocity.
    - `missing`: what bodies need, and neither forces nor joints that are cut give.
    - `of_cut`: the wrenches on the children of joints that are cut, in the order of `tree.loops`;
        `dry`: those of friction in them.
    """
    origins = frames(tree, tables, bodies)[1][:, :3, 3]
    order = np.array([number for _, number, _ in tree.order], int)
    # On the body farther from the ground.
    W = constant_times(behind(tree), missing)
    far = np.array([-1.0 if backward else 1.0 for _, _, backward in tree.order])
    force, torque = about(W, take(origins, order))
    own_force, own_torque = _along_coordinates(tree, S, W)
    sign = jnp.asarray(far, S.dtype)[:, None]
    parts = [force - own_force, torque - own_torque, force, torque]
    cut = np.array(tree.loops, int)
    ends = (*about(of_cut, take(origins, cut)), *about(of_cut + dry, take(origins, cut)))
    place = np.argsort(np.concatenate([order, cut]))
    both = [
        take(jnp.concatenate([sign * x, end]), place) for x, end in zip(parts, ends, strict=True)
    ]
    return Transmitted(*both)


def _along_coordinates(tree: Tree, S: Array, W: Array) -> tuple[Array, Array]:
    """Of the wrenches at joints on the tree, what acts along their coordinates.

    A joint's axes are perpendicular to each other, and turn about the origin of its frame on the
    child.
    """
    row_of = {number: row for row, (_, number, _) in enumerate(tree.order)}
    moved = [tree.links[k] for k in tree.moved]
    row = np.array([row_of[link.joint] for link in moved], int)
    place = np.arange(tree.nz) - np.array(tree.z_at, int)[tree.moved]
    shifts = [
        k < 3 if link.kind == FREE else link.how == SHIFT
        for k, link in zip(place, moved, strict=True)
    ]
    turns = 1.0 - np.array(shifts, float)
    of_joint = np.zeros((len(tree.order), tree.nz))
    of_joint[row, np.arange(tree.nz)] = 1.0
    sizes = jnp.sum(S * take(W, row), (1, 2))[:, None]
    turning = jnp.asarray(turns, S.dtype)[:, None]
    forces = (1 - turning) * sizes * S[:, :, 3]
    torques = turning * sizes * vee(S[:, :, :3])
    summed = constant_times(of_joint, jnp.stack([forces, torques], 1))
    return summed[:, 0], summed[:, 1]


def numbers(tree: Tree, side: str) -> np.ndarray:
    """Of the joints' parents or children, that of the ground the last."""
    of = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: len(tree.bodies)}
    return np.array([of[getattr(joint, side)] for joint in tree.joints], int)


def frames(
    tree: Tree, tables: Tables, bodies: Motions
) -> tuple[Float[Array, "nj 4 4"], Float[Array, "nj 4 4"]]:
    """The frames of joints on their parents and on their children, in that of the ground."""
    P, C = joint_frames(tree, tables.args)
    parents, children = (take(bodies.X, numbers(tree, side)) for side in ("parent", "child"))
    return products(parents, P), products(children, C)


def of_cut_joints(
    loops: Loops, tables: Tables, at: Places, mu: Float[Array, " rows"]
) -> Float[Array, "nc 3 4"]:
    """The wrenches that joints which are cut exert on their children, in the order of the loops.

    That of a row is `-mu e x^T`; see `_closure`.
    """
    tree, count = loops.tree, len(loops.rows)
    e = jnp.sum(take(at.T, loops.first)[:, :3, :3] * tables.eps[:, None, :], 2)
    x = jnp.sum(take(at.T, loops.second) * tables.phi[:, None, :], 2)
    W = -mu[:count, None, None] * e[:, :, None] * x[:, None, :]
    row_of = np.array([row[0] for row in loops.rows], int)
    return constant_times((np.array(tree.loops)[:, None] == row_of[None, :]).astype(float), W)
