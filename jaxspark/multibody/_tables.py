"""Parameters by name, and the matrices that follow from them once for a solution.

The transform of a link relative to its parent is

    TA + sin(q) TB + cos(q) TC + q TD

of a joint along an axis, and `TP [R(quaternion), x] TQ` of others, with constant matrices.

Source: the pseudo-inertia is that of P. M. Wensing, S.
Kim & J.-J. E. Slotine, *Linear matrix inequalities for physically consistent inertial parameter
identification*, equation (14).
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._bodies import entry
from ._joints import BOTH, SHIFT
from ._rotations import cross, inverse, products, rotation, skew, transform
from ._tree import Tree


class Tables(NamedTuple):
    """What kinematics and dynamics need of the parameters.

    - `TA`, `TB`, `TC`, `TD`: of links along an axis, shapes `(na, 4, 4)`; `TP`, `TQ`: of others.
    - `w`, `u`: axis and velocity of the origin of each unit velocity, in the axes of `carried`.
    - `inertia`: the pseudo-inertia of each link, `(n, 4, 4)`.
    - `frames`: of each body in its link, `(nb + 1, 4, 4)`, the ground last.
    - `damping`, `stiffness`, `rest`, `armature`: of each velocity; `rest` of links along an axis.
    - `gravity`: (m/s^2).
    - `eps`, `phi`, `offset`: of the rows of loops, see `_closure`.
    - `args`: as the user gave them.
    """

    TA: Float[Array, "na 4 4"]
    TB: Float[Array, "na 4 4"]
    TC: Float[Array, "na 4 4"]
    TD: Float[Array, "na 4 4"]
    TP: Float[Array, "nt 4 4"]
    TQ: Float[Array, "nt 4 4"]
    w: Float[Array, "nz 3"]
    u: Float[Array, "nz 3"]
    inertia: Float[Array, "n 4 4"]
    frames: Float[Array, "nb1 4 4"]
    damping: Float[Array, " nz"]
    stiffness: Float[Array, " nz"]
    rest: Float[Array, " na"]
    armature: Float[Array, " nz"]
    gravity: Float[Array, " 3"]
    eps: Float[Array, "m 3"]
    phi: Float[Array, "m 4"]
    offset: Float[Array, "m 3"]
    args: Any


BODY = ("mass", "com", "inertia")
JOINT = (
    "position", "quaternion", "child_position", "child_quaternion", "axes", "pitch", "zero",
    "damping", "stiffness", "rest", "armature",
)  # fmt: skip


def parameters_of(tree: Tree, gravity: np.ndarray) -> dict[str, Any]:
    """All parameters by name, as arrays."""
    return {
        "bodies": {
            body.name: {name: _array(getattr(body, name)) for name in BODY} for body in tree.bodies
        },
        "joints": {
            joint.name: {name: _array(getattr(joint, name)) for name in JOINT}
            for joint in tree.joints
        },
        "gravity": _array(gravity),
    }


def _array(value: Any) -> Array:
    # Of a Python number it would be weakly typed, and another program.
    return jnp.asarray(np.asarray(value, float))


def _stacked(args: Any, kind: str, names: Any, what: str, shape: tuple[int, ...]) -> Array:
    rows = [jnp.asarray(entry(args[kind][name], what)) for name in names]
    return jnp.concatenate([x.reshape(-1) for x in rows]).reshape(-1, *shape)


def _of_joints(tree: Tree, args: Any, what: str, *shape: int) -> Array:
    return _stacked(args, "joints", [joint.name for joint in tree.joints], what, shape)


def pseudo_inertia(
    mass: Float[Array, " n"], com: Float[Array, "n 3"], inertia: Float[Array, "n 3 3"]
) -> Float[Array, "n 4 4"]:
    """`[[sum m x x^T, sum m x], [sum m x^T, sum m]]` of bodies, about their frames' origins."""
    trace = jnp.trace(inertia, axis1=-2, axis2=-1)[:, None, None]
    # Entries are parameters of their own: forces and the mass matrix see their symmetric part.
    symmetric = 0.5 * (inertia + jnp.swapaxes(inertia, -1, -2))
    second = 0.5 * trace * jnp.eye(3, dtype=inertia.dtype)[None] - symmetric
    point = jnp.concatenate([com, jnp.ones_like(com[:, :1])], 1)
    return jnp.pad(second, ((0, 0), (0, 1), (0, 1))) + mass[:, None, None] * (
        point[:, :, None] * point[:, None, :]
    )


def inertias_of(tree: Tree, args: Any) -> Float[Array, "nb 4 4"]:
    """The pseudo-inertia of each body, in its frame."""
    names = [body.name for body in tree.bodies]
    return pseudo_inertia(
        _stacked(args, "bodies", names, "mass", ()),
        _stacked(args, "bodies", names, "com", (3,)),
        _stacked(args, "bodies", names, "inertia", (3, 3)),
    )


def joint_frames(tree: Tree, args: Any) -> tuple[Float[Array, "nj 4 4"], Float[Array, "nj 4 4"]]:
    """The frames of all joints in those of their parents, and in those of their children."""
    of = lambda what, *shape: _of_joints(tree, args, what, *shape)
    P = transform(rotation(of("quaternion", 4)), of("position", 3))
    return P, transform(rotation(of("child_quaternion", 4)), of("child_position", 3))


def frames_of(tree: Tree, P: Array, C: Array) -> Float[Array, "nb1 4 4"]:
    """The frame of each body in its link; the ground is the last.

    Bodies that are welded to each other are joined by pointer doubling, as links are in
    `_kinematics`.
    """
    ground = len(tree.bodies)
    numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {"ground": ground}
    up, near, far = (
        np.full(ground + 1, ground),
        np.zeros(ground + 1, int),
        np.zeros(ground + 1, int),
    )
    for body, number, backward in tree.order:
        joint, other = tree.joints[number], number + len(tree.joints)
        if not joint.elements:
            up[body] = numbers[joint.child if backward else joint.parent]
            near[body], far[body] = (other, number) if backward else (number, other)
    eye = jnp.eye(4, dtype=P.dtype)[None]
    welded = near != far
    if not np.any(welded):
        return jnp.broadcast_to(eye, (ground + 1, 4, 4))
    both = jnp.concatenate([P, C])
    T = jnp.where(welded[:, None, None], products(take(both, near), inverse(take(both, far))), eye)
    while np.any(up != ground):
        T, up = products(take(T, up), T), up[up]
    return T


def tables_of(tree: Tree, loops: Any, args: Any) -> Tables:
    """Everything that is constant while the mechanism moves."""
    of_joints = lambda what, *shape: _of_joints(tree, args, what, *shape)
    P, C = joint_frames(tree, args)
    axes = of_joints("axes", 3, 3)
    frames = frames_of(tree, P, C)
    sigma = inertias_of(tree, args)
    in_link = products(products(frames[:-1], sigma), jnp.swapaxes(frames[:-1], 1, 2))
    inertia = jnp.tensordot(jnp.asarray(tree.holds, in_link.dtype), in_link, 1)
    before, after = _sides(tree, P, C, frames)
    of_z = lambda what: _of_velocities(tree, of_joints(what))
    at_axis = lambda what: take(of_z(what), tree.axis_z)
    of_axes = _along_axes(tree, axes, of_joints("pitch"), at_axis("zero"))
    back = inverse(after)
    TA, TB, TC, TD = _local(of_axes, take(before, tree.axis), take(back, tree.axis))
    w, u = _unit_velocities(tree, of_axes, before, after)
    eps, phi, offset = loops.constants(P, C, axes, frames)
    return Tables(
        TA=TA, TB=TB, TC=TC, TD=TD, TP=take(before, tree.turned), TQ=take(back, tree.turned),
        w=w, u=u, inertia=inertia, frames=frames, damping=of_z("damping"),
        stiffness=of_z("stiffness"), rest=at_axis("rest"), armature=of_z("armature"),
        gravity=jnp.asarray(args["gravity"], frames.dtype), eps=eps, phi=phi, offset=offset,
        args=args,
    )  # fmt: skip


def _axis_links(tree: Tree) -> list[Any]:
    return [tree.links[i] for i in tree.axis]


def _of_velocities(tree: Tree, flat: Array) -> Array:
    """Of each velocity, from what joints have of each in the order of joints."""
    begins = np.cumsum([0, *(joint.freedoms for joint in tree.joints)])
    index = []
    for link in tree.links:
        first = begins[link.joint]
        count = {"axis": 1, "ball": 3, "free": 6}[link.kind]
        index.append(first + (link.element if count == 1 else 0) + np.arange(count))
    return take(flat, np.concatenate(index)) if index else flat[:0]


def _sides(tree: Tree, P: Array, C: Array, frames: Array) -> tuple[Array, Array]:
    """What stands before and after the motion of each link."""
    pick = lambda what: np.array([getattr(link, what) for link in tree.links], int)
    joint, backward, count = pick("joint"), pick("backward"), len(tree.joints)
    both = jnp.concatenate([P, C])
    near, far = take(both, joint + backward * count), take(both, joint + (1 - backward) * count)
    carried = products(take(frames, pick("carrier") % len(frames)), near)
    eye = jnp.eye(4, dtype=P.dtype)
    where = lambda flags, x: jnp.where(np.asarray(flags, bool)[:, None, None], x, eye[None])
    return where(pick("first"), carried), where(pick("last"), far)


class _Axis(NamedTuple):
    """Links along an axis: directions, whether they turn, how far they shift, where they are 0."""

    a: Float[Array, "na 3"]
    turns: Float[Array, " na"]
    pitch: Float[Array, " na"]
    zero: Float[Array, " na"]


def _along_axes(tree: Tree, axes: Array, pitch: Array, zero: Array) -> _Axis:
    """Of all links along an axis."""
    links, dtype = _axis_links(tree), axes.dtype
    joint = np.array([x.joint for x in links], int)
    which = np.array([tree.joints[x.joint].element_axis(x.element) for x in links], int)
    sign = np.array([-1.0 if x.backward else 1.0 for x in links])
    a = take(axes.reshape(-1, 3), 3 * joint + which) * jnp.asarray(sign, dtype)[:, None]
    a = a / jnp.sqrt(jnp.sum(a * a, 1, keepdims=True))
    turns = np.array([x.how != SHIFT for x in links], float)
    both = np.array([x.how == BOTH for x in links])
    shift = jnp.where(both, take(pitch, joint), jnp.asarray(1.0 - turns, dtype))
    return _Axis(a, jnp.asarray(turns, dtype), shift, zero)


def _local(of: _Axis, before: Array, back: Array) -> tuple[Array, Array, Array, Array]:
    """`TA` to `TD`.

    Source: the rotation about an axis `a` is `a a^T + sin(q) skew(a) + cos(q) (1 - a a^T)`.
    """
    along = of.a[:, :, None] * of.a[:, None, :]
    eye, turns = jnp.eye(3, dtype=before.dtype)[None], of.turns[:, None, None]
    flat = lambda R: jnp.pad(R, ((0, 0), (0, 1), (0, 1)))
    still = transform(turns * along + (1 - turns) * eye, jnp.zeros_like(of.a))
    sine, cosine = flat(turns * skew(of.a)), flat(turns * (eye - along))
    shift = jnp.pad((of.pitch[:, None] * of.a)[:, :, None], ((0, 0), (0, 1), (3, 0)))
    four = jnp.stack([still, sine, cosine, shift])
    TA, TB, TC, TD = products(products(before[None], four), back[None])
    s, c, z = (x[:, None, None] for x in (jnp.sin(of.zero), jnp.cos(of.zero), of.zero))
    # Of q - zero.
    return TA - z * TD, c * TB + s * TC, c * TC - s * TB, TD


def _unit_velocities(
    tree: Tree, of: _Axis, before: Array, after: Array
) -> tuple[Float[Array, "nz 3"], Float[Array, "nz 3"]]:
    """`w` and `u`, in the axes of the link that carries each."""
    parts_w, parts_u, index = [], [], []
    R, p = after[:, :3, :3], after[:, :3, 3]
    if len(tree.axis):
        direction = jnp.sum(take(R, tree.axis) * of.a[:, None, :], 2)
        turn = of.turns[:, None] * direction
        parts_w.append(turn)
        parts_u.append(cross(take(p, tree.axis), turn) + of.pitch[:, None] * direction)
        index.append(tree.axis_z)
    if len(tree.turned):
        w = jnp.swapaxes(take(R, tree.turned), 1, 2)
        u = cross(jnp.broadcast_to(take(p, tree.turned)[:, None, :], w.shape), w)
        parts_w.append(w.reshape(-1, 3))
        parts_u.append(u.reshape(-1, 3))
        index.append((tree.turned_z[:, None] + np.arange(3)).reshape(-1))
    free = np.flatnonzero(tree.free)
    if len(free):
        R0 = jnp.swapaxes(take(before, tree.turned[free])[:, :3, :3], 1, 2).reshape(-1, 3)
        parts_w.append(jnp.zeros_like(R0))
        parts_u.append(R0)
        index.append((tree.turned_z[free][:, None] - 3 + np.arange(3)).reshape(-1))
    if not index:
        none = jnp.zeros((0, 3), before.dtype)
        return none, none
    order = np.argsort(np.concatenate(index))
    return take(jnp.concatenate(parts_w), order), take(jnp.concatenate(parts_u), order)
