"""The block structure of a multibody system, and its derivatives body by body, joint by joint."""

from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._blocks import BlockMatrix, BlockValues, Pattern, Structure
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
    K = jax.vmap(lambda y, own: _matrix(system.mass(t, y, own, args)))(y, own)
    rows = [_holonomic_rows(system, joint, t, y, z, args) for joint in system.joints]
    rows += [_nonholonomic_rows(system, joint, t, y, z, args) for joint in system.rolling]
    B = jnp.concatenate(rows) if rows else jnp.zeros((0, 2, K.shape[1]), K.dtype)
    v_z = None
    if system.velocity is not None:
        velocity = system.velocity
        v_z = jax.vmap(lambda y, z, own: _jacobian(lambda z: velocity(t, y, z, own, args), z))(
            y, z, own
        )
    return BlockValues(BlockMatrix(K, B), v_z)


def _matrix(mass):
    return jnp.diag(mass) if mass.ndim == 1 else mass


def _jacobian(function, at):
    """The Jacobian of a function of PyTrees, as a matrix."""
    flat, unravel = jax.flatten_util.ravel_pytree(at)
    return jax.jacfwd(lambda x: jax.flatten_util.ravel_pytree(function(unravel(x)))[0])(flat)


def _holonomic_rows(system: MultibodySystem, joint, t, y, z, args):
    """`g_y v_z` of each joint, shape `(count * r, 2, q)`; zero for the ground."""
    y_a, z_a, y_b, z_b = system.ends(joint, t, y, z)
    sides = (joint.index[:, 0], joint.index[:, 1])
    own, bodies = own_of(joint, args), system.own_rows(y, args)
    still = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), bodies)
    rows = [ends(side, bodies, still) for side in sides]

    def of(y_a, z_a, row_a, y_b, z_b, row_b, own):
        if system.velocity is None:
            return _jacobian(lambda both: joint.function(t, *both, own, args), (y_a, y_b))
        velocity = system.velocity

        def rate(both):
            v = tuple(
                velocity(t, y, z, row, args)
                for y, z, row in zip((y_a, y_b), both, (row_a, row_b), strict=True)
            )
            at = (y_a, y_b)
            return jax.jvp(lambda *both: joint.function(t, *both, own, args), at, v)[1]

        return _jacobian(rate, (z_a, z_b))

    B = jax.vmap(of)(y_a, z_a, rows[0], y_b, z_b, rows[1], own)
    return _without_ground(B, joint)


def _nonholonomic_rows(system: MultibodySystem, joint, t, y, z, args):
    """`k_z` of each rolling joint."""
    y_a, z_a, y_b, z_b = system.ends(joint, t, y, z)

    def of(y_a, z_a, y_b, z_b, own):
        def constraint(both):
            return joint.function(t, y_a, both[0], y_b, both[1], own, args)

        return _jacobian(constraint, (z_a, z_b))

    return _without_ground(jax.vmap(of)(y_a, z_a, y_b, z_b, own_of(joint, args)), joint)


def _without_ground(B, joint):
    count, each, both = B.shape
    B = B.reshape(count, each, 2, both // 2)
    on_ground = joint.index < 0
    if on_ground.any():
        B = jnp.where(on_ground[:, None, :, None], jnp.zeros((), B.dtype), B)
    return B.reshape(count * each, 2, both // 2)
