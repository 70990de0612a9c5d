"""Base parameters of a six-joint arm from noisy torques and encoders, beside `mujoco.sysid`; a
four-bar from a log with noise, a quantised encoder with an offset, and an unknown start."""

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit, multibody
from jaxspark.multibody._spec import simulator

from .._figures import at_least, at_most, Figure, note
from ._loops import FOUR_BAR


mujoco: Any = simulator()
# Axes and offsets of the joints of an arm with a wrist, and masses, centres and inertias.
LINKS = (
    ("0 0 1", "0 0 .1", 6.0, "0 .02 .1", ".04 .05 .03"),
    ("0 1 0", "0 .1 .2", 5.0, ".02 .03 .2", ".09 .1 .02"),
    ("0 1 0", "0 0 .4", 3.0, ".01 -.02 .15", ".05 .045 .01"),
    ("1 0 0", ".02 0 .3", 1.5, ".01 .01 .04", ".006 .007 .005"),
    ("0 1 0", "0 0 .1", 1.0, ".02 0 .03", ".003 .0035 .002"),
    ("0 0 1", "0 0 .08", 0.7, ".03 .01 .04", ".002 .0018 .0012"),
)
SECONDS, RATE, REPEATED, OFF = 8.0, 200, 20, 1.2
# Of encoders (rad) and torques (N m).
NOISE, TORQUE = 2e-4, 0.05
RATIO, COVERED = 10.0, 0.93
# s, of the servos' set points: a torque that jumped at each of them would be no function of time.
FILTER = 0.02


def identify(tiny: bool) -> Iterator[Figure]:
    """Coverage of 95 % intervals over repetitions, and time and error beside `mujoco.sysid`."""
    seconds, repeated = (2.0, 1) if tiny else (SECONDS, REPEATED)
    spec = mujoco.MjSpec.from_string(arm())
    times, control, q, torque = _motion(spec.compile(), seconds)
    plain = multibody.load(arm(actuators=False))
    wrong, within, spent = _wrong(plain), [], 0.0
    for seed in range(repeated):
        record, _ = _record(times, q, torque, seed)
        begun = time.perf_counter()
        found = multibody.identify(plain, record, parameters=wrong)
        spent = time.perf_counter() - begun
        true = np.asarray(found.base.of(plain.parameters))
        low, high = np.array(list(found.intervals().values())).T
        within.append((low <= true) & (true <= high))
    share, count = float(np.mean(within)), np.size(within)
    what = f"six joints: 95 % intervals that cover the truth, of {count}"
    yield at_least(what, share, 0.2 if tiny else COVERED, ".3f")
    if tiny:
        return
    record, noisy = _record(times, q, torque, 0)
    found = multibody.identify(plain, record, parameters=wrong)
    error = _error(found.base, plain, found.vector)
    yield note("six joints: error of base parameters, relative", f"{error:.2e}")
    yield note("six joints: seconds, compiled before", f"{spent:.2f}")
    theirs = _sysid(spec, times, control, noisy, q, 40)
    if theirs is None:
        yield note("mujoco.sysid", "not installed: pip install 'mujoco[sysid]'")
    else:
        parameters, needed = theirs
        other = _error(found.base, plain, np.asarray(found.base.of(parameters)))
        yield note(
            "six joints: error of mujoco.sysid, and its seconds", f"{other:.2e}; {needed:.1f}"
        )
        yield at_most("six joints: error over that of mujoco.sysid", error / other, 1.0)
        yield at_least("six joints: seconds of mujoco.sysid over ours", needed / spent, RATIO)
    yield from _four_bar(4.0)


def arm(actuators: bool = True) -> str:
    """The arm as MJCF, with servos if wanted."""
    text, close = "", ""
    for k, (axis, position, mass, com, inertia) in enumerate(LINKS):
        text += (
            f'<body name="l{k}" pos="{position}"><joint name="j{k}" axis="{axis}" damping=".3"/>'
            f'<inertial pos="{com}" mass="{mass}" diaginertia="{inertia}"/>'
        )
        close += "</body>"
    gains = (400, 500, 300, 60, 40, 20)
    servos = "".join(
        f'<general name="p{k}" joint="j{k}" dyntype="filter" dynprm="{FILTER}" gainprm="{kp}" '
        f'biastype="affine" biasprm="0 {-kp} {-kp / 10}"/>'
        for k, kp in enumerate(gains)
    )
    sensors = "".join(
        f'<jointpos name="q{k}" joint="j{k}"/><jointactuatorfrc name="t{k}" joint="j{k}"/>'
        for k in range(len(LINKS))
    )
    more = f"<actuator>{servos}</actuator><sensor>{sensors}</sensor>" if actuators else ""
    option = '<option timestep=".001" integrator="RK4"/>'
    return f"<mujoco>{option}<worldbody>{text}{close}</worldbody>{more}</mujoco>"


def _reference(times: np.ndarray) -> np.ndarray:
    rng, found = np.random.default_rng(4), np.zeros((len(times), len(LINKS)))
    for j in range(len(LINKS)):
        for k in range(1, 6):
            size, phase = 0.5 * rng.normal() / k, rng.uniform(0, 2 * np.pi)
            sine = np.sin(0.5 * np.pi * k * times + phase) - np.sin(phase)
            found[:, j] += size * sine * (1 - np.exp(-2 * times))
    return found


def _motion(model: Any, seconds: float) -> tuple[np.ndarray, ...]:
    """MuJoCo's motion of the servos: times, controls, coordinates and torques."""
    data, step = mujoco.MjData(model), model.opt.timestep
    control = _reference(np.arange(round(seconds / step)) * step)
    q, torque = np.zeros_like(control), np.zeros_like(control)
    for k, u in enumerate(control):
        data.ctrl[:] = u
        mujoco.mj_forward(model, data)
        q[k], torque[k] = data.qpos, data.qfrc_actuator
        mujoco.mj_step(model, data)
    return np.arange(len(control)) * step, control, q, torque


def _record(
    times: np.ndarray, q: np.ndarray, torque: np.ndarray, seed: int
) -> tuple[fit.Record, tuple[np.ndarray, np.ndarray]]:
    every = round(1 / (RATE * (times[1] - times[0])))
    rng, n = np.random.default_rng(seed), q.shape[1]
    q, torque = q[::every], torque[::every]
    q = q + NOISE * rng.normal(size=q.shape)
    torque = torque + TORQUE * rng.normal(size=torque.shape)
    channels = {f"q:j{k}": q[:, k] for k in range(n)} | {
        f"tau:j{k}": torque[:, k] for k in range(n)
    }
    return fit.record(times[::every], channels), (q, torque)


def _wrong(mechanism: multibody.Mechanism) -> Any:
    args = jax.tree.map(lambda x: x, mechanism.parameters)
    for body in args["bodies"].values():
        body["mass"], body["inertia"] = OFF * body["mass"], OFF * body["inertia"]
    return args


def _error(base: Any, mechanism: multibody.Mechanism, values: np.ndarray) -> float:
    """Of all base parameters, relative to the size of all."""
    true = np.asarray(base.of(mechanism.parameters))
    return float(np.linalg.norm(values - true) / np.linalg.norm(true))


def _sysid(
    spec: Any,
    times: np.ndarray,
    control: np.ndarray,
    noisy: tuple[np.ndarray, np.ndarray],
    q: np.ndarray,
    iterations: int,
) -> tuple[Any, float] | None:
    """Parameters by `mujoco.sysid` from the same samples and the true controls and start."""
    try:
        from mujoco import sysid

        sysid.optimize
    except (ImportError, AttributeError):
        return None
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = q[0]
    every, n = (len(times) - 1) // (len(noisy[0]) - 1), len(LINKS)
    shown = np.stack(noisy, 2).reshape(len(noisy[0]), 2 * n)
    measured = sysid.TimeSeries.from_names(times[::every], shown, model)
    start = sysid.create_initial_state(model, data.qpos, data.qvel, data.act)
    sequence = sysid.ModelSequences(
        "arm", spec, "log", start, sysid.TimeSeries(times, control), measured
    )
    parameters = sysid.ParameterDict()
    for k in range(n):
        name = f"l{k}"
        one = sysid.body_inertia_param(
            spec, model, name, sysid.InertiaType.Pseudo, modifier=_setter(sysid, name)
        )
        # As ours begins: masses and inertias off by a fifth, through alpha, half a logarithm.
        one.value[0] += 0.5 * np.log(OFF)
        parameters.add(one)
    begun = time.perf_counter()
    found, _ = sysid.optimize(
        initial_params=parameters, residual_fn=sysid.build_residual_fn(models_sequences=[sequence]),
        optimizer="mujoco", max_iters=iterations, verbose=False,
    )  # fmt: skip
    spent = time.perf_counter() - begun
    identified = sysid.apply_param_modifiers(found, spec)
    ignore = ["actuators"]
    return multibody.load(identified, ignore=ignore).parameters, spent


def _setter(sysid: Any, name: str) -> Any:
    """What writes a body's ten numbers into a model, by principal axes.

    (That of `sysid` leaves the quaternion undefined, which MuJoCo 4.0 refuses.)
    """

    def modifier(spec: Any, parameter: Any) -> None:
        ten = sysid.model_modifier.pi_from_theta(parameter.value)
        com = ten[1:4] / ten[0]
        skew = np.cross(np.eye(3), -com)
        moments, axes = np.linalg.eigh(ten[4:].reshape(3, 3) + ten[0] * skew @ skew)
        axes[:, 0] *= np.linalg.det(axes)
        body, turned = spec.body(name), np.zeros(4)
        mujoco.mju_mat2Quat(turned, axes.reshape(-1))
        body.explicitinertial = True
        body.mass, body.ipos, body.inertia, body.iquat = ten[0], com, moments, turned

    return modifier


def _four_bar(seconds: float) -> Iterator[Figure]:
    """Mass of the rocker and damping, by an encoder of 4096 lines with an offset."""
    bar = multibody.load(FOUR_BAR, guess={"a": -0.5, "b": -0.5, "d": -1.8})
    args = jax.tree.map(lambda x: x, bar.parameters)
    args["joints"]["a"]["damping"] = jnp.full(1, 0.05)
    times = np.arange(0, seconds, 0.01)
    y, z = bar.state({"a": -0.5}, {"a": -2.0}, guess={"b": -0.5, "d": -1.8})
    motion = jaxspark.solve(
        bar.system, y, z, args, t1=float(times[-1]), ts=jnp.asarray(times), rtol=1e-10, atol=1e-10
    )
    rng, turn = np.random.default_rng(0), 2 * np.pi / 4096
    angle = np.asarray(bar.coordinates(motion.ys)["a"])[:, 0] + 0.02
    angle = turn * np.round((angle + 1e-3 * rng.normal(size=len(times))) / turn)
    rate = np.asarray(bar.velocities(motion.zs)["d"])[:, 0] + 0.01 * rng.normal(size=len(times))
    record = fit.record(times, {"q:a": angle, "v:d": rate})
    unknown = ["bodies/rocker/mass", "joints/a/damping", "sensors/q:a/zero"]
    start = fit.Start.from_channels(y, z)
    given = jax.tree.map(lambda x: x, args)
    given["bodies"]["rocker"]["mass"] = 1.4 * given["bodies"]["rocker"]["mass"]
    model = multibody.model(bar, record, unknown, parameters=given, start=start)
    found = fit.estimate(model, record, progress=False)
    true = {"bodies.rocker.mass": 2.0, "joints.a.damping[0]": 0.05, "sensors.q:a.zero": 0.02}
    for name, value in true.items():
        off = abs(found.values[name] - value) / found.errors[name]
        yield at_most(f"four-bar: {name}, off by standard errors", off, 3.0, ".2f")
