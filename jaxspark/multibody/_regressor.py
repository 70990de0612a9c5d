r"""Generalised forces as linear functions of the parameters of inertia.

With the pseudo-inertia `P_b` of body `b` in its own frame, its pose `T_b` and what its link needs
for each unit of pseudo-inertia, `W_b = A_b + V_b V_b - [0 | gravity]`, the generalised forces are

    tau_d = sum_b tr(S_d (W_b T_b P_b T_b^T)^T),

a sum over the bodies that velocity `d` moves. They are linear in `P_b`, and so in the mass, the
first moments and the moments of inertia about the frame's origin.

Source: C. G. Atkeson, C. H. An & J. M. Hollerbach, *Estimation of inertial parameters of
manipulator loads and links*, The International Journal of Robotics Research 5 (1986).
"""

import functools
from collections.abc import Collection, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._bodies import entry
from ._dynamics import needed
from ._kinematics import places, rates
from ._mechanism import Mechanism
from ._rotations import products
from ._tables import BODY, pseudo_inertia


# Of each body: its mass, first moments, and the entries of the inertia about the frame's origin.
TEN = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
OF_JOINTS = ("armature", "damping", "friction")


def _units() -> np.ndarray:
    """The pseudo-inertia for a unit of each of the ten, `(10, 4, 4)`."""
    out = np.zeros((10, 4, 4))
    out[0, 3, 3] = 1.0
    for k in range(3):
        out[1 + k, k, 3] = out[1 + k, 3, k] = 1.0
    for number, (i, j) in enumerate(zip(*np.triu_indices(3), strict=True)):
        inertia = np.zeros((3, 3))
        inertia[i, j] = inertia[j, i] = 1.0
        out[4 + number, :3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    return out


UNITS = _units()


def heavy_bodies(mechanism: Mechanism, bodies: Collection[str] | None) -> list[str]:
    """The names given, in the order of the mechanism; by default all with mass or inertia.

    **Raises:** `ValueError` if a name is none of the bodies.
    """
    every = mechanism.tree.bodies
    if bodies is None:
        return [x.name for x in every if x.mass > 0 or np.any(x.inertia)]
    names = [x.name for x in every]
    for name in bodies:
        if name not in names:
            raise ValueError(f"{name!r} is none of the bodies; there are {sorted(names)}.")
    return [name for name in names if name in bodies]


def regressor_names(
    mechanism: Mechanism, bodies: Collection[str] | None = None, joints: Sequence[str] = ()
) -> tuple[str, ...]:
    """The names of the columns of [`jaxspark.multibody.regressor`][]."""
    names = [f"{body}.{what}" for body in heavy_bodies(mechanism, bodies) for what in TEN]
    for what in _checked(joints):
        names += [f"{name}.{what}" for name in _velocity_names(mechanism)]
    return tuple(names)


def _checked(joints: Sequence[str]) -> Sequence[str]:
    for what in joints:
        if what not in OF_JOINTS:
            raise ValueError(f"joints has {what!r}; it may have {sorted(OF_JOINTS)}.")
    return joints


def _velocity_names(mechanism: Mechanism) -> list[str]:
    out = [""] * mechanism.tree.nz
    for name, at in mechanism.velocities(jnp.arange(mechanism.tree.nz)).items():
        for number, k in enumerate(np.asarray(at)):
            out[int(k)] = name if len(at) == 1 else f"{name}[{number}]"
    return out


def standard_parameters(
    mechanism: Mechanism,
    args: Any = None,
    bodies: Collection[str] | None = None,
    joints: Sequence[str] = (),
) -> Float[Array, " p"]:
    """The values of the parameters of [`jaxspark.multibody.regressor`][], in its order."""
    args = mechanism.parameters if args is None else args
    of = [args["bodies"][name] for name in heavy_bodies(mechanism, bodies)]
    mass, com, inertia = (jnp.stack([jnp.asarray(entry(x, k)) for x in of]) for k in BODY)
    P = pseudo_inertia(mass, com, inertia)
    second = P[:, :3, :3]
    trace = jnp.trace(second, axis1=1, axis2=2)[:, None, None]
    about = trace * jnp.eye(3, dtype=P.dtype)[None] - second
    six = about[(slice(None), *np.triu_indices(3))]
    parts = [jnp.concatenate([P[:, 3, 3:], P[:, :3, 3], six], 1).reshape(-1)]
    tables = mechanism._tables(args)
    for what in _checked(joints):
        # Dry friction is no parameter of a mechanism.
        parts.append(
            jnp.zeros_like(tables.damping) if what == "friction" else getattr(tables, what)
        )
    return jnp.concatenate(parts)


def regressor(
    mechanism: Mechanism,
    y: Any,
    z: Any,
    u: Any,
    *,
    args: Any = None,
    bodies: Collection[str] | None = None,
    joints: Sequence[str] = (),
) -> Float[Array, "*times nz p"]:
    """The generalised forces that motions need, for a unit of each parameter of inertia.

    Times the parameters it is what motors, springs and constraints together must do: inverse
    dynamics, with weight. It can be differentiated, and vectorised over states.

    **Arguments:**

    - `mechanism`: a [`jaxspark.multibody.Mechanism`][].
    - `y`, `z`, `u`: coordinates, velocities and accelerations, of one state or of many: shapes
        `(*times, ny)`, `(*times, nz)` and `(*times, nz)`.
    - `args`: parameters, of which frames, axes and gravity matter; by default the mechanism's own.
    - `bodies`: names of bodies whose inertias are parameters; by default all that have mass. Each
        has ten: its mass (kg), the first moments `m com` (kg m), and the six entries of the inertia
        about the origin of its frame (kg m^2), row by row.
    - `joints`: what else is a parameter, of each velocity: `"armature"`, `"damping"` and
        `"friction"`, the size of dry friction.

    **Returns:** the matrix; the names of its columns are `names` of
    [`jaxspark.multibody.base_parameters`][].

    **Raises:** `ValueError` if a name is none of the bodies, or `joints` has another word.

    Source: C. G. Atkeson, C. H. An & J. M. Hollerbach, *Estimation of inertial parameters of
    manipulator loads and links* (1986).
    """
    names, joints = tuple(heavy_bodies(mechanism, bodies)), tuple(_checked(joints))
    args = mechanism.parameters if args is None else args
    return _of_states(mechanism, names, joints, args, *(jnp.asarray(x) for x in (y, z, u)))


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _of_states(mechanism, names, joints, args, y, z, u):
    one = lambda y, z, u: _of_state(mechanism, names, joints, args, y, z, u)
    for _ in range(y.ndim - 1):
        one = jax.vmap(one)
    return one(y, z, u)


def _of_state(
    mechanism: Mechanism,
    names: Sequence[str],
    joints: Sequence[str],
    args: Any,
    y: Array,
    z: Array,
    u: Array,
) -> Float[Array, "nz p"]:
    tree, tables = mechanism.tree, mechanism._tables(args)
    at = places(tree, tables, y)
    eye = jnp.broadcast_to(jnp.eye(4, dtype=y.dtype), (tree.n, 4, 4))
    W = needed(tree, tables, at, eye, rates(tree, at.S, z, u), 1.0)
    numbers = {body.name: k for k, body in enumerate(tree.bodies)}
    which = np.array([numbers[name] for name in names], int)
    link = np.array([tree.link_of[k] for k in which], int)
    # Bodies that are welded to the ground need nothing.
    moving = np.where(link >= 0, link, tree.n)
    T = products(take(at.T, moving), take(tables.frames, which))
    W = take(jnp.concatenate([W, jnp.zeros((1, 3, 4), W.dtype)]), moving)
    # S_d^T W_b in the axes of the body: what each entry of its pseudo-inertia does.
    of_S = jnp.einsum("dri,bij->bdrj", at.S, T, precision="highest")
    K = jnp.einsum("bdri,brj->dbij", of_S, products(W, T), precision="highest")
    units = jnp.asarray(UNITS, y.dtype)
    columns = jnp.einsum("dbij,pij->dbp", K, units, precision="highest")
    columns = columns * jnp.asarray(tree.moves[moving].T[:, :, None], y.dtype)
    own = {"armature": u, "damping": z, "friction": jnp.sign(z)}
    parts = [columns.reshape(tree.nz, -1), *(jnp.diag(own[what]) for what in joints)]
    return jnp.concatenate(parts, 1)
