"""Mechanisms with a slow motion that their stiff springs hardly change, and its rigid limit.

They start on the slow motion: springs carry what the rigid mechanism's constraints would.
"""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem
from ._springs import elongated, spring_force
from ._yen_petzold import (
    bushing_damping,
    bushing_stiffness,
    displacement,
    masses,
    weights,
)


# --- A spring pendulum ------------------------------------------------------------------------


def _no_mass_of_the_last(t, q, args):
    """Unit masses, and none for the last coordinate, the elongation."""
    del t, args
    return jnp.diag(jnp.ones_like(q).at[-1].set(0.0))


def _unit_mass(t, q, args):
    del t, args
    return jnp.eye(q.size, dtype=q.dtype)


def _weights(t, q, v, args):
    """Those of unit masses, in the plane."""
    del t, v, args
    return jnp.zeros_like(q).at[1::2].set(-1.0)


def _weights_and_spring(t, q, v, args):
    """The elongation is the last coordinate; the stiffness is `eps^-2`."""
    return jnp.append(_weights(t, q[:-1], v, args), -q[-1] / args["eps"] ** 2)


def _sprung(t, q, args):
    """The length of the pendulum is `1 + e`."""
    del t, args
    return (q[:1] ** 2 + q[1:2] ** 2 - (1 + q[2:]) ** 2) / 2


def _rod(t, q, args):
    del t, args
    return (jnp.sum(q**2, keepdims=True) - 1) / 2


def spring_pendulum(eps: float = 1e-4, off: float = 0.0) -> Problem:
    """`y = (x, y, e)`: a mass on a spring of stiffness `eps^-2` and its elongation, two seconds.

    At rest, 1 rad from the vertical, with the elongation `off` (m) beside that of the slow
    motion. Mass, length and gravity are one.

    Source: the family of C. Lubich, *Integration of stiff mechanical systems by Runge-Kutta
    methods*, ZAMP 44 (1993).
    """
    elongation = eps**2 * np.cos(1) + off
    return Problem(
        name="spring_pendulum",
        system=jaxspark.MechanicalSystem(_no_mass_of_the_last, _weights_and_spring, _sprung),
        t0=0.0,
        t_end=2.0,
        y0=np.append((1 + elongation) * _direction(1.0), elongation),
        z0=np.zeros(3),
        args={"eps": eps},
        reference=None,
    )


def rigid_pendulum() -> Problem:
    """`y = (x, y)`: the limit `eps = 0` of `spring_pendulum`."""
    return Problem(
        name="rigid_pendulum",
        system=jaxspark.MechanicalSystem(_unit_mass, _weights, _rod),
        t0=0.0,
        t_end=2.0,
        y0=_direction(1.0),
        z0=np.zeros(2),
        args={},
        reference=None,
    )


def _direction(angle: float) -> np.ndarray:
    """From the vertical."""
    return np.array([np.sin(angle), -np.cos(angle)])


# --- A double pendulum ------------------------------------------------------------------------


def _rod_and_spring(t, q, args):
    """The first link has unit length, the second `1 + e`."""
    del t, args
    apart = jnp.sum((q[2:4] - q[:2]) ** 2)
    return jnp.stack([jnp.sum(q[:2] ** 2) - 1, apart - (1 + q[4]) ** 2]) / 2


def _rods(t, q, args):
    return _rod_and_spring(t, jnp.append(q, 0.0), args)


def spring_double_pendulum(eps: float = 1e-4, off: float = 0.0) -> Problem:
    """`y = (x1, y1, x2, y2, e)`: a rod, and a spring of stiffness `eps^-2`; two seconds.

    At rest with angles of 0.6 and 1 rad from the vertical; else as `spring_pendulum`.

    Source: as `spring_pendulum`.
    """
    first, second = _direction(0.6), _direction(1.0)
    # The tension of the rigid mechanism at rest.
    rows = np.block([[first, np.zeros(2)], [-second, second]])
    tension = np.linalg.solve(rows @ rows.T, rows @ np.array([0.0, -1.0, 0.0, -1.0]))[1]
    elongation = eps**2 * tension + off
    return Problem(
        name="spring_double_pendulum",
        system=jaxspark.MechanicalSystem(
            _no_mass_of_the_last, _weights_and_spring, _rod_and_spring
        ),
        t0=0.0,
        t_end=2.0,
        y0=np.concatenate([first, first + (1 + elongation) * second, [elongation]]),
        z0=np.zeros(5),
        args={"eps": eps},
        reference=None,
    )


def rigid_double_pendulum() -> Problem:
    """`y = (x1, y1, x2, y2)`: the limit `eps = 0` of `spring_double_pendulum`."""
    first, second = _direction(0.6), _direction(1.0)
    return Problem(
        name="rigid_double_pendulum",
        system=jaxspark.MechanicalSystem(_unit_mass, _weights, _rods),
        t0=0.0,
        t_end=2.0,
        y0=np.concatenate([first, first + second]),
        z0=np.zeros(4),
        args={},
        reference=None,
    )


# --- Two bodies and a bushing, swinging -------------------------------------------------------


def pinned(t, q, args):
    """The centre of mass of body 1 stands still, shape `(2,)` (m)."""
    del t, args
    return q[:2]


def _pinned_and_joined(t, q, args):
    return jnp.concatenate([pinned(t, q, args), displacement(t, q, args)])


def _bushed(t, q, v, args):
    return weights(t, q, v, args) + _bushing(t, q, v, args)


_bushing = spring_force(displacement, bushing_stiffness, bushing_damping)


def swinging_bushing(eps: float = 1e-4) -> Problem:
    """`y = (x1, y1, a1, x2, y2, a2)`: the bushing of Yen & Petzold where there is slow motion.

    Body 1 turns about its centre of mass; the bushing joins body 2 to it in all directions. Both
    start horizontal, and almost at rest; one second.

    Source: `yen_petzold_bushing`, with other joints.
    """
    args = {"m1": 1.0, "J1": 1.0, "m2": 1.0, "J2": 1.0, "g": 9.81, "c": 10.0, "eps": eps}
    turning = -args["m2"] * args["g"] / (args["J1"] + args["J2"] + args["m2"])
    force = args["m2"] * (turning + args["g"])
    twist = -eps * (args["J2"] * turning + force / 2)
    # Along the bodies there is no force yet, but it grows as -3 m2 (turning t)^2 / 2: the bushing
    # gives way by eps times that, and what accelerates and damps this is a force, too.
    growth = -3 * args["m2"] * (eps * turning) ** 2
    along, rate = growth * args["m2"], growth * args["c"]
    second = [(1 + np.cos(twist)) / 2 + along, np.sin(twist) / 2 - eps * force, twist]
    return Problem(
        name="swinging_bushing",
        system=jaxspark.MechanicalSystem(masses, _bushed, pinned),
        t0=0.0,
        t_end=1.0,
        y0=np.array([0.0, 0.0, 0.0, *second]),
        z0=np.array([0.0, 0.0, 0.0, rate, 0.0, 0.0]),
        args=args,
        reference=None,
    )


def swinging_bushing_elongated(eps: float = 1e-4) -> Problem:
    """The same with the bushing's displacements as coordinates."""
    free = jaxspark.MechanicalSystem(masses, weights, pinned)
    system = jaxspark.stiff.Elongated(free, displacement, bushing_stiffness, bushing_damping)
    return elongated(swinging_bushing(eps), system)


def swinging_rigid() -> Problem:
    """The limit `eps = 0` of `swinging_bushing`."""
    return Problem(
        name="swinging_rigid",
        system=jaxspark.MechanicalSystem(masses, weights, _pinned_and_joined),
        t0=0.0,
        t_end=1.0,
        y0=np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        z0=np.zeros(6),
        args={"m1": 1.0, "J1": 1.0, "m2": 1.0, "J2": 1.0, "g": 9.81},
        reference=None,
    )
