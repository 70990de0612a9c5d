"""The block structure of a multibody system, and its derivatives body by body, joint by joint."""

import math
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._blocks import BlockMatrix, BlockValues, Pattern, Structure
from .._custom_types import Args, State
from .._jax_internals import computed_once
from ._multibody import ends, MultibodySystem, own_of


def multibody_structure(
    system: MultibodySystem, t: Any, y: State, z: State, args: Args
) -> Structure:
    """Which entries of the flat vectors belong to which body, and which bodies a row touches."""
    count = jax.tree.leaves(y)[0].shape[0]
    y_index, ny = _positions(y)
    z_index, _ = _positions(z)
    sizes = np.full(count, z_index.shape[1])
    rows, labels = [], []
    for joint, values in zip(
        (*system.joints, *system.rolling),
        (*_values(system.g, "g", t, y, args), *_values(system.k, "k", t, y, z, args)),
        strict=True,
    ):
        name = joint.name
        each = values.shape[1]
        rows.append(np.repeat(joint.index, each, 0))
        labels += [f"{name} {i} row {j}" for i in range(len(joint)) for j in range(each)]
    all_rows = np.concatenate(rows) if rows else np.zeros((0, 2), int)
    holonomic = sum(value.size for value in _values(system.g, "g", t, y, args))
    return Structure(
        Pattern(sizes, all_rows, labels=labels),
        Pattern(sizes, all_rows[:holonomic], labels=labels[:holonomic]),
        z_index,
        y_index,
        ny,
    )


def _values(function: Any, name: str, *operands: Any) -> tuple[Any, ...]:
    """The shapes of what the joints return."""
    if function is None:
        return ()
    *arrays, args = operands
    try:
        return jax.eval_shape(lambda *x: function(*x, args), *arrays)
    except Exception as error:
        error.add_note(f"This happened while tracing the functions of the joints ({name}).")
        raise


def _positions(state: State) -> tuple[np.ndarray, int]:
    """Where the entries of each body are in the raveled state, and how many there are."""
    columns, offset = [], 0
    for leaf in jax.tree.leaves(state):
        columns.append(offset + np.arange(leaf.size).reshape(leaf.shape[0], -1))
        offset += leaf.size
    return np.concatenate(columns, 1), offset


def multibody_blocks(
    system: MultibodySystem, t: Any, y: State, z: State, args: Args
) -> BlockValues:
    """`p_z` of every body and `g_y v_z`, `k_z` of every joint, by forward derivatives of each.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, equations (2) and (3).
    """
    own = system.own_rows(y, args)
    mass = jax.vmap(lambda y, own: system.mass(t, y, own, args))(y, own)
    diagonal = mass.ndim == 2
    K = jax.vmap(jnp.diag)(mass) if diagonal else mass
    velocity, v_z, ydot = system.velocity, None, z
    if velocity is not None:

        def kinematics(z):
            return jax.vmap(lambda y, z, own: velocity(t, y, z, own, args))(y, z, own)

        ydot, along = jax.linearize(kinematics, z)
        v_z = _columns(along, (z,))
    parts = [_rows(system, joint, _rate(system, joint, y, args), t, y, z, ydot)
             for joint in system.joints]  # fmt: skip
    parts += [_rows(system, joint, _speed(joint, args), t, y, z, ydot) for joint in system.rolling]
    if parts:
        B, bias = (jnp.concatenate(x) for x in zip(*parts, strict=True))
    else:
        B, bias = jnp.zeros((0, 2, K.shape[1]), K.dtype), jnp.zeros(0, K.dtype)
    return BlockValues(BlockMatrix(K, B, diagonal=diagonal), v_z, bias)


def _rate(system: MultibodySystem, joint, y, args):
    """`g_t + g_y v` of all joints of a kind."""
    own, velocity = own_of(joint, args), system.velocity

    def constraint(t, y_a, y_b):
        return jax.vmap(lambda a, b, own: joint.function(t, a, b, own, args))(y_a, y_b, own)

    def rate(t, y_a, z_a, y_b, z_b):
        v_a, v_b = z_a, z_b
        if velocity is not None:
            v = velocity
            bodies = system.own_rows(y, args)
            first = jax.tree.map(lambda leaf: leaf[0], bodies)
            row_a, row_b = (ends(joint.index[:, side], bodies, first) for side in range(2))
            each = jax.vmap(lambda y, z, own: v(t, y, z, own, args))
            v_a, v_b = each(y_a, z_a, row_a), each(y_b, z_b, row_b)
            v_a, v_b = _still(joint, 0, v_a), _still(joint, 1, v_b)
        return jax.jvp(constraint, (t, y_a, y_b), (jnp.ones_like(t), v_a, v_b))[1]

    return rate


def _still(joint, side: int, v):
    """The ground stays where it is, whatever its velocity would make of its coordinates."""
    on_ground = joint.index[:, side] < 0
    if not on_ground.any():
        return v

    def of(leaf):
        mask = on_ground.reshape(-1, *[1] * (leaf.ndim - 1))
        return jnp.where(mask, jnp.zeros((), leaf.dtype), leaf)

    return jax.tree.map(of, v)


def _speed(joint, args):
    """`k` of all rolling joints of a kind."""
    own = own_of(joint, args)

    def speed(t, y_a, z_a, y_b, z_b):
        each = jax.vmap(lambda *at: joint.function(t, *at, args))
        return each(y_a, z_a, y_b, z_b, own)

    return speed


def _rows(system: MultibodySystem, joint, function, t, y, z, ydot):
    """The derivative by the velocities of each joint's two bodies, and along the motion.

    **Returns:** the rows, shape `(count * r, 2, q)`, zero for the ground; and what the second
    derivative has besides them and the accelerations, shape `(count * r,)`.
    """
    y_a, z_a, y_b, z_b = system.ends(joint, t, y, z)
    still = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), ydot)
    v_a, v_b = (ends(joint.index[:, side], ydot, still) for side in range(2))
    _, pushforward = jax.linearize(function, t, y_a, z_a, y_b, z_b)
    # What all columns need is computed once, and not for each of them again.
    pushforward = computed_once(pushforward)
    nothing = jax.tree.map(jnp.zeros_like, (t, y_a, z_a, y_b, z_b))

    def by_velocities(z_a, z_b):
        # A derivative of what is linear: parts whose factors are zero are never computed.
        return jax.jvp(
            lambda z_a, z_b: pushforward(nothing[0], nothing[1], z_a, nothing[3], z_b),
            (nothing[2], nothing[4]), (z_a, z_b),
        )[1]  # fmt: skip

    bias = jax.jvp(
        lambda t, y_a, y_b: pushforward(t, y_a, nothing[2], y_b, nothing[4]),
        (nothing[0], nothing[1], nothing[3]), (jnp.ones_like(t), v_a, v_b),
    )[1]  # fmt: skip
    return _without_ground(_columns(by_velocities, (z_a, z_b)), joint), bias.reshape(-1)


def _columns(pushforward, like):
    """The matrices of a linear function that acts on each entry of the first axis by itself.

    **Returns:** an array `(n, i, j)`, with `i` the values and `j` the unknowns of one entry.
    """
    leaves, structure = jax.tree.flatten(like)
    sizes = [math.prod(leaf.shape[1:]) for leaf in leaves]

    def column(direction):
        parts = jnp.split(direction, np.cumsum(sizes)[:-1])
        pairs = zip(parts, leaves, strict=True)
        tangents = [jnp.broadcast_to(x.reshape(leaf.shape[1:]), leaf.shape) for x, leaf in pairs]
        change = pushforward(*jax.tree.unflatten(structure, tangents))
        values = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(change)]
        return jnp.concatenate(values, 1)

    return jax.vmap(column, out_axes=2)(jnp.asarray(np.eye(sum(sizes)), leaves[0].dtype))


def _without_ground(B, joint):
    count, each, both = B.shape
    B = B.reshape(count, each, 2, both // 2)
    on_ground = joint.index < 0
    if on_ground.any():
        B = jnp.where(on_ground[:, None, :, None], jnp.zeros((), B.dtype), B)
    return B.reshape(count * each, 2, both // 2)
