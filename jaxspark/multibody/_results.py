"""What a motion is in the words of bodies and joints, by name."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._blocks import take
from .._custom_types import FloatScalar
from .._system import as_args, as_state
from ._angles import quaternion_of
from ._bodies import entry
from ._closure import Loops
from ._kinematics import homogeneous, places, rates
from ._reactions import (
    accelerations_of,
    frames,
    Motions,
    motions,
    needed,
    numbers,
    of_all_rows,
    of_cut_joints as wrenches_of_cut_joints,
    Transmitted,
    transmitted,
    vee,
)
from ._relative import JointMotion, of_cut_joints
from ._rotations import products
from ._rows import Moving
from ._tables import Tables


FRAMES = ("ground", "joint", "parent", "child")


class BodyMotion(NamedTuple):
    """How a body moves, in the axes of the ground; a leading axis are times.

    - `position`, `velocity`, `acceleration`: of the origin of its frame (m, m/s, m/s^2).
    - `com`, `com_velocity`, `com_acceleration`: of its centre of mass.
    - `rotation`: the matrix from its axes to those of the ground; `quaternion`: the same as
        `(w, x, y, z)`, continuous along the times. [`jaxspark.multibody.angles`][] gives angles.
    - `angular_velocity`, `angular_acceleration`: (rad/s, rad/s^2).
    """

    position: Float[Array, "*times 3"]
    velocity: Float[Array, "*times 3"]
    acceleration: Float[Array, "*times 3"]
    com: Float[Array, "*times 3"]
    com_velocity: Float[Array, "*times 3"]
    com_acceleration: Float[Array, "*times 3"]
    rotation: Float[Array, "*times 3 3"]
    quaternion: Float[Array, "*times 4"]
    angular_velocity: Float[Array, "*times 3"]
    angular_acceleration: Float[Array, "*times 3"]


class Wrench(NamedTuple):
    """A force (N) and a torque (N m) at a point; a leading axis are times."""

    force: Float[Array, "*times 3"]
    torque: Float[Array, "*times 3"]


class Results(eqx.Module):
    """A motion by the names of bodies, joints and forces; see `Mechanism.results`.

    All arrays have the times as their leading axis, or none for a single state.

    - `ts`: the times.
    - `bodies`: a [`jaxspark.multibody.BodyMotion`][] each.
    - `joints`: a [`jaxspark.multibody.JointMotion`][] each, of those with coordinates. Of joints
        that close loops, angles are between -pi and pi.
    - `kinetic`, `potential`: energies (J), as of `Mechanism.energy`.
    - `reactions`: a [`jaxspark.multibody.Wrench`][] of each joint: what its constraint exerts on
        the child, with the torque about the joint's frame on the child. It does no work.
    - `transmitted`: the same with what springs, dampers, motors, couplings, friction and armature
        exert along the joint's coordinates: all that the parent exerts on the child in this joint.
    - `motors`: forces and torques of motors (N, N m), shapes `(k,)`.
    - `multipliers`: of couplings and other constraints, shapes `(rows,)`: their forces are minus
        the constraint's derivative times the multiplier.

    Of redundant constraints only sums are determined: multipliers are those of minimum norm. Loads
    of a [`jaxspark.multibody.JointFriction`][] there are those of the equations that are kept.
    """

    ts: Float[Array, "*times"]
    bodies: dict[str, BodyMotion]
    joints: dict[str, JointMotion]
    kinetic: Float[Array, "*times"]
    potential: Float[Array, "*times"]
    reactions: dict[str, Wrench]
    transmitted: dict[str, Wrench]
    motors: dict[str, Array]
    multipliers: dict[str, Array]


def results(mechanism: Any, solution: Any, args: Any, frame: str) -> Results:
    """See `Mechanism.results`."""
    if frame not in FRAMES:
        raise ValueError(f"frame must be one of {', '.join(FRAMES)}; got {frame!r}.")
    t, y, z = _states(mechanism, solution)
    args = mechanism.parameters if args is None else args
    args = args if isinstance(args, Tables) else as_args(args, y.dtype)
    return _evaluated(mechanism, frame, args, t, y, z)


def _states(mechanism: Any, solution: Any) -> tuple[Array, Array, Array]:
    names = ("ts", "ys", "zs")
    if isinstance(solution, tuple) and len(solution) == 3:
        t, y, z = solution
    elif all(hasattr(solution, name) for name in names):
        t, y, z = (getattr(solution, name) for name in names)
    else:
        raise TypeError(
            "Results are those of a solution of jaxspark.solve, or of a state (t, y, z); got "
            f"{type(solution).__name__}."
        )
    y = as_state("y", y)
    t, z = jnp.asarray(t, y.dtype), jnp.asarray(z, y.dtype)
    # Controllers may have states beside the coordinates.
    ny, nz = (sum(len(at[k]) for at in mechanism._at.values()) for k in (0, 1))
    if y.shape != (*t.shape, ny) or z.shape != (*t.shape, nz):
        raise ValueError(
            f"Of times of shape {t.shape} this mechanism has y of shape {(*t.shape, ny)} and z of "
            f"shape {(*t.shape, nz)}; got {y.shape} and {z.shape}."
        )
    return t, y, z


@eqx.filter_jit
def _evaluated(mechanism: Any, frame: str, args: Any, t: Array, y: Array, z: Array) -> Results:
    tables = mechanism.system.prepared(args)
    function = lambda t, y, z: _at_state(mechanism, tables, frame, t, y, z)
    for _ in range(t.ndim):
        function = jax.vmap(function)
    out = function(t, y, z)
    if not t.ndim:
        return out
    bodies = {
        name: x._replace(quaternion=_continuous(x.quaternion)) for name, x in out.bodies.items()
    }
    return eqx.tree_at(lambda x: x.bodies, out, bodies)


def _continuous(q: Float[Array, "*times 4"]) -> Float[Array, "*times 4"]:
    """The same rotations, without jumps to the opposite quaternion from one time to the next."""
    turned = jnp.sum(q[..., 1:, :] * q[..., :-1, :], -1) < 0
    signs = jnp.cumprod(jnp.where(turned, -1.0, 1.0).astype(q.dtype), -1)
    first = jnp.ones_like(q[..., :1, 0])
    return q * jnp.concatenate([first, signs], -1)[..., None]


def _at_state(
    mechanism: Any, tables: Tables, frame: str, t: FloatScalar, y: Array, z: Array
) -> Results:
    system, tree = mechanism.system, mechanism.tree
    u, mu = accelerations_of(system, t, y, z, tables)
    at = places(tree, tables, y)
    of_links = rates(tree, at.S, z, u)
    moving = Moving(y, z, of_links.V)
    loops, rolling = system.loops, system.rolling
    every = Loops(tree, loops.couplings, loops.others)
    of_rows = of_all_rows(mu[: loops.count], every.jacobian(t, tables, at, moving), loops.kept)
    bodies = motions(tree, tables, at, of_links)
    # The rows of joints that are cut, of couplings, and of constraints given by functions.
    begin = len(loops.rows) + len(loops.couplings)
    of_cut = wrenches_of_cut_joints(loops, tables, at, of_rows)
    given = [
        *system.forces.on_bodies(t, z, tables, at),
        *loops.others.wrenches(t, tables, at.T, moving, of_rows[begin:]),
        *rolling.wrenches(t, tables, at.T, moving, mu[loops.count :]),
    ]
    # With the load of the equations of motion, not that of minimum norm.
    loads = wrenches_of_cut_joints(loops, tables, at, loops.of_all(mu[: loops.count]))
    of_friction = system.dry.wrenches(tables, at.T, of_links.V, loads)
    dry = jnp.zeros_like(of_cut)
    for number, W in zip(system.dry.at, of_friction, strict=True):
        dry = dry.at[tree.loops.index(number)].add(W)
    for number, W in zip(tree.loops, of_cut + dry, strict=True):
        ends = (int(numbers(tree, side)[number]) for side in ("child", "parent"))
        given += [(end, sign * W) for end, sign in zip(ends, (1.0, -1.0), strict=True)]
    missing = jnp.pad(needed(tree, tables, bodies), ((0, 1), (0, 0), (0, 0)))
    for body, W in given:
        missing = missing.at[body].add(-W)
    of = transmitted(tree, tables, at.S, bodies, missing[:-1], of_cut, dry)
    kinetic, potential = mechanism.energy(y, z, tables)
    of_joints = {}
    for name in {joint.name for joint in tree.joints} & set(mechanism._at):
        of_y, of_z = mechanism._at[name]
        of_joints[name] = JointMotion(y[of_y], z[of_z], u[of_z])
    names = [*loops.names[len(loops.rows) :], *rolling.names]
    return Results(
        ts=t, bodies=_bodies(tree, tables, bodies),
        joints=of_joints | of_cut_joints(tree, tables, bodies),
        kinetic=kinetic, potential=potential, **_wrenches(tree, tables, bodies, of, frame),
        motors=system.forces.of_motors(t, y, z, tables.args),
        multipliers=_by_name(names, [*of_rows[len(loops.rows) :], *mu[loops.count :]]),
    )  # fmt: skip


def _by_name(names: list[str], values: list[Array]) -> dict[str, Array]:
    pairs = list(zip(names, values, strict=True))
    return {name: jnp.stack([x for other, x in pairs if other == name]) for name in names}


def _bodies(tree: Any, tables: Tables, of: Motions) -> dict[str, BodyMotion]:
    out = {}
    for number, body in enumerate(tree.bodies):
        X, V, A = of.X[number], of.V[number], of.A[number]
        second = A + products(V[:, :3], V)
        com = jnp.asarray(entry(tables.args["bodies"][body.name], "com"))
        origin, centre = (
            (x, V @ homogeneous(x), second @ homogeneous(x))
            for x in (X[:3, 3], X[:3, :3] @ com + X[:3, 3])
        )
        R, w, dw = X[:3, :3], vee(V[:, :3]), vee(A[:, :3])
        out[body.name] = BodyMotion(
            position=origin[0], velocity=origin[1], acceleration=origin[2], com=centre[0],
            com_velocity=centre[1], com_acceleration=centre[2], rotation=R,
            quaternion=quaternion_of(R), angular_velocity=w, angular_acceleration=dw,
        )  # fmt: skip
    return out


def _wrenches(
    tree: Any, tables: Tables, bodies: Motions, of: Transmitted, frame: str
) -> dict[str, dict[str, Wrench]]:
    if frame == "joint":
        R = frames(tree, tables, bodies)[0][:, :3, :3]
    elif frame == "ground":
        R = jnp.broadcast_to(jnp.eye(3, dtype=of.force.dtype), (len(tree.joints), 3, 3))
    else:
        R = take(bodies.X, numbers(tree, frame))[:, :3, :3]
    into = [jnp.sum(R * x[:, :, None], 1) for x in of]
    pairs = {"reactions": into[:2], "transmitted": into[2:]}
    return {
        what: {joint.name: Wrench(f[k], m[k]) for k, joint in enumerate(tree.joints)}
        for what, (f, m) in pairs.items()
    }
