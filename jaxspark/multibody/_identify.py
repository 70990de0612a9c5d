"""Base parameters from measured torques, by inverse dynamics: robots without loops."""

import dataclasses
import functools
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .. import fit
from ._base import base_parameters, BaseParameters
from ._channels import channels_of, JOINTS, places_of
from ._forces import Forces
from ._identification import Identification
from ._mechanism import Mechanism
from ._model import torque_channels, without_motors
from ._motion import Motion, Samples
from ._regressor import heavy_bodies, TEN
from ._search import Search, Torques
from ._splines import best_intervals, LOCAL


# By how much splines are finer from one trial to the next.
FINER = 1.4
# States at which it is found what could be identified at best, for each parameter.
STATES = 3


def identify(
    mechanism: Mechanism,
    records: fit.Record | Sequence[fit.Record],
    *,
    bodies: Collection[str] | None = None,
    joints: Sequence[str] = ("damping",),
    offsets: bool = False,
    constants: Mapping[str, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    intervals: int | None = None,
) -> Identification:
    """Identify the base parameters of a robot without loops from measured torques.

    The torques of a motion are linear in its base parameters. The motion itself is unknown, too: a
    spline in each joint, as encoders say up to their noise and as torques say up to theirs. All are
    estimated together, by maximum likelihood, and the noise of each channel with them. It is many
    times as fast as a fit of simulated motions, needs no start, and no controller.

    Records have `q:JOINT` of all joints, `tau:JOINT` or `i:JOINT` of those whose torques or
    currents are known, as channels or as inputs, and `v:JOINT` where it is measured.

    **Arguments:**

    - `mechanism`: a [`jaxspark.multibody.Mechanism`][] of joints along axes, without loops. Its
        motors in joints whose torques are measured are left out.
    - `records`: one [`jaxspark.fit.Record`][] or several.
    - `bodies`: whose inertias are identified, by default those of all that have mass.
    - `joints`: what else is: `"damping"`, `"friction"` (the size of dry friction), `"armature"`.
    - `offsets`: whether sensors of torques show something else than zero for zero.
    - `constants`: of motors, torque over current (N m/A), by the names of joints.
    - `parameters`: by default the mechanism's own: lengths, axes, and what is not identified.
    - `intervals`: of the splines; by default found by generalised cross-validation.

    **Returns:** a [`jaxspark.multibody.Identification`][].

    **Raises:** `ValueError` for loops, constraints of velocities, joints with quaternions, a joint
    whose coordinate is not measured, or columns that are unknown; `RuntimeError` if the iteration
    does not converge.

    Source: M. Gautier, *Numerical calculation of the base inertial parameters of robots* (1991);
    J. Swevers, C. Ganseman, D. B. Tukel, J. De Schutter & H. Van Brussel, *Optimal robot excitation
    and identification*, IEEE Transactions on Robotics and Automation 13 (1997), for the likelihood.
    """
    begun = time.perf_counter()
    records = [records] if isinstance(records, fit.Record) else list(records)
    _require_open(mechanism)
    args = dict(mechanism.parameters if parameters is None else parameters)
    samples = [_samples(mechanism, record, constants or {}) for record in records]
    names = tuple(heavy_bodies(mechanism, bodies))
    base = _base(mechanism, args, names, tuple(joints))
    measured = {k for one in records for k in torque_channels(mechanism, one, constants or {})}
    system = _undriven(mechanism, frozenset(measured))
    torques = Torques(mechanism, system, args, base, names, tuple(joints))
    search = _searched(torques, samples, intervals, offsets)
    search.seconds = time.perf_counter() - begun
    return Identification(mechanism, tuple(records), args, base, search)


def _searched(
    torques: Torques, samples: Sequence[Samples], intervals: int | None, offsets: bool
) -> Search:
    """With splines as fine as predict positions and torques best, if nothing else is given."""
    counts = [
        best_intervals(one.times, one.q) if intervals is None else intervals for one in samples
    ]
    most = [len(one.times) // 2 - LOCAL for one in samples]
    best: Search | None = None
    while True:
        motions = [Motion(one, count) for one, count in zip(samples, counts, strict=True)]
        search = Search(torques, motions, offsets)
        if best is not None:
            search.change = best.change.copy()
        try:
            search.run()
        except (RuntimeError, ValueError):
            if best is None:
                raise
            # Splines that the samples are too few for.
            return best
        if intervals is not None:
            return search
        if best is not None and search.score >= best.score:
            return best
        best = search
        finer = [
            min(round(FINER * count) + 1, top) for count, top in zip(counts, most, strict=True)
        ]
        if any(new <= old for new, old in zip(finer, counts, strict=True)):
            return best
        counts = finer


def _require_open(mechanism: Mechanism) -> None:
    tree = mechanism.tree
    held = mechanism.loops.count or mechanism.rolling.names
    if held or len(tree.turned):
        loops = "closes loops" if mechanism.loops.count else "has constraints of velocities"
        what = loops if held else "has joints with quaternions"
        raise ValueError(
            f"multibody.identify is for joints along axes without loops, and the mechanism {what}: "
            "fit simulated motions, multibody.model and fit.estimate."
        )


def _samples(mechanism: Mechanism, record: fit.Record, constants: Mapping[str, float]) -> Samples:
    n, count = mechanism.tree.nz, record.num_samples
    found = {kind: np.full((count, n), np.nan) for kind in ("q", "v", "tau")}
    values = {**record.channels, **record.inputs}
    names = [name for name in values if name.partition(":")[0] in JOINTS]
    for channel in channels_of(mechanism, names, places_of(mechanism, None)):
        at = mechanism._at[channel.of][1][channel.index]
        found[channel.kind][:, at] = values[channel.name]
    for channel, torque in torque_channels(mechanism, record, constants).values():
        found["tau"][:, mechanism._at[channel.of][1][channel.index]] = torque
    for name, (_, at) in mechanism._at.items():
        if np.all(np.isnan(found["q"][:, at])):
            raise ValueError(
                f"record {record.name!r} has no column 'q:{name}': the coordinates of all joints "
                f"are needed. It has {', '.join(values)}."
            )
    if np.all(np.isnan(found["tau"])):
        raise ValueError(
            f"record {record.name!r} has no torques: columns such as "
            f"'tau:{next(iter(mechanism._at))}' or currents, 'i:...'. It has {', '.join(values)}."
        )
    return Samples(record.times, **found)


@functools.lru_cache(maxsize=16)
def _undriven(mechanism: Mechanism, joints: frozenset[str]) -> Any:
    """The system without motors whose torques are measured: one object, and one program."""
    forces = Forces(mechanism.tree, without_motors(mechanism, joints))
    return dataclasses.replace(mechanism.system, forces=forces)


def _base(
    mechanism: Mechanism, args: Any, bodies: Sequence[str], joints: Sequence[str]
) -> BaseParameters:
    """What could be identified at best, by motions through random states."""
    rng, n = np.random.default_rng(0), mechanism.tree.nz
    count = STATES * -(-(len(TEN) * len(bodies) + len(joints) * n) // n) + STATES
    y, z, u = rng.normal(size=(3, count, n))
    return base_parameters(
        mechanism, jnp.asarray(3 * y), jnp.asarray(z), jnp.asarray(u), args=args, bodies=bodies,
        joints=joints,
    )  # fmt: skip
