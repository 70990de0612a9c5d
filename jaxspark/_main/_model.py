"""A compound pendulum on a knife edge, as a constrained system.

The body has the coordinates `q = (x, y, theta)`: the position of its centre of mass, with
the knife edge at the origin and `y` upward, and its angle from hanging straight down. The
knife edge holds the body's velocity there at zero,

    k(q, v) = (x' - l cos(theta) theta', y' - l sin(theta) theta') = 0,

a constraint at the velocity level, for its multiplier `psi` is then known to the forces: it
is minus the force of the edge on the body, and dry friction is proportional to its size,

    M = -mu |psi| sign(theta') - c theta'.

The position of the edge is an invariant of the equations, kept to the order of the method.

Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
systems*, equations (3.1): forces may depend on the multipliers of nonholonomic constraints.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import Gauss, LagrangianSystem, rollout, Solution
from .._custom_types import FloatScalar


GRAVITY = 9.81
SIGN_WIDTH = 0.02
"""Rate (rad/s) over which friction changes sign; the swing crosses it in about 10 ms."""


class Parameters(NamedTuple):
    """What describes the record.

    - `frequency`: of small undamped swings, `sqrt(m g l / I)`, `I` about the edge (rad/s).
    - `friction`: friction arm `mu`, moment over force at the edge (m).
    - `damping`: viscous moment over `I theta'` (1/s).
    - `gain`: of the sensor (V s/rad).
    - `bias`: of the sensor (V).
    - `angle`, `rate`: at the first sample (rad, rad/s).
    - `length`: `l`, from the edge to the centre of mass (m).
    """

    frequency: FloatScalar
    friction: FloatScalar
    damping: FloatScalar
    gain: FloatScalar
    bias: FloatScalar
    angle: FloatScalar
    rate: FloatScalar
    length: FloatScalar


class Body(eqx.Module):
    """What the equations of motion need.

    Mass (kg), length (m), moments of inertia about the centre of mass and about the edge
    (kg m^2), friction arm (m), damping (1/s).
    """

    mass: FloatScalar
    length: FloatScalar
    central_inertia: FloatScalar
    pivot_inertia: FloatScalar
    friction: FloatScalar
    damping: FloatScalar


def body(parameters: Parameters, mass: FloatScalar) -> Body:
    """The body that oscillates with the given frequency."""
    length = parameters.length
    pivot_inertia = mass * GRAVITY * length / parameters.frequency**2
    central_inertia = pivot_inertia - mass * length**2
    return Body(
        mass,
        length,
        central_inertia,
        pivot_inertia,
        parameters.friction,
        parameters.damping,
    )


def _lagrangian(t, q: Float[Array, " 3"], v: Float[Array, " 3"], body: Body) -> FloatScalar:
    del t
    translation = body.mass * (v[0] ** 2 + v[1] ** 2)
    rotation = body.central_inertia * v[2] ** 2
    return 0.5 * (translation + rotation) - body.mass * GRAVITY * q[1]


def _edge_velocity(t, q: Float[Array, " 3"], v: Float[Array, " 3"], body: Body):
    """The body's velocity at the knife edge (m/s)."""
    del t
    x, y = arm(q[2], body.length)
    return jnp.stack([v[0] + y * v[2], v[1] - x * v[2]])


def _moment(moment: FloatScalar) -> Float[Array, " 3"]:
    zero = jnp.zeros_like(moment)
    return jnp.stack([zero, zero, moment])


def _viscous(t, q, v: Float[Array, " 3"], body: Body) -> Float[Array, " 3"]:
    del t, q
    return _moment(-body.damping * body.pivot_inertia * v[2])


def _dry(t, q, v: Float[Array, " 3"], psi: Float[Array, " 2"], body: Body):
    del t, q
    # |psi| has no derivative at 0, where Newton's iteration may start; a hundredth of the
    # weight, in quadrature, changes the friction by 5e-5 of itself.
    smallest = 0.01 * body.mass * GRAVITY
    load = jnp.sqrt(psi[0] ** 2 + psi[1] ** 2 + smallest**2)
    return _moment(-body.friction * load * jnp.tanh(v[2] / SIGN_WIDTH))


PENDULUM = LagrangianSystem(_lagrangian, nonholonomic=_edge_velocity, force=_viscous, nonideal=_dry)


def arm(angle: Float[Array, "..."], length: FloatScalar):
    """The position of the centre of mass, `(x, y)`, as seen from the knife edge (m)."""
    return length * jnp.sin(angle), -length * jnp.cos(angle)


def simulate(
    parameters: Parameters,
    mass: FloatScalar,
    t0: FloatScalar,
    h: FloatScalar,
    num_steps: int,
) -> Solution:
    """The swing, from an initial state that satisfies the constraint and its integral.

    **Arguments:**

    - `parameters`: what describes the record.
    - `mass`: of the body (kg); the motion does not depend on it, only the force does.
    - `t0`, `h`: first time and step size (s).
    - `num_steps`: of `Gauss(2)`, of order 4, one for each sampling interval.

    **Returns:** the [`jaxspark.Solution`][]; look at its `result`.
    """
    angle, rate = parameters.angle, parameters.rate
    x, y = arm(angle, parameters.length)
    q0 = jnp.stack([x, y, angle])
    v0 = jnp.stack([-y * rate, x * rate, rate])
    described = body(parameters, mass)
    # Errors are host callbacks inside jit; the caller looks at the result instead.
    return rollout(
        PENDULUM, q0, v0, described, method=Gauss(2),
        t0=t0, h=h, num_steps=num_steps, save_every=1, throw=False,
    )  # fmt: skip
