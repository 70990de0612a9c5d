"""A gripper on an arm in joint coordinates: short levers amplify rounding errors of far origins."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_most, Figure


# Lengths in m, masses in kg, damping in N m s; an arm of four joints and two four-bar linkages.
LINK, LEVER, WIDTH, COUPLER = 0.3, 0.015, 0.02, 0.024
LINK_MASS, FINGER_MASS, DAMPING = 1.0, 0.02, 1e-3
JOINTS, SIDES = 4, (1.0, -1.0)
AXES = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
WEIGHT = np.array([0.0, 0.0, -9.81])
OFFSETS = (0.0, 1.0, 100.0)


def _turned(axis: np.ndarray, angle: jax.Array) -> jax.Array:
    """The rotation by an angle about a coordinate axis, by Rodrigues' formula."""
    x, y, z = axis
    cross = jnp.asarray([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]], angle.dtype)
    return (
        jnp.eye(3, dtype=angle.dtype)
        + jnp.sin(angle) * cross
        + (1 - jnp.cos(angle)) * (cross @ cross)
    )


def _palm(q: jax.Array, offset: jax.Array) -> tuple[list[jax.Array], jax.Array, jax.Array]:
    """The middles of the arm's links, and the place and the axes of the gripper's base."""
    place = offset * jnp.ones(3, q.dtype)
    axes, middles = jnp.eye(3, dtype=q.dtype), []
    for i in range(JOINTS):
        axes = axes @ _turned(AXES[i], q[i])
        along = LINK * axes[:, 0]
        middles.append(place + along / 2)
        place = place + along
    return middles, place, axes


def _pins(q: jax.Array, offset: jax.Array) -> tuple[list[jax.Array], list[jax.Array], jax.Array]:
    """Centres of mass of the fingers' bars, pairs of pins that are one, and the base's axes."""
    _, place, axes = _palm(q, offset)
    centres, ends = [], []
    for side, (crank, coupler, rocker) in zip(SIDES, q[JOINTS:].reshape(2, 3)):

        def along(length, angle, side=side):
            return length * (jnp.cos(angle) * axes[:, 0] + side * jnp.sin(angle) * axes[:, 1])

        first = place + side * 0.03 * axes[:, 1]
        second = first + side * WIDTH * axes[:, 1]
        elbow = first + along(LEVER, crank)
        tip = elbow + along(COUPLER, crank + coupler)
        other = second + along(LEVER, rocker)
        centres += [(first + elbow) / 2, (elbow + tip) / 2, (second + other) / 2]
        ends += [tip, other]
    return centres, ends, axes


def closed(t: jax.Array, q: jax.Array, args: dict) -> jax.Array:
    """The two loops, from world positions of the pins, in the axes of the gripper's base."""
    del t
    _, ends, axes = _pins(q, args["offset"])
    apart = jnp.stack([ends[0] - ends[1], ends[2] - ends[3]])
    return (apart @ axes[:, :2]).reshape(-1)


def lagrangian(t: jax.Array, q: jax.Array, v: jax.Array, args: dict) -> jax.Array:
    """Rods as point masses in their middles, with rotors of a tenth of `m l^2` at all joints."""
    del t

    def points(q):
        middles, *_ = _palm(q, jnp.zeros_like(args["offset"]))
        return jnp.stack(middles + _pins(q, jnp.zeros_like(args["offset"]))[0])

    at, moving = jax.jvp(points, (q,), (v,))
    masses = jnp.asarray([LINK_MASS] * JOINTS + [FINGER_MASS] * 6, q.dtype)
    rotors = jnp.asarray([0.1 * LINK_MASS * LINK**2] * JOINTS + [1e-6] * 6, q.dtype)
    kinetic = jnp.sum(masses[:, None] * moving**2) + jnp.sum(rotors * v**2)
    return kinetic / 2 + jnp.sum(masses[:, None] * at * jnp.asarray(WEIGHT, q.dtype)[None, :])


def damping(t: jax.Array, q: jax.Array, v: jax.Array, args: dict) -> jax.Array:
    """The same at all joints of the arm, little of it in the fingers."""
    del t, q, args
    rates = jnp.asarray([100 * DAMPING] * JOINTS + [1e-3 * DAMPING] * 6, v.dtype)
    return -rates * v


ARM = jaxspark.LagrangianSystem(lagrangian, force=damping, holonomic=closed)


def start(offset: float, dtype: type = float) -> tuple[jax.Array, jax.Array, dict]:
    """At rest with closed loops, the arm bent; `offset` moves the base along all axes, in m."""
    q = np.array([0.3, -0.4, 0.5, 0.6] + [0.5, 0.9, 0.6] * 2)
    args = {"offset": jnp.asarray(offset, dtype)}
    near = {"offset": jnp.asarray(0.0, dtype)}
    hold = jnp.asarray([True] * JOINTS + [True, False, False] * 2)
    # Closed where nothing cancels, for all offsets alike.
    found = jaxspark.project(
        ARM, 0.0, jnp.asarray(q, dtype), jnp.zeros(q.size, dtype), near, hold_y=hold
    )
    return found.y, found.z, args


def gripper(tiny: bool) -> Iterator[Figure]:
    """Falling from rest, with default options, at the origin and 1 m and 100 m away along all axes.

    `rollout` with `Gauss(2)` and steps of 1 ms, `solve` with `Gauss(3)` and 1e-7.
    """
    t1 = 0.01 if tiny else 0.2

    @jax.jit
    def equal(y, z, args):
        return jaxspark.rollout(
            ARM, y, z, args, method=jaxspark.Gauss(2), t1=t1, num_steps=round(t1 / 1e-3),
            save_every=None, throw=False,
        )  # fmt: skip

    @jax.jit
    def adaptive(y, z, args):
        return jaxspark.solve(
            ARM, y, z, args, method=jaxspark.Gauss(3), t1=t1, rtol=1e-7, throw=False
        )

    ways = {"rollout, Gauss(2), h = 1 ms": equal, "solve, Gauss(3), rtol = 1e-7": adaptive}
    for way, run in ways.items():
        near = None
        for offset in OFFSETS:
            found = run(*start(offset))
            near = found if near is None else near
            what = f"gripper {offset:g} m from the origin, {t1} s, {way}"
            size = offset + JOINTS * LINK
            yield at_most(f"{what}: failures", int(not bool(found.successful)), 0, "d")
            kept = float(found.stats.max_g) / size
            yield at_most(f"{what}: worst |g| over the size of positions", kept, 1e-13)
            apart = float(np.max(np.abs(found.y1 - near.y1)))
            # Rounding errors of positions over the shortest lever, of all steps together.
            amplified = float(np.finfo(float).eps) * size / LEVER * int(found.stats.num_steps)
            # Step sizes chosen by the tolerance may differ, and the result by some of it.
            bound = 10 * amplified + (0 if run is equal else 1e-7)
            yield at_most(f"{what}: angles (rad) from those at the origin", apart, bound)
