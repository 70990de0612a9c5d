"""A mechanism and records of it as a model for a fit."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import fit
from .._explicit import DOP853
from .._tableau import Lobatto
from ._channels import Channel, channels_of, DRIVES, Place, places_of
from ._forces import Forces, Motor
from ._mechanism import Mechanism
from ._sensors import observing
from ._unknown import with_unknown


def model(
    mechanism: Mechanism,
    records: fit.Record | Sequence[fit.Record],
    unknown: Sequence[str] | Mapping[str, Any],
    *,
    places: Mapping[str, Place] | None = None,
    constants: Mapping[str, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    start: fit.Start | None = None,
    step: float | None = None,
    **others: Any,
) -> fit.Model:
    """A model for [`jaxspark.fit.estimate`][]: a mechanism that moves as records say.

    Channels and inputs of the records say by their names what they are: channels as for
    [`jaxspark.multibody.sensors`][]; inputs are `tau:JOINT`, a measured torque or force in a joint
    (N m, N), `i:JOINT`, the current of its motor (A), or others, for forces of one's own.

    Beside the mechanism's own, there are parameters `sensors/CHANNEL/zero` and `/gain` of each
    channel, `places/PLACE/position` of each place, and `motors/JOINT/constant` of each current.

    **Arguments:**

    - `mechanism`: a [`jaxspark.multibody.Mechanism`][]. Its motors in joints whose torques or
        currents are inputs are left out.
    - `records`: one [`jaxspark.fit.Record`][] or several.
    - `unknown`: what is identified: paths in the tree of parameters, such as
        `"bodies/hand"` (mass, centre and inertia together, which stay those of a body),
        `"joints/*/damping"`, `"sensors/q:elbow/zero"`. A star stands for anything. Or a dictionary
        of such paths, each with a specification such as [`jaxspark.fit.bounded`][] or `None`.
    - `places`: a [`jaxspark.multibody.Place`][] of each sensor and marker, by name. The name of a
        body is that of its frame's origin.
    - `constants`: of motors, torque over current (N m/A), by the names of joints.
    - `parameters`: by default the mechanism's own.
    - `start`: where records start; by default the state near the mechanism's guess that shows their
        first samples, [`jaxspark.fit.Start.from_channels`][].
    - `step`: the longest step (s); by default the longest time between two samples.
    - `others`: further arguments of [`jaxspark.fit.Model`][]. By default `method` is `DOP853()`,
        with friction in joints `Lobatto(3)`; for stiff springs take `jaxspark.Gauss(2)`.

    **Returns:** a [`jaxspark.fit.Model`][].

    **Raises:** `ValueError` for a channel or a path that the mechanism does not have: the message
    names it, and what there is.
    """
    records = [records] if isinstance(records, fit.Record) else list(records)
    channels = list(dict.fromkeys(name for one in records for name in one.channels))
    inputs = dict.fromkeys(name for one in records for name in one.inputs)
    where = places_of(mechanism, places)
    known = [name for name in inputs if name.partition(":")[0] in ("tau", "i")]
    driving = channels_of(mechanism, known, where)
    system = driven(mechanism, driving)
    observe = observing(mechanism, system, channels, where)
    tree: dict[str, Any] = dict(mechanism.parameters if parameters is None else parameters)
    tree["sensors"] = {name: {"zero": 0.0, "gain": 1.0} for name in channels}
    shown = {channel.of for channel in channels_of(mechanism, channels, where)}
    tree["places"] = {
        name: {"position": where[name].position, "quaternion": where[name].quaternion}
        for name in where
        if name in shown
    }
    tree["motors"] = _constants(driving, constants or {})
    if start is None:
        start = fit.Start.from_channels(*mechanism.state())
    if step is None:
        step = max(float(np.max(np.diff(one.times))) for one in records)
    method = DOP853() if system.friction is None else Lobatto(3)
    return fit.Model(
        system, observe, with_unknown(tree, unknown), start, step,
        **({"title": "Identification of a mechanism", "method": method, **_drawn(mechanism)}
           | others),
    )  # fmt: skip


def _constants(driving: Sequence[Channel], constants: Mapping[str, float]) -> dict[str, Any]:
    currents = [channel.of for channel in driving if channel.kind == "i"]
    for name in currents:
        if name not in constants:
            raise ValueError(
                f"Column 'i:{name}' is a current: give the motor's constant, torque over current, "
                f"constants={{{name!r}: ...}} (N m/A)."
            )
    return {name: {"constant": float(constants[name])} for name in currents}


def driven(mechanism: Mechanism, driving: Sequence[Channel]) -> Any:
    """The system of a mechanism with measured torques in place of its motors in these joints."""
    kept = without_motors(mechanism, [channel.of for channel in driving])
    measured = [Motor(channel.name, channel.of, _torque(channel)) for channel in driving]
    forces = Forces(mechanism.tree, [*kept, *measured])
    return dataclasses.replace(mechanism.system, forces=forces)


def without_motors(mechanism: Mechanism, joints: Collection[str]) -> list[Any]:
    """The force elements of a mechanism but the motors in some joints."""
    return [
        force
        for force in mechanism.system.forces.elements
        if not (isinstance(force, Motor) and force.joint in joints)
    ]


def _torque(channel: Channel) -> Callable[..., Any]:
    def torque(t, q, z, args):
        del z
        value = args["inputs"][channel.name](t)
        if channel.kind == "i":
            value = args["motors"][channel.of]["constant"] * value
        return jnp.zeros_like(q).at[channel.index].set(value)

    return torque


def _drawn(mechanism: Mechanism) -> dict[str, Any]:
    """Points of the bodies' lines, and which of them are joined."""
    joined, count = [], 0
    y = jnp.asarray(mechanism._guess[: mechanism.tree.ny])
    for lines in jax.eval_shape(mechanism.shape(), None, y).values():
        joined += [(count + k, count + k + 1) for k in range(len(lines) - 1)]
        count += len(lines)

    def points(t, y, args):
        return jnp.concatenate(list(mechanism.shape(args)(t, y).values()))

    return {"points": points, "lines": tuple(joined)}


def torque_channels(
    mechanism: Mechanism, record: fit.Record, constants: Mapping[str, float]
) -> dict[str, tuple[Channel, np.ndarray]]:
    """Measured torques of a record by the names of joints, those of currents, too."""
    values = {**record.channels, **record.inputs}
    names = [name for name in values if name.partition(":")[0] in DRIVES[:2]]
    found: dict[str, tuple[Channel, np.ndarray]] = {}
    for channel in channels_of(mechanism, names, places_of(mechanism, None)):
        if channel.of in found:
            raise ValueError(
                f"The torque of joint {channel.of!r} is in the columns "
                f"{found[channel.of][0].name!r} and {channel.name!r}: leave one of them out."
            )
        factor = 1.0
        if channel.kind == "i":
            factor = _constants([channel], constants)[channel.of]["constant"]
        found[channel.of] = channel, factor * values[channel.name]
    return found
