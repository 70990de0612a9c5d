"""Closed loops of rods in natural coordinates: a planar and a spatial four-bar mechanism."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem


def _squares(x):
    return jnp.sum(x**2, keepdims=True)


def planar_lagrangian(t, q, v, args):
    """Two point masses (kg) at the moving joints, under gravity along `-y` (J)."""
    del t
    kinetic = 0.5 * (args["m1"] * jnp.sum(v[:2] ** 2) + args["m2"] * jnp.sum(v[2:] ** 2))
    return kinetic - args["g"] * (args["m1"] * q[1] + args["m2"] * q[3])


def planar_holonomic(t, q, args):
    """Crank, coupler and rocker, shape `(3,)` (m^2)."""
    del t
    ground = jnp.stack([args["ground"], jnp.zeros_like(args["ground"])])
    crank = _squares(q[:2]) - args["crank"] ** 2
    coupler = _squares(q[2:] - q[:2]) - args["coupler"] ** 2
    rocker = _squares(q[2:] - ground) - args["rocker"] ** 2
    return 0.5 * jnp.concatenate([crank, coupler, rocker])


def four_bar() -> Problem:
    """A crank-rocker, `y` the two moving joints, released at rest; three seconds.

    By Grashof's condition the crank turns fully, and no position is singular.
    """
    args = {"m1": 1.0, "m2": 0.7, "g": 9.81}
    args |= {"ground": 1.0, "crank": 0.3, "coupler": 0.9, "rocker": 0.7}
    joint = np.array([0.0, 0.3])
    return Problem(
        name="four_bar",
        system=jaxspark.LagrangianSystem(planar_lagrangian, holonomic=planar_holonomic),
        t0=0.0,
        t_end=3.0,
        y0=np.concatenate([joint, _circles(joint, 0.9, np.array([1.0, 0.0]), 0.7)]),
        z0=np.zeros(4),
        args=args,
        reference=None,
    )


def _circles(a, ra, b, rb):
    """The upper intersection of two circles."""
    d = b - a
    distance = np.linalg.norm(d)
    along = (ra**2 - rb**2 + distance**2) / (2 * distance)
    across = np.sqrt(ra**2 - along**2)
    return a + along * d / distance + across * np.array([-d[1], d[0]]) / distance


def spatial_lagrangian(t, q, v, args):
    """Two point masses (kg) at the ball joints, under gravity along `-z` (J)."""
    del t
    kinetic = 0.5 * (args["m1"] * jnp.sum(v[:3] ** 2) + args["m2"] * jnp.sum(v[3:] ** 2))
    return kinetic - args["g"] * (args["m1"] * q[2] + args["m2"] * q[5])


def spatial_holonomic(t, q, args):
    """Two cranks that turn about skew axes, and the coupler between them, shape `(5,)`."""
    del t
    pivot1, pivot2, axis1, axis2 = (
        jnp.asarray(args[name], q.dtype) for name in ("pivot1", "pivot2", "axis1", "axis2")
    )
    one, two = q[:3] - pivot1, q[3:] - pivot2
    planes = jnp.stack([jnp.sum(axis1 * one), jnp.sum(axis2 * two)])
    lengths = jnp.concatenate(
        [
            _squares(one) - args["r1"] ** 2,
            _squares(two) - args["r2"] ** 2,
            _squares(q[3:] - q[:3]) - args["coupler"] ** 2,
        ]
    )
    return jnp.concatenate([planes, 0.5 * lengths])


def spatial_four_bar() -> Problem:
    """An RSSR mechanism, `y` its two ball joints, released at rest; three seconds."""
    pivot1, pivot2 = np.zeros(3), np.array([1.0, 0.4, 0.2])
    axis1, axis2 = np.array([0.0, 1.0, 0.0]), np.array([0.6, 0.8, 0.0])
    joint1, joint2 = np.array([0.0, 0.0, 0.3]), pivot2 + np.array([0.0, 0.0, 0.8])
    args = {
        "m1": 1.0, "m2": 0.8, "g": 9.81, "pivot1": pivot1, "pivot2": pivot2, "axis1": axis1,
        "axis2": axis2, "r1": 0.3, "r2": 0.8, "coupler": float(np.linalg.norm(joint2 - joint1)),
    }  # fmt: skip
    return Problem(
        name="spatial_four_bar",
        system=jaxspark.LagrangianSystem(spatial_lagrangian, holonomic=spatial_holonomic),
        t0=0.0,
        t_end=3.0,
        y0=np.concatenate([joint1, joint2]),
        z0=np.zeros(6),
        args=args,
        reference=None,
    )
