"""What sensors on a mechanism show: encoders, gyroscopes, accelerometers, markers."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array

from ._channels import Channel, channels_of, DRIVES, Place, places_of
from ._kinematics import homogeneous, places, rates
from ._reactions import accelerations_of
from ._rotations import products, rotation, transform
from ._tables import Tables


def sensors(
    mechanism: Any, channels: Iterable[str], places: Mapping[str, Place] | None = None
) -> Callable[..., dict[str, Array]]:
    """What sensors of a mechanism show, as `observe` of a [`jaxspark.fit.Model`][].

    A channel says by its name what it shows:

    - `q:JOINT`, `v:JOINT`: a joint's coordinate and velocity (rad, m; rad/s, m/s); of a joint that
        has several `q:JOINT:0`, `q:JOINT:1` and so on.
    - `gyro:PLACE:x`, `:y`, `:z`: the angular velocity of a body in the sensor's axes (rad/s).
    - `acc:PLACE:x`: what an accelerometer shows in these axes (m/s^2): the acceleration of the
        place less gravity, so that a body at rest shows 9.81 upwards.
    - `marker:PLACE:x`: the position of the place in the ground's frame (m).

    A sensor shows `gain * quantity + zero`, with `args["sensors"][channel]` for these two, and is
    where `args["places"][place]` says, if they are there.

    **Arguments:**

    - `mechanism`: a [`jaxspark.multibody.Mechanism`][].
    - `channels`: their names.
    - `places`: a [`jaxspark.multibody.Place`][] each, by name. The name of a body is a place, too:
        the origin of its frame, in its axes.

    **Returns:** `observe(t, y, z, lam, psi, args)`, a dictionary of scalars by channel.

    **Raises:** `ValueError` for a channel that is none, or whose joint or place is not there.
    """
    return observing(mechanism, mechanism.system, channels, places_of(mechanism, places))


def observing(
    mechanism: Any, system: Any, channels: Iterable[str], where: Mapping[str, Place]
) -> Callable[..., dict[str, Array]]:
    """The same of a mechanism whose forces are those of a system."""
    every = channels_of(mechanism, channels, where)
    driving = [channel.name for channel in every if channel.kind in DRIVES]
    if driving:
        raise ValueError(
            f"{driving} drive the mechanism, and are inputs of a record: no sensor shows them."
        )

    def observe(t: Any, y: Array, z: Array, lam: Any, psi: Any, args: Any) -> dict[str, Array]:
        del lam, psi
        return _observed(mechanism, system, every, where, t, y, z, args)

    return observe


def _observed(
    mechanism: Any,
    system: Any,
    channels: tuple[Channel, ...],
    where: Mapping[str, Place],
    t: Any,
    y: Array,
    z: Array,
    args: Any,
) -> dict[str, Array]:
    own = args.args if isinstance(args, Tables) else args
    at_places = _at_places(mechanism, system, channels, where, t, y, z, args, own)
    shown = {}
    for channel in channels:
        if channel.kind == "q":
            value = y[mechanism._at[channel.of][0][channel.index]]
        elif channel.kind == "v":
            value = z[mechanism._at[channel.of][1][channel.index]]
        else:
            value = at_places[channel.kind, channel.of][channel.index]
        errors = own.get("sensors", {}).get(channel.name)
        shown[channel.name] = value if errors is None else errors["gain"] * value + errors["zero"]
    return shown


def _at_places(
    mechanism: Any,
    system: Any,
    channels: tuple[Channel, ...],
    where: Mapping[str, Place],
    t: Any,
    y: Array,
    z: Array,
    args: Any,
    own: Any,
) -> dict[tuple[str, str], Array]:
    """The vectors that are shown at places, by kind and place."""
    wanted = dict.fromkeys((c.kind, c.of) for c in channels if c.kind not in ("q", "v"))
    if not wanted:
        return {}
    tree, tables = mechanism.tree, mechanism._tables(args)
    at = places(tree, tables, y)
    u = None
    if any(kind == "acc" for kind, _ in wanted):
        u = _accelerations(system, t, y, z, tables)
    moving = rates(tree, at.S, z, u)
    found = {}
    for kind, name in wanted:
        number = mechanism._body(where[name].body)
        link = tree.link_of[number]
        place = own.get("places", {}).get(name)
        position, axes = (
            jnp.asarray(getattr(where[name], what) if place is None else place[what], y.dtype)
            for what in ("position", "quaternion")
        )
        T = products(
            products(at.T[link], tables.frames[number]), transform(rotation(axes), position)
        )
        R, x = T[:3, :3], T[:3, 3]
        if kind == "marker":
            found[kind, name] = x
            continue
        V = moving.V[link]
        if kind == "gyro":
            w = jnp.stack([V[2, 1], V[0, 2], V[1, 0]])
            found[kind, name] = jnp.sum(R * w[:, None], 0)
            continue
        A = moving.A[link] + products(V[:, :3], V)
        force = jnp.sum(A * homogeneous(x)[None], 1) - tables.gravity
        found[kind, name] = jnp.sum(R * force[:, None], 0)
    return found


def _accelerations(system: Any, t: Any, y: Array, z: Array, tables: Tables) -> Array:
    """`z'`, from the equations of motion and the loops."""
    if system.friction is not None:
        return accelerations_of(system, t, y, z, tables)[0]
    of = system.accelerations(t, y, z, jnp.ones((), y.dtype), tables)
    count = of.C.shape[0]
    if not count:
        return jnp.linalg.solve(of.M, of.h)
    corner = jnp.zeros((count, count), y.dtype)
    saddle = jnp.concatenate(
        [jnp.concatenate([of.M, of.C.T], 1), jnp.concatenate([of.C, corner], 1)]
    )
    return jnp.linalg.solve(saddle, jnp.concatenate([of.h, -of.c]))[: z.shape[0]]
