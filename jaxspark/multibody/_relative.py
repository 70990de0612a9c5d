"""Coordinates of joints that are cut, which the tree does not have: from the motions of bodies."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._angles import quaternion_of
from ._joints import BALL, FREE, Joint, SHIFT
from ._kinematics import homogeneous
from ._reactions import frames, Motions, numbers, vee
from ._rotations import products
from ._tables import Tables
from ._tree import Tree


class JointMotion(NamedTuple):
    """How a joint moves; a leading axis are times.

    - `coordinates`: (rad, m), or a unit quaternion after positions if there are any.
    - `velocities`: (rad/s, m/s), those of a quaternion being the angular velocity in the axes of
        the child; `accelerations`: their rates.
    """

    coordinates: Float[Array, "*times y"]
    velocities: Float[Array, "*times z"]
    accelerations: Float[Array, "*times z"]


class Relative(NamedTuple):
    """Of a joint's frame on the child in that on the parent, in axes of the latter."""

    R: Float[Array, "3 3"]
    w: Float[Array, " 3"]
    dw: Float[Array, " 3"]
    x: Float[Array, " 3"]
    dx: Float[Array, " 3"]
    ddx: Float[Array, " 3"]


def of_cut_joints(tree: Tree, tables: Tables, bodies: Motions) -> dict[str, JointMotion]:
    """Of each joint that is cut and has coordinates, by name; angles are between -pi and pi."""
    cut = np.array(tree.loops, int)
    F, G = (take(x, cut) for x in frames(tree, tables, bodies))
    a, b = (numbers(tree, side)[cut] for side in ("parent", "child"))
    V_a, D = take(bodies.V, a), take(bodies.V, b) - take(bodies.V, a)
    # As in the second derivatives of loops.
    E = take(bodies.A, b) - take(bodies.A, a)
    E = E - products(V_a[:, :, :3], D) + products(D[:, :, :3], take(bodies.V, b))
    back = jnp.swapaxes(F[:, :3, :3], 1, 2)
    into = lambda v: jnp.sum(back * v[:, None, :], 2)
    point = homogeneous(G[:, :3, 3])[:, None, :]
    parts = (
        products(back, G[:, :3, :3]), into(vee(D[:, :, :3])), into(vee(E[:, :, :3])),
        into(G[:, :3, 3] - F[:, :3, 3]), into(jnp.sum(D * point, 2)), into(jnp.sum(E * point, 2)),
    )  # fmt: skip
    out = {}
    for row, number in enumerate(tree.loops):
        joint = tree.joints[number]
        if joint.elements:
            of = Relative(*(x[row] for x in parts))
            out[joint.name] = joint_motion(joint, tables.args["joints"][joint.name], of)
    return out


def joint_motion(joint: Joint, own: Any, of: Relative) -> JointMotion:
    """Its coordinates and their rates; `own` are its parameters."""
    kind = joint.elements[0][0]
    if kind in (BALL, FREE):
        turned = (quaternion_of(of.R), of.R.T @ of.w, of.R.T @ of.dw)
        if kind == BALL:
            return JointMotion(*turned)
        shifted = zip((of.x, of.dx, of.ddx), turned, strict=True)
        return JointMotion(*(jnp.concatenate(pair) for pair in shifted))
    axes = own["axes"] / jnp.sqrt(jnp.sum(own["axes"] ** 2, 1, keepdims=True))
    q, v, a = [], [], []
    for k, (_, how) in enumerate(joint.elements):
        axis = axes[joint.element_axis(k)]
        if how == SHIFT:
            q, v, a = [*q, axis @ of.x], [*v, axis @ of.dx], [*a, axis @ of.ddx]
            continue
        angle, axis = turn(joint.element_axis(k), turns(joint), axes, of.R)
        # Axes of a universal joint are perpendicular, and to the product of their rates, too.
        q, v, a = [*q, angle], [*v, axis @ of.w], [*a, axis @ of.dw]
    return JointMotion(jnp.stack(q) + own["zero"], jnp.stack(v), jnp.stack(a))


def turns(joint: Joint) -> int:
    """How many angles it has."""
    return sum(how != SHIFT for _, how in joint.elements)


def turn(which: int, count: int, axes: Array, R: Array) -> tuple[Array, Array]:
    """An angle about one of `axes`, and that axis as the joint carries it."""
    first, second, third = axes
    if count == 1:
        turned = R @ first
        return jnp.arctan2(second @ turned, first @ turned), third
    # About the third, which the parent carries, and then about the second, which the child does.
    if which == 2:
        turned = R @ second
        return jnp.arctan2(-first @ turned, second @ turned), third
    turned = R.T @ third
    return jnp.arctan2(-first @ turned, third @ turned), R @ second
