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
            body.name: {name: jnp.asarray(getattr(body, name)) for name in BODY}
            for body in tree.bodies
        },
        "joints": {
            joint.name: {name: jnp.asarray(getattr(joint, name)) for name in JOINT}
            for joint in tree.joints
        },
        "gravity": jnp.asarray(gravity),
    }


def _stacked(args: Any, kind: str, names: Any, what: str, shape: tuple[int, ...]) -> Array:
    rows = [jnp.asarray(args[kind][name][what]) for name in names]
    return jnp.stack(rows) if rows else jnp.zeros((0, *shape))


def pseudo_inertia(
    mass: Float[Array, " n"], com: Float[Array, "n 3"], inertia: Float[Array, "n 3 3"]
) -> Float[Array, "n 4 4"]:
    """`[[sum m x x^T, sum m x], [sum m x^T, sum m]]` of bodies, about their frames' origins."""
    trace = jnp.trace(inertia, axis1=-2, axis2=-1)[:, None, None]
    second = 0.5 * trace * jnp.eye(3, dtype=inertia.dtype) - inertia
    point = jnp.concatenate([com, jnp.ones_like(com[:, :1])], 1)
    return jnp.pad(second, ((0, 0), (0, 1), (0, 1))) + mass[:, None, None] * (
        point[:, :, None] * point[:, None, :]
    )


def frames_of(tree: Tree, P: Array, C: Array) -> list[Array]:
    """The frame of each body in its link; the ground is the last."""
    eye = jnp.eye(4, dtype=P.dtype)
    frames: dict[int, Array] = {-1: eye}
    numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {"ground": -1}
    for body, number, backward in tree.order:
        joint = tree.joints[number]
        if joint.elements:
            frames[body] = eye
            continue
        own, other = (C, P) if backward else (P, C)
        carrier = frames[numbers[joint.child if backward else joint.parent]]
        frames[body] = products(products(carrier, own[number]), inverse(other[number]))
    return [frames[k] for k in (*range(len(tree.bodies)), -1)]


def tables_of(tree: Tree, loops: Any, args: Any) -> Tables:
    """Everything that is constant while the mechanism moves."""
    names = [joint.name for joint in tree.joints]
    of_joints = lambda what, *shape: _stacked(args, "joints", names, what, shape)
    P = transform(rotation(of_joints("quaternion", 4)), of_joints("position", 3))
    C = transform(rotation(of_joints("child_quaternion", 4)), of_joints("child_position", 3))
    axes = of_joints("axes", 3, 3)
    frames = jnp.stack(frames_of(tree, P, C))
    bodies = [body.name for body in tree.bodies]
    sigma = pseudo_inertia(
        _stacked(args, "bodies", bodies, "mass", ()),
        _stacked(args, "bodies", bodies, "com", (3,)),
        _stacked(args, "bodies", bodies, "inertia", (3, 3)),
    )
    in_link = products(products(frames[:-1], sigma), jnp.swapaxes(frames[:-1], 1, 2))
    place = np.zeros((tree.n, len(bodies)))
    for body, link in tree.link_of.items():
        if body >= 0 and link >= 0:
            place[link, body] = 1.0
    inertia = jnp.tensordot(jnp.asarray(place, in_link.dtype), in_link, 1)
    own, tail = _sides(tree, P, C, frames)
    geometry = _geometry(tree, args, own, tail, axes)
    of_z = lambda what: _of_velocities(tree, args, what)
    rest = [args["joints"][names[x.joint]]["rest"][x.element] for x in _axis_links(tree)]
    rows = loops.constants(args, P, C, axes, frames)
    dtype = frames.dtype
    return Tables(
        *geometry, inertia, frames, of_z("damping"), of_z("stiffness"),
        jnp.stack(rest) if rest else jnp.zeros(0, dtype), of_z("armature"),
        jnp.asarray(args["gravity"], dtype), *rows, args,
    )  # fmt: skip


def _axis_links(tree: Tree) -> list[Any]:
    return [tree.links[i] for i in tree.axis]


def _of_velocities(tree: Tree, args: Any, what: str) -> Array:
    parts = []
    for link in tree.links:
        values = args["joints"][tree.joints[link.joint].name][what]
        parts.append(values[link.element : link.element + 1] if link.kind == "axis" else values)
    return jnp.concatenate(parts) if parts else jnp.zeros(0)


def _sides(tree: Tree, P: Array, C: Array, frames: Array) -> tuple[Array, Array]:
    """What stands before and after the motion of each link."""
    eye = jnp.eye(4, dtype=P.dtype)
    before, after = [], []
    for link in tree.links:
        near, far = (C, P) if link.backward else (P, C)
        before.append(products(frames[link.carrier], near[link.joint]) if link.first else eye)
        after.append(far[link.joint] if link.last else eye)
    return jnp.stack(before), jnp.stack(after)


def _geometry(tree: Tree, args: Any, before: Array, after: Array, axes: Array) -> tuple:
    """`TA` to `TQ`, `w` and `u`."""
    dtype = before.dtype
    back = inverse(after)
    which = np.array([tree.joints[x.joint].element_axis(x.element) for x in _axis_links(tree)], int)
    joints = np.array([x.joint for x in _axis_links(tree)], int)
    sign = np.array([-1.0 if x.backward else 1.0 for x in _axis_links(tree)])
    a = axes[joints, which] * jnp.asarray(sign, dtype)[:, None]
    a = a / jnp.sqrt(jnp.sum(a * a, 1, keepdims=True))
    of_link = lambda what: [
        args["joints"][tree.joints[x.joint].name][what] for x in _axis_links(tree)
    ]
    zero = [x[link.element] for x, link in zip(of_link("zero"), _axis_links(tree), strict=True)]
    zero = jnp.stack(zero) if zero else jnp.zeros(0, dtype)
    pitch = [
        jnp.asarray({SHIFT: 1.0, BOTH: p}.get(link.how, 0.0), dtype)
        for p, link in zip(of_link("pitch"), _axis_links(tree), strict=True)
    ]
    pitch = jnp.stack(pitch) if pitch else jnp.zeros(0, dtype)
    turns = jnp.asarray([0.0 if x.how == SHIFT else 1.0 for x in _axis_links(tree)], dtype)
    along = a[:, :, None] * a[:, None, :]
    eye, none = jnp.eye(3, dtype=dtype), jnp.zeros_like(a)
    turns_ = turns[:, None, None]
    still = transform(jnp.where(turns_ > 0, along, eye), none)
    flat = lambda R: jnp.pad(R, ((0, 0), (0, 1), (0, 1)))
    sine, cosine = flat(turns_ * skew(a)), flat(turns_ * (eye - along))
    shift = jnp.zeros_like(still).at[:, :3, 3].set(pitch[:, None] * a)
    own, rest = take(before, tree.axis), take(back, tree.axis)
    around = lambda M: products(products(own, M), rest)
    s, c, z = jnp.sin(zero)[:, None, None], jnp.cos(zero)[:, None, None], zero[:, None, None]
    TA, TB, TC, TD = around(still), around(sine), around(cosine), around(shift)
    # Of q - zero.
    TA, TB, TC = TA - z * TD, c * TB + s * TC, c * TC - s * TB
    w, u = [], []
    of_axis = {int(i): k for k, i in enumerate(tree.axis)}
    for number, link in enumerate(tree.links):
        R, p = after[number, :3, :3], after[number, :3, 3]
        if link.kind == "axis":
            k = of_axis[number]
            direction = jnp.sum(R * a[k], 1)
            w.append((turns[k] * direction)[None])
            u.append((turns[k] * cross(p, direction) + pitch[k] * direction)[None])
            continue
        if link.kind == "free":
            R0 = before[number, :3, :3]
            w.append(jnp.zeros((3, 3), dtype))
            u.append(R0.T)
        w.append(R.T)
        u.append(cross(jnp.broadcast_to(p, (3, 3)), R.T))
    join = lambda parts: jnp.concatenate(parts) if parts else jnp.zeros((0, 3), dtype)
    TP, TQ = take(before, tree.turned), take(back, tree.turned)
    return TA, TB, TC, TD, TP, TQ, join(w), join(u)
