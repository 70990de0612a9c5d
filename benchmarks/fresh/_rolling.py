"""Vehicles: constraints on velocities in the plane."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._mechanism import Fresh


def tricycle() -> Fresh:
    """A frame on two rear wheels and a steered front wheel; `q = (x, y, heading, steering)`.

    Parameters: mass (kg), inertias of the frame and of the fork (kg m^2), wheelbase (m), drive (N),
    drag (N s/m), stiffness (N m) and damping (N m s) of the fork, amplitude (N m) and frequency
    (rad/s) of the steering.
    """

    def mass(args):
        return jnp.diag(jnp.stack([args[0], args[0], args[1], args[2]]))

    def force(t, q, v, args):
        drive = args[4] - args[5] * (v[0] * jnp.cos(q[2]) + v[1] * jnp.sin(q[2]))
        fork = -args[6] * q[3] - args[7] * v[3] + args[8] * jnp.sin(args[9] * t)
        return jnp.stack([drive * jnp.cos(q[2]), drive * jnp.sin(q[2]), 0 * t, fork])

    def nonholonomic(t, q, v, args):
        rear = v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2])
        angle = q[2] + q[3]
        front = v[1] * jnp.cos(angle) - v[0] * jnp.sin(angle) + args[3] * v[2] * jnp.cos(q[3])
        return jnp.stack([rear, front])

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: mass(args), force, nonholonomic=nonholonomic
    )
    args = [20.0, 3.0, 0.2, 1.1, 15.0, 3.0, 4.0, 0.5, 2.0, 2.5]
    start = np.array([0.0, 0, 0.2, 0.1]), np.array([1.5, 0.3, 0, 0])
    return Fresh("tricycle", system, mass, *start, np.array(args), 4.0)


def load() -> Fresh:
    """A cart on a knife edge with a load that swings on a rod in the plane: both kinds together.

    `q = (x, y, heading, u, w)`, `(u, w)` the load. Parameters: mass (kg) and inertia (kg m^2) of
    the cart, of the load, length (m), where the rod is hung (m), drive (N), drag of the cart and of
    the load (N s/m), a torque (N m) and its frequency (rad/s).
    """

    def mass(args):
        m = jnp.stack([args[0], args[0], args[1], args[2], args[2]])
        return jnp.diag(m)

    def hung(q, args):
        return q[:2] - args[4] * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])

    def force(t, q, v, args):
        push = args[5] * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])]) - args[6] * v[:2]
        turn = args[8] * jnp.sin(args[9] * t)
        return jnp.concatenate([push, turn[None], -args[7] * v[3:]])

    def holonomic(t, q, args):
        rod = q[3:] - hung(q, args)
        return 0.5 * (jnp.sum(rod**2, keepdims=True) - args[3] ** 2)

    def nonholonomic(t, q, v, args):
        return (v[1] * jnp.cos(q[2]) - v[0] * jnp.sin(q[2]))[None]

    system = jaxspark.MechanicalSystem(
        lambda t, q, args: mass(args), force, holonomic=holonomic, nonholonomic=nonholonomic
    )
    args = [8.0, 0.6, 1.5, 0.7, 0.3, 6.0, 1.0, 0.1, 1.5, 2.0]
    y, z = np.array([0, 0, 0.1, -0.6, -0.6]), np.array([1.0, 0.1, 0.5, 1.0, 0.3])
    return Fresh("load", system, mass, y, z, np.array(args), 3.0)
