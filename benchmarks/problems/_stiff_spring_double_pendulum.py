"""A double pendulum whose second link is a stiff spring."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import brief, Problem, reference_if_any
from ._springs import elongated, spring_force, undamped


def mass(t, q, args):
    """The two point masses (kg), shape `(4, 4)`."""
    del t
    entries = [args[key] for key in ("m1", "m1", "m2", "m2")]
    return jnp.diag(jnp.array(entries, q.dtype))


def weights(t, q, v, args):
    """The weights (N)."""
    del t, v
    return -args["g"] * jnp.zeros_like(q).at[1].set(args["m1"]).at[3].set(args["m2"])


def rod(t, q, args):
    """The first link, shape `(1,)`."""
    del t
    return (jnp.sum(q[:2] ** 2, keepdims=True) - args["l1"] ** 2) / 2


def stretch(t, q, args):
    """The elongation of the second link (m), shape `(1,)`."""
    del t
    return jnp.sqrt(jnp.sum((q[2:] - q[:2]) ** 2, keepdims=True)) - args["l2"]


def stiffness(args):
    """That of the second link (N/m)."""
    return args["k"]


def force(t, q, v, args):
    """The weights, and the spring's force."""
    return weights(t, q, v, args) + _pull(t, q, v, args)


_pull = spring_force(stretch, stiffness, undamped)


def stiff_spring_double_pendulum(k: float = 1e4) -> Problem:
    """`y = (x1, y1, x2, y2)`, released at rest with angles of 1 and 0.5 rad; one second.

    Source: the family of C. Lubich, *Integration of stiff mechanical systems by Runge-Kutta
    methods*, ZAMP 44 (1993).
    """
    name = f"stiff_spring_double_pendulum_k{brief(k)}"
    args = {"m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 1.0, "g": 9.81, "k": k}
    first, second = (np.array([np.sin(a), -np.cos(a)]) for a in (1.0, 0.5))
    second = first + (1 + args["g"] / k) * second
    return Problem(
        name=name,
        system=jaxspark.MechanicalSystem(mass, force, rod),
        t0=0.0,
        t_end=1.0,
        y0=np.concatenate([first, second]),
        z0=np.zeros(4),
        args=args,
        reference=reference_if_any(name),
    )


def stiff_spring_double_pendulum_elongated(k: float = 1e4) -> Problem:
    """The same with the elongation of the second link as a coordinate."""
    plain = stiff_spring_double_pendulum(k)
    free = jaxspark.MechanicalSystem(mass, weights, rod)
    system = jaxspark.stiff.Elongated(free, stretch, stiffness)
    return elongated(plain, system)
