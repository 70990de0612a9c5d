"""A heavy symmetric top with a quaternion: coordinates and velocities differ in kind."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


# Principal moments about the centre of mass (kg m^2); the top is symmetric about axis 2.
INERTIA = {"J1": 0.234375, "J2": 0.46875, "J3": 0.234375}


def velocity(t, y, z, args):
    """`x' = u`, `p0' = -pv.W / 2`, `pv' = (p0 W + pv x W) / 2`, shape `(7,)`."""
    del t, args
    rate, p0, pv = z[3:], y[3], y[4:]
    vector = 0.5 * (p0 * rate + jnp.cross(pv, rate))
    return jnp.concatenate([z[:3], -0.5 * jnp.sum(pv * rate, keepdims=True), vector])


def _inertia(args):
    """The principal moments (kg m^2) about the centre of mass, shape `(3,)`."""
    return jnp.stack([args["J1"], args["J2"], args["J3"]])


def momentum(t, y, z, args):
    """`(m u, J W)`, shape `(6,)`."""
    del t, y
    inertia = jnp.asarray(_inertia(args), z.dtype)
    return jnp.concatenate([args["m"] * z[:3], inertia * z[3:]])


def force(t, y, z, args):
    """Gravity and the gyroscopic torque `-W x J W`, shape `(6,)`."""
    del t, y
    rate = z[3:]
    inertia = jnp.asarray(_inertia(args), z.dtype)
    weight = jnp.stack([0.0, 0.0, -args["m"] * args["g"]])
    return jnp.concatenate([jnp.asarray(weight, z.dtype), -jnp.cross(rate, inertia * rate)])


def holonomic(t, y, args):
    """The tip is at the origin, `x - R(p) X` with `X = (0, l, 0)`, shape `(3,)`."""
    del t
    x, p0, pv = y[:3], y[3], y[4:]
    centre = jnp.asarray(jnp.stack([0.0, args["l"], 0.0]), y.dtype)
    rotated = (
        (p0**2 - jnp.sum(pv**2)) * centre
        + 2 * jnp.sum(pv * centre) * pv
        + 2 * p0 * jnp.cross(pv, centre)
    )
    return x - rotated


def heavy_top() -> Problem:
    """`y = (x, p)` with position and quaternion, `z = (u, W)`, `W` in body axes; 1 s.

    The quaternion's norm is an invariant of the flow, not a constraint.

    Source: O. Bruels & A. Cardona, *On the use of Lie group time integrators in multibody
    dynamics*, J. Comput. Nonlinear Dynam. 5 (2010); Z. Terze, A. Mueller & D. Zlatar,
    *Singularity-free time integration of rotational quaternions*, same journal 11 (2016).
    """
    return Problem(
        name="heavy_top",
        system=jaxspark.ConstrainedSystem(force, v=velocity, p=momentum, g=holonomic),
        t0=0.0,
        t_end=1.0,
        y0=np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
        z0=np.array([4.61538, 0.0, 0.0, 0.0, 150.0, -4.61538]),
        args={"m": 15.0, "l": 1.0, "g": 9.81, **INERTIA},
        reference=reference_loader("heavy_top"),
    )
