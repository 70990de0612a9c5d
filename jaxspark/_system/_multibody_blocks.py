"""The block structure of a multibody system, and its derivatives body by body, joint by joint."""

from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._blocks import BlockMatrix, BlockValues, computed_once, Pattern, Structure
from .._custom_types import Args, State
from ._multibody import ends, MultibodySystem, own_of


def multibody_structure(
    system: MultibodySystem, t: Any, y: State, z: State, args: Args
) -> Structure:
    """Which entries of the flat vectors belong to which body, and which bodies a row touches.

    **Raises:** `ValueError` if arrays of the state do not agree on the number of bodies, if a
    joint names one that does not exist, or if a joint's function does not return a vector.
    """
    count = number_of_bodies(y, z)
    y_index, ny = _positions(y)
    z_index, nz = _positions(z)
    sizes = np.full(count, z_index.shape[1])
    rows, labels = [], []
    for joint, values in zip(
        (*system.joints, *system.rolling),
        (*_values(system.g, "g", t, y, args), *_values(system.k, "k", t, y, z, args)),
        strict=True,
    ):
        name = joint.name
        largest = int(joint.index.max(initial=-1))
        if largest >= count:
            raise ValueError(f"{name} joins body {largest}, but there are {count} bodies.")
        if values.ndim != 2:
            raise ValueError(
                f"The function of {name} must return a vector; it returns the shape "
                f"{values.shape[1:]}."
            )
        each = values.shape[1]
        rows.append(np.repeat(joint.index, each, 0))
        labels += [f"{name} {i} row {j}" for i in range(len(joint)) for j in range(each)]
    all_rows = np.concatenate(rows) if rows else np.zeros((0, 2), int)
    holonomic = sum(value.size for value in _values(system.g, "g", t, y, args))
    del nz
    return Structure(
        Pattern(sizes, all_rows, labels=labels),
        Pattern(sizes, all_rows[:holonomic], labels=labels[:holonomic]),
        z_index,
        y_index,
        ny,
    )


def number_of_bodies(y: State, z: State) -> int:
    """The length of the first axis of all arrays in the state.

    **Raises:** `ValueError` if they have not all the same.
    """
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves((y, z))}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            "Every array in the state of a multibody system has one entry for each body along its "
            f"first axis; the lengths are {sorted(lengths)}."
        )
    return lengths.pop()


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
    rows = [_holonomic_rows(system, joint, t, y, z, args) for joint in system.joints]
    rows += [_nonholonomic_rows(system, joint, t, y, z, args) for joint in system.rolling]
    B = jnp.concatenate(rows) if rows else jnp.zeros((0, 2, K.shape[1]), K.dtype)
    v_z = None
    if system.velocity is not None:
        velocity = system.velocity

        def kinematics(z):
            return jax.vmap(lambda y, z, own: velocity(t, y, z, own, args))(y, z, own)

        v_z = _columns(kinematics, z)
    return BlockValues(BlockMatrix(K, B, diagonal=diagonal), v_z)


def _columns(function, *at):
    """The Jacobians of a function that acts on each entry along the first axis by itself.

    **Returns:** an array `(n, i, j)`, with `i` the values and `j` the unknowns of one entry.
    """
    _, pushforward = jax.linearize(function, *at)
    # What all columns need is computed once, and not for each of them again.
    pushforward = computed_once(pushforward)
    leaves, structure = jax.tree.flatten(at)
    sizes = [leaf[0].size for leaf in leaves]
    unit = np.eye(sum(sizes))

    def column(direction):
        parts = jnp.split(direction, np.cumsum(sizes)[:-1])
        pairs = zip(parts, leaves, strict=True)
        tangents = [jnp.broadcast_to(x.reshape(leaf.shape[1:]), leaf.shape) for x, leaf in pairs]
        change = pushforward(*jax.tree.unflatten(structure, tangents))
        values = [leaf.reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(change)]
        return jnp.concatenate(values, 1)

    return jax.vmap(column, out_axes=2)(jnp.asarray(unit, leaves[0].dtype))


def _holonomic_rows(system: MultibodySystem, joint, t, y, z, args):
    """`g_y v_z` of each joint, shape `(count * r, 2, q)`; zero for the ground."""
    y_a, z_a, y_b, z_b = system.ends(joint, t, y, z)
    own = own_of(joint, args)

    def constraint(y_a, y_b):
        return jax.vmap(lambda a, b, own: joint.function(t, a, b, own, args))(y_a, y_b, own)

    if system.velocity is None:
        return _without_ground(_columns(constraint, y_a, y_b), joint)
    velocity, bodies = system.velocity, system.own_rows(y, args)
    first = jax.tree.map(lambda leaf: leaf[0], bodies)
    rows = [ends(joint.index[:, side], bodies, first) for side in range(2)]

    def rate(z_a, z_b):
        each = jax.vmap(lambda y, z, own: velocity(t, y, z, own, args))
        along = each(y_a, z_a, rows[0]), each(y_b, z_b, rows[1])
        return jax.jvp(constraint, (y_a, y_b), along)[1]

    return _without_ground(_columns(rate, z_a, z_b), joint)


def _nonholonomic_rows(system: MultibodySystem, joint, t, y, z, args):
    """`k_z` of each rolling joint."""
    y_a, z_a, y_b, z_b = system.ends(joint, t, y, z)
    own = own_of(joint, args)

    def constraint(z_a, z_b):
        each = jax.vmap(lambda *at: joint.function(t, *at, args))
        return each(y_a, z_a, y_b, z_b, own)

    return _without_ground(_columns(constraint, z_a, z_b), joint)


def _without_ground(B, joint):
    count, each, both = B.shape
    B = B.reshape(count, each, 2, both // 2)
    on_ground = joint.index < 0
    if on_ground.any():
        B = jnp.where(on_ground[:, None, :, None], jnp.zeros((), B.dtype), B)
    return B.reshape(count * each, 2, both // 2)
