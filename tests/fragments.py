"""What the lines of code on the pages about errors speak of: a pendulum, a chain, a fit."""

import dataclasses
import functools
import re

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pandas

import jaxspark
import jaxspark.diffrax
from jaxspark import fit


def pendulum():
    """A pendulum, its state, and motions of it."""
    args = {"length": 1.0, "mass": 1.0, "drag": 0.1}
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
        holonomic=lambda t, q, args: jnp.linalg.norm(q) - args.get("length", 1.0),
        force=lambda t, q, v, args: -args.get("drag", 0.1) * v,
    )
    y0, z0 = jnp.array([1.0, 0.0]), jnp.zeros(2)
    times = jnp.linspace(0.0, 5.0, 251)
    solve = lambda drag: jaxspark.solve(
        system, y0, z0, args | {"drag": drag}, t1=5.0, ts=times, throw=False
    )
    return {
        "system": system,
        "args": args,
        "y0": y0,
        "z0": z0,
        "y": y0,
        "z": z0,
        "q": y0,
        "v": z0,
        "x": y0,
        "times": times,
        "solution": solve(0.1),
        "batch": jax.vmap(solve)(jnp.linspace(0.1, 0.2, 4)),
        "event": jaxspark.Event(lambda t, y, z, args: y[0]),
        "lowest": lambda length, gravity: -length * gravity,
        "scale": lambda y, z, args: 0.1 + jnp.sum(z**2),
    }


def chain():
    """Three rods, as a `MultibodySystem`; a stiff spring."""
    count = 3

    def ends_meet(t, a, b, own, args):
        half = lambda y: 0.5 * jnp.stack([jnp.sin(y[2]), -jnp.cos(y[2])])
        return a[:2] + half(a) - b[:2] + half(b)

    def pinned(t, a, b, own, args):
        return b[:2] + 0.5 * jnp.stack([-jnp.sin(b[2]), jnp.cos(b[2])])

    joints = [
        jaxspark.Joint(pinned, [(-1, 0)]),
        jaxspark.Joint(ends_meet, [(i, i + 1) for i in range(count - 1)]),
    ]
    mass = lambda t, y, own, args: jnp.array([1.0, 1.0, 1 / 12])
    weight = lambda t, y, z, own, args: jnp.array([0.0, -9.81, 0.0])
    multibody = jaxspark.MultibodySystem(mass=mass, force=weight, joints=joints)
    y0 = jnp.array([[0.5 + i, 0.0, jnp.pi / 2] for i in range(count)])
    free = jaxspark.MechanicalSystem(
        lambda t, q, args: jnp.eye(2), lambda t, q, v, args: jnp.array([0.0, -9.81])
    )
    spring = jaxspark.stiff.Elongated(
        free, lambda t, q, args: jnp.linalg.norm(q) - 1.0, stiffness=lambda args: 1e8
    )
    return {
        "count": count,
        "multibody": multibody,
        "ends_meet": ends_meet,
        "pinned": pinned,
        "spring": spring,
        "q0": jnp.array([0.0, -1.0 - 9.81e-8]),
        "v0": jnp.zeros(2),
        "of_chain": {"y0": y0, "z0": jnp.zeros((count, 3))},
    }


def others():
    """A skate, and the pendulum by its mass and forces."""
    across = lambda q, v: jnp.atleast_1d(v[0] * jnp.sin(q[2]) - v[1] * jnp.cos(q[2]))
    skate = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 0.5 * q[1],
        nonholonomic=lambda t, q, v, args: across(q, v),
    )
    mechanical = jaxspark.MechanicalSystem(
        lambda t, q, args: args["mass"] * jnp.eye(2),
        lambda t, q, v, args: args["mass"] * jnp.array([0.0, -9.81]),
        holonomic=lambda t, q, args: jnp.linalg.norm(q) - args["length"],
    )
    start = {"y0": jnp.zeros(3), "z0": jnp.array([1.0, 0.0, 0.5])}
    return {"skate": skate, "mechanical": mechanical, "of_skate": start}


def data(solution, system):
    """A record of the pendulum's angle, a model of it, and the files that records come from."""
    times = np.asarray(solution.ts)
    angle = np.asarray(jnp.arctan2(solution.ys[:, 0], -solution.ys[:, 1]))
    noisy = angle + 0.005 * np.random.default_rng(0).normal(size=angle.shape)
    observe = lambda t, y, z, lam, psi, args: {"angle": jnp.arctan2(y[0], -y[1])}
    parameters = {"length": fit.positive(0.9, "m"), "drag": fit.positive(0.2, "1/s")}
    start = fit.Start(jnp.array([0.9, -0.1]), jnp.zeros(2))
    model = fit.Model(system, observe, parameters, start, step=0.02)
    frame = pandas.DataFrame({"time_s": times, "angle": noisy})
    frame["date"] = pandas.Timestamp("2026-01-01") + pandas.to_timedelta(times, unit="s")
    return {
        "observe": observe,
        "parameters": parameters,
        "model": model,
        "record": fit.record(times, {"angle": noisy}),
        "frame": frame,
        "torque": np.zeros(times.shape),
        "angle": angle,
        "rate": np.gradient(angle, times),
        "t_angle": times,
        "t_rate": times,
        "mass": 2.0,
        "c": np.array([0.1, 0.0, 0.0]),
        "about_joint": np.diag([0.1, 0.2, 0.2]),
    }


def write_files(frame):
    """The files that such lines read, in the folder where they run."""
    renamed = frame.rename(columns={"time_s": "t", "angle": "Encoder 1 [rad]"})
    frame[["time_s", "angle"]].to_csv("swing.csv", index=False)
    both = pandas.concat([frame.assign(run="first"), frame.assign(run="second")])
    both[["time_s", "angle", "run"]].to_csv("all.csv", index=False)
    frame.assign(**{"motor [Nm]": np.sin(frame["time_s"])}).drop(columns="date").to_csv(
        "run.csv", index=False
    )
    renamed.drop(columns="date").to_csv("log.csv", index=False, sep=";")


def names_for(block):
    """What a block speaks of: `y0` and `z0` of a chain or a skate are theirs."""
    known = dict(names())
    known["frame"] = known["frame"].copy()
    if re.search("multibody|count", block):
        return known | known["of_chain"]
    return known | (known["of_skate"] if "skate" in block else {})


@functools.cache
def names():
    """All of them, and the modules that lines of code take for imported."""
    known = {
        "dataclasses": dataclasses,
        "diffrax": diffrax,
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "pandas": pandas,
        "jaxspark": jaxspark,
        "fit": fit,
    }
    known |= pendulum() | chain() | others()
    return known | data(known["solution"], known["system"])
