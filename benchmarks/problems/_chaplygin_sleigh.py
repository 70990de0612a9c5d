"""The Chaplygin sleigh."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


def mass(t, q, args):
    """The mass matrix in the coordinates of the blade, shape `(3, 3)`."""
    del t
    m, a = args["m"], args["a"]
    c, s = jnp.cos(q[2]), jnp.sin(q[2])
    rows = [
        [m, 0.0, -m * a * s],
        [0.0, m, m * a * c],
        [-m * a * s, m * a * c, args["I"] + m * a**2],
    ]
    return jnp.array(rows, q.dtype)


def centrifugal(q, v, args):
    """The force of the rotation about the blade (N, N, N m), shape `(3,)`."""
    m, a = args["m"], args["a"]
    radial = m * a * v[2] ** 2
    return jnp.stack([radial * jnp.cos(q[2]), radial * jnp.sin(q[2]), jnp.zeros_like(q[2])])


def force(t, q, v, args):
    """No other force acts."""
    del t
    return centrifugal(q, v, args)


def nonholonomic(t, q, v, args):
    """No motion across the blade, `-x' sin(phi) + y' cos(phi)`, shape `(1,)`."""
    del t, args
    return v[1:2] * jnp.cos(q[2]) - v[:1] * jnp.sin(q[2])


def chaplygin_sleigh() -> Problem:
    """Pushed backward, it turns over once and runs out straight; `y = (x, y, phi)`, 20 s.

    The blade is at `(x, y)`, the centre of mass `a` ahead of it; `I` is the moment of
    inertia about the centre of mass.

    Source: A. M. Bloch, *Nonholonomic Mechanics and Control*, section 1.7. Velocities and
    angle are elementary functions of time.
    """
    heading, speed, turn = 0.4, -1.0, 0.5
    return Problem(
        name="chaplygin_sleigh",
        system=jaxspark.MechanicalSystem(mass, force, nonholonomic=nonholonomic),
        t0=0.0,
        t_end=20.0,
        y0=np.array([0.0, 0.0, heading]),
        z0=np.array([speed * np.cos(heading), speed * np.sin(heading), turn]),
        args={"m": 1.0, "I": 0.3, "a": 0.2},
        reference=reference_loader("chaplygin_sleigh"),
    )
