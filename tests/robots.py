"""Robots and logs that tests of identification share."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit, multibody as mb


TWO_LINKS = """<mujoco><worldbody>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0" damping=".3"/>
<inertial pos=".02 0 -.2" mass="2" diaginertia=".03 .03 .01"/>
<body name="lower" pos="0 0 -.4"><joint name="elbow" axis="0 1 0" damping=".1"/>
<site name="imu" pos="0 0 -.3"/>
<inertial pos=".01 0 -.15" mass="1" diaginertia=".01 .012 .005"/></body></body></worldbody>
<actuator><motor name="m1" joint="shoulder"/><motor name="m2" joint="elbow"/></actuator></mujoco>"""


def arm():
    """Three links about axes that are not parallel."""
    return mb.Mechanism(
        [
            mb.Body("a", 3.0, com=(0.02, 0.01, 0.1), inertia=(0.02, 0.03, 0.015)),
            mb.Body("b", 2.0, com=(0.15, 0.02, -0.01), inertia=(0.02, 0.03, 0.015)),
            mb.Body("c", 1.0, com=(0.1, -0.03, 0.04), inertia=(0.005, 0.006, 0.004)),
        ],
        [
            mb.Revolute("j1", "ground", "a", damping=0.3),
            mb.Revolute("j2", "a", "b", position=(0, 0, 0.3), axis=(0, 1, 0), damping=0.2),
            mb.Revolute("j3", "b", "c", position=(0.4, 0, 0), axis=(0, 1, 0), damping=0.1),
        ],
    )


def excited(times, count, seed=0):
    """Positions, velocities and accelerations of sums of sines, shapes `(times, count)`."""
    rng, found = np.random.default_rng(seed), np.zeros((3, len(times), count))
    for j in range(count):
        for k in range(1, 5):
            a, phase, w = 0.5 * rng.normal() / k, rng.uniform(0, 2 * np.pi), 0.6 * np.pi * k
            found[0, :, j] += a * np.sin(w * times + phase)
            found[1, :, j] += a * w * np.cos(w * times + phase)
            found[2, :, j] -= a * w**2 * np.sin(w * times + phase)
    return found


def torques(mechanism, states):
    """Inverse dynamics."""

    @jax.jit
    @jax.vmap
    def needed(q, v, a):
        zero, one = jnp.zeros(()), jnp.ones(())
        of = mechanism.system.accelerations(zero, q, v, one, mechanism.parameters)
        return jnp.sum(of.M * a[None], 1) - of.h

    return np.asarray(needed(*map(jnp.asarray, states)))


def arm_record(times, states, tau, seed, noise=(2e-3, 0.05)):
    rng = np.random.default_rng(seed)
    channels = {}
    for j in range(states.shape[2]):
        channels[f"q:j{j + 1}"] = states[0, :, j] + noise[0] * rng.normal(size=len(times))
        channels[f"tau:j{j + 1}"] = tau[:, j] + noise[1] * rng.normal(size=len(times))
    return fit.record(times, channels)


def drive(t):
    return {"m1": 2 * jnp.sin(3 * t) + jnp.sin(7 * t), "m2": 0.5 * jnp.sin(5 * t + 1)}


def log_of_two_links(path, times, noise, torque_noise=0.0, seed=0):
    """Write a log of a driven motion."""
    robot = mb.load(TWO_LINKS, control=lambda t, args: drive(t))
    args = robot.parameters
    y, z = robot.state({"shoulder": 0.3, "elbow": -0.2})
    motion = jaxspark.solve(
        robot.system, y, z, args, t1=float(times[-1]), ts=jnp.asarray(times), rtol=1e-9, atol=1e-9
    )
    names = ["q:shoulder", "q:elbow", "gyro:imu:y", "acc:imu:x"]
    observe = mb.sensors(robot, names, mb.sites(TWO_LINKS))
    shown = jax.jit(jax.vmap(lambda t, y, z: observe(t, y, z, None, None, args)))(
        jnp.asarray(times), motion.ys, motion.zs
    )
    rng, sizes = np.random.default_rng(seed), dict(zip(names, (1, 1, 1, 10), strict=True))
    columns = {"t": times}
    for name, values in shown.items():
        columns[name] = np.asarray(values) + noise * sizes[name] * rng.normal(size=len(times))
    given = jax.vmap(drive)(jnp.asarray(times))
    columns["tau:shoulder"], columns["i:elbow"] = given["m1"], given["m2"] / 0.5
    for name in ("tau:shoulder", "i:elbow"):
        columns[name] = np.asarray(columns[name]) + torque_noise * rng.normal(size=len(times))
    rows = np.stack([np.asarray(x) for x in columns.values()], 1)
    lines = [",".join(f"{x:.12g}" for x in row) for row in rows]
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
