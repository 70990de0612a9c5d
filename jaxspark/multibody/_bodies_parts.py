"""One body, one joint, one force element in coordinates of bodies.

A body has the coordinates `(x, quaternion)` and the velocities `(x', w)`: of its centre of mass in
the axes of the ground, and about its own axes.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._joints import AXIS, Joint, SHIFT
from ._kinematics import homogeneous
from ._reactions import vee
from ._relative import Relative, turn, turns
from ._rotations import cross, products, quaternion_rate, rotation, skew, transform


def shifted(T: Float[Array, "4 4"], com: Float[Array, " 3"]) -> Float[Array, "4 4"]:
    """A frame in axes of a body, seen from its centre of mass."""
    return transform(T[:3, :3], T[:3, 3] - com)


def pose(y: Float[Array, " 7"]) -> Float[Array, "4 4"]:
    """The transform of the frame at a body's centre of mass."""
    return transform(rotation(y[3:]), y[:3])


def motion(T: Float[Array, "4 4"], z: Float[Array, " 6"]) -> Float[Array, "3 4"]:
    """`[skew(w) | u]` in the axes of the ground."""
    w = jnp.sum(T[:3, :3] * z[3:][None, :], 1)
    return jnp.concatenate([skew(w), (z[:3] - cross(w, T[:3, 3]))[:, None]], 1)


def generalised(T: Float[Array, "4 4"], wrench: Float[Array, "3 4"]) -> Float[Array, " 6"]:
    """The forces on the velocities of a body, of a wrench."""
    force = wrench[:, 3]
    # A wrench has half of the torque above and below its diagonal.
    torque = 2 * vee(wrench[:, :3]) - cross(T[:3, 3], force)
    return jnp.concatenate([force, jnp.sum(T[:3, :3] * torque[:, None], 0)])


def velocity(t: Any, y: Array, z: Array, own: Any, args: Any) -> Float[Array, " 7"]:
    """The derivatives of the coordinates of a body."""
    del t, own, args
    return jnp.concatenate([z[:3], quaternion_rate(y[3:], z[3:])])


def mass(t: Any, y: Array, own: Any, args: Any) -> Float[Array, "6 6"]:
    """The mass matrix of a body."""
    del t, y, args
    zero = jnp.zeros((3, 3), own["inertia"].dtype)
    shift = own["mass"] * jnp.eye(3, dtype=zero.dtype)
    return jnp.concatenate(
        [jnp.concatenate([shift, zero], 1), jnp.concatenate([zero, own["inertia"]], 1)]
    )


def weight(t: Any, y: Array, z: Array, own: Any, args: Any) -> Float[Array, " 6"]:
    """Weight, and the torque of the body's axes that turn."""
    del t, y
    spin = jnp.sum(own["inertia"] * z[3:][None, :], 1)
    return jnp.concatenate([own["mass"] * args.gravity, -cross(z[3:], spin)])


def closes(rows: Sequence[tuple[int, int | None]], t: Any, a: Array, b: Array, own: Any) -> Array:
    """The rows of a joint between two bodies, see `_joints.rows`."""
    del t
    A, B = products(pose(a), own["P"]), products(pose(b), own["C"])
    apart, out = B[:3, 3] - A[:3, 3], []
    first = jnp.sum(A[None, :3, :3] * own["axes"][:, None, :], 2)
    second = jnp.sum(B[None, :3, :3] * own["axes"][:, None, :], 2)
    for axis, other in rows:
        out.append(jnp.sum(first[axis] * (apart if other is None else second[other])))
    return jnp.stack(out)


def relative(a: Array, z_a: Array, b: Array, z_b: Array, own: Any) -> tuple[Relative, Array, Array]:
    """How a joint moves, and its frames on the parent and the child."""
    T_a, T_b = pose(a), pose(b)
    A, B = products(T_a, own["P"]), products(T_b, own["C"])
    D = motion(T_b, z_b) - motion(T_a, z_a)
    into = lambda v: jnp.sum(A[:3, :3] * v[:, None], 0)
    w, dx = into(vee(D[:, :3])), into(jnp.sum(D * homogeneous(B[:3, 3])[None, :], 1))
    none = jnp.zeros_like(w)
    R = jnp.sum(A[:3, :3, None] * B[:3, None, :3], 0)
    return Relative(R, w, none, into(B[:3, 3] - A[:3, 3]), dx, none), A, B


def along_axes(joint: Joint, of: Relative, A: Array, B: Array, own: Any, force: Array) -> Array:
    """The wrench on the child of forces along and about the axes of a joint."""
    if joint.elements[0][0] != AXIS:
        shifts = force.size - 3
        to_ground = lambda T, v: jnp.sum(T[:3, :3] * v[None, :], 1)
        torque = to_ground(B, force[shifts:])
        pull = to_ground(A, force[:3]) if shifts else jnp.zeros_like(torque)
        return _wrench(pull, torque, B[:3, 3])
    pull = torque = jnp.zeros(3, force.dtype)
    axes = own["axes"]
    for k, (_, how) in enumerate(joint.elements):
        which = joint.element_axis(k)
        axis = axes[which] if how == SHIFT else turn(which, turns(joint), axes, of.R)[1]
        axis = jnp.sum(A[:3, :3] * axis[None, :], 1)
        if how == SHIFT:
            pull = pull + force[k] * axis
        else:
            torque = torque + force[k] * axis
    return _wrench(pull, torque, B[:3, 3])


def _wrench(force: Array, torque: Array, point: Array) -> Float[Array, "3 4"]:
    return jnp.concatenate([0.5 * skew(torque), jnp.zeros((3, 1), force.dtype)], 1) + (
        force[:, None] * homogeneous(point)[None, :]
    )
