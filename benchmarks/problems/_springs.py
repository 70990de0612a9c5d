"""Stiff springs and bushings, as forces and as coordinates."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

import jaxspark

from ._problem import Problem


Force = Callable[..., Any]


def spring_force(eta: Force, stiffness: Force, damping: Force) -> Force:
    """`-J^T (k eta + d J v)` with `J` the Jacobian of the elongations `eta(t, q, args)`.

    Source: the generalised force of the elongations' potential and Rayleigh's dissipation.
    """

    def force(t, q, v, args):
        def elongations(q):
            return eta(t, q, args)

        e, edot = jax.jvp(elongations, (q,), (v,))
        tension = stiffness(args) * e + damping(args) * edot
        return -jax.vjp(elongations, q)[1](tension)[0]

    return force


def undamped(args: Any) -> float:
    """No damping."""
    del args
    return 0.0


def elongated(plain: Problem, system: jaxspark.stiff.Elongated) -> Problem:
    """The same motion in the coordinates `(y, e)`."""
    start = jnp.asarray(plain.y0), jnp.asarray(plain.z0)
    y0, z0 = jaxspark.stiff.elongate(system, plain.t0, *start, plain.args)
    return replace(plain, system=system, y0=y0, z0=z0)
