"""Equations of motion in minimal coordinates, derived by hand, for diffrax."""

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import jax.numpy as jnp
import numpy as np

from . import _heavytop, _pendulum, _sleigh
from ._jax_solvers import Compiled, MAX_STEPS
from ._mechanism import Scalars


BY_HAND = "diffrax Dopri8, reduced by hand"


class Reduced(NamedTuple):
    """An ODE and the way back.

    - `start`: the initial state.
    - `field`: its derivatives; of lists of scalars.
    - `expand`: coordinates and velocities of a state.
    """

    start: np.ndarray
    field: Callable[[Scalars], Scalars]
    expand: Callable[[Scalars], tuple[Scalars, Scalars]]


def _pendulum_field(x: Scalars) -> Scalars:
    return [x[1], -_pendulum.GRAVITY * jnp.sin(x[0])]


def _pendulum_expand(x: Scalars) -> tuple[Scalars, Scalars]:
    s, c = jnp.sin(x[0]), jnp.cos(x[0])
    return [s, -c], [c * x[1], s * x[1]]


def _heavytop_field(x: Scalars) -> Scalars:
    """Euler's equations about the fixed point."""
    q, w = x[:4], x[4:]
    m, (j1, j2, j3) = _heavytop.MASS, _heavytop.INERTIA
    j1, j3 = j1 + m, j3 + m
    back = [q[0], -q[1], -q[2], -q[3]]
    weight = _heavytop.rotate(back, [0.0, 0.0, -m * _heavytop.GRAVITY])
    return [
        *_heavytop.turning(q, w),
        ((j2 - j3) * w[1] * w[2] + weight[2]) / j1,
        (j3 - j1) * w[2] * w[0] / j2,
        ((j1 - j2) * w[0] * w[1] - weight[0]) / j3,
    ]


def _heavytop_expand(x: Scalars) -> tuple[Scalars, Scalars]:
    q, w = list(x[:4]), list(x[4:])
    centre = _heavytop.rotate(q, _heavytop.CENTRE)
    velocity = _heavytop.rotate(q, [-w[2], 0.0, w[0]])
    return [*centre, *q], [*velocity, *w]


def _sleigh_field(x: Scalars) -> Scalars:
    """The contact point, the heading, the forward speed and the rate of turning."""
    _, _, heading, speed, rate = x
    s, c = jnp.sin(heading), jnp.cos(heading)
    a, slope, mass = _sleigh.OFFSET, _sleigh.SLOPE, _sleigh.MASS
    turning = -mass * a * (speed * rate + slope * s) / (_sleigh.INERTIA + mass * a * a)
    return [speed * c, speed * s, rate, a * rate * rate + slope * c, turning]


def _sleigh_expand(x: Scalars) -> tuple[Scalars, Scalars]:
    return [*x[:3]], [x[3] * jnp.cos(x[2]), x[3] * jnp.sin(x[2]), x[4]]


REDUCED = {
    "pendulum": Reduced(np.array([np.pi / 2, 0.0]), _pendulum_field, _pendulum_expand),
    "heavytop": Reduced(
        np.array([1.0, 0.0, 0.0, 0.0, 0.0, 150.0, -4.61538]), _heavytop_field, _heavytop_expand
    ),
    "sleigh": Reduced(np.array([0.0, 0.0, 1.5, 1.0, 4.0]), _sleigh_field, _sleigh_expand),
}


def by_hand(name: str, t_end: float) -> Compiled:
    """Dopri8 on the equation of the mechanism of this name."""
    reduced = REDUCED[name]
    start = jnp.asarray(reduced.start)

    def integrate(tolerance):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, x, args: jnp.stack(reduced.field(list(x)))),
            diffrax.Dopri8(), 0.0, t_end, None, start, max_steps=MAX_STEPS, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
        )  # fmt: skip
        assert solution.ys is not None
        q, v = reduced.expand(list(solution.ys[-1]))
        good = solution.result == diffrax.RESULTS.successful
        return jnp.stack([*q, *v]), good, jnp.asarray(jnp.nan)

    return Compiled(BY_HAND, integrate)


def every_second(name: str, t_end: float) -> Callable[[Any], tuple[Any, Any]]:
    """A function of the tolerance: coordinates and velocities at every second."""
    reduced, times = REDUCED[name], jnp.arange(0.0, t_end + 0.5)

    def integrate(tolerance):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, x, args: jnp.stack(reduced.field(list(x)))),
            diffrax.Dopri8(), 0.0, t_end, None, jnp.asarray(reduced.start), max_steps=None,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            saveat=diffrax.SaveAt(ts=times),
        )  # fmt: skip
        assert solution.ys is not None
        q, v = reduced.expand(list(solution.ys.T))
        return jnp.stack(q, 1), jnp.stack(v, 1)

    return integrate
