"""The functions of a multibody system checked against one body and one joint, by name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import Args, State
from ._check import check_like
from ._joints import ForceElement, Joint
from ._multibody import MultibodySystem, own_of


def check_multibody(system: MultibodySystem, t: Any, y: State, z: State, args: Args) -> None:
    """Check a system against a state, before its functions are mapped over all bodies.

    **Raises:** `ValueError` or `TypeError` that names what is wrong: the state, the ground, the
    parameters, the mass, a force or a joint.
    """
    count = number_of_bodies(y, z)
    body_y, body_z = _one(y), _one(z)
    check_like("ground", system.ground_like(y), body_y, "the coordinates of one body")
    own = _one_row("own of the bodies", system.own_rows(y, args), count)
    _check_mass(system, t, body_y, body_z, own, args)
    force = _shape("force", lambda *at: system.force(*at, args), t, body_y, body_z, own)
    check_like("force", force, body_z, "the velocities of one body")
    if system.velocity is not None:
        velocity = system.velocity
        out = _shape("velocity", lambda *at: velocity(*at, args), t, body_y, body_z, own)
        check_like("velocity", out, body_y, "the coordinates of one body")
    ends = body_y, body_z, body_y, body_z
    for joint in (*system.joints, *system.rolling, *system.elements):
        largest = int(joint.index.max(initial=-1))
        if largest >= count:
            raise ValueError(f"{joint.name} joins body {largest}, but there are {count} bodies.")
        row = _one_row(f"own of {joint.name}", own_of(joint, args), len(joint))
        at = (body_y, body_y) if isinstance(joint, Joint) else ends
        function = joint.function
        out = _shape(joint.name, lambda *x, f=function: f(*x, args), t, *at, row)
        if isinstance(joint, ForceElement):
            _check_pair(joint.name, out, body_z)
        elif len(jax.tree.leaves(out)) != 1 or not hasattr(out, "ndim") or out.ndim != 1:
            shapes = jax.tree.map(jnp.shape, out)
            raise ValueError(
                f"The function of {joint.name} must return a vector; it returns {shapes}."
            )


def number_of_bodies(y: State, z: State) -> int:
    """The length of the first axis of all arrays in the state.

    **Raises:** `ValueError` if they have not all the same.
    """
    leaves = jax.tree.leaves((y, z))
    lengths = {leaf.shape[0] if leaf.ndim else "none, of a scalar" for leaf in leaves}
    if len(lengths) != 1 or not isinstance(next(iter(lengths)), int) or 0 in lengths:
        raise ValueError(
            "Every array in the state of a multibody system has one entry for each body along its "
            f"first axis; the lengths are {sorted(lengths, key=str)}."
        )
    return jax.tree.leaves(y)[0].shape[0]


def _one(state: State) -> Any:
    """The shapes of one body's part of the state."""
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), state)


def _one_row(name: str, rows: Any, count: int) -> Any:
    """The shapes of what one of them has of its own."""

    def of(leaf):
        leaf = jnp.asarray(leaf)
        if leaf.ndim == 0 or leaf.shape[0] != count:
            raise ValueError(
                f"{name} must have {count} entries along the first axis of every array; one has "
                f"the shape {leaf.shape}."
            )
        return jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)

    return jax.tree.map(of, rows)


def _shape(name: str, function: Callable[..., Any], *operands: Any) -> Any:
    try:
        return jax.eval_shape(function, *operands)
    except Exception as error:
        error.add_note(f"This happened while tracing the function {name} for one of many.")
        raise


def _check_mass(system: MultibodySystem, t, y, z, own, args) -> None:
    mass = _shape("mass", lambda t, y, own: jnp.asarray(system.mass(t, y, own, args)), t, y, own)
    q = sum(leaf.size for leaf in jax.tree.leaves(z))
    if mass.shape not in ((q,), (q, q)):
        raise ValueError(
            f"mass must return the diagonal, shape ({q},), or the matrix, shape ({q}, {q}), of one "
            f"body with {q} velocities; it returns the shape {mass.shape}."
        )
    if not jnp.issubdtype(mass.dtype, jnp.floating):
        raise TypeError(f"mass returns dtype {mass.dtype}; masses are floating-point numbers.")


def _check_pair(name: str, out: Any, body_z: Any) -> None:
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        raise ValueError(
            f"The function of {name} must return a pair: the forces on its two bodies; it returns "
            f"{jax.tree.map(jnp.shape, out)}."
        )
    for side, part in zip(("first", "second"), out, strict=True):
        check_like(f"The {side} force of {name}", part, body_z, "the velocities of one body")
