"""A compound pendulum on a knife edge, as a constrained system.

The body has the coordinates `q = (x, y, theta)`: the position of its centre of mass, with
the knife edge at the origin and `y` upward, and its angle from hanging straight down. The
knife edge holds the body's velocity there at zero,

    k(q, v) = (x' - l cos(theta) theta', y' - l sin(theta) theta') = 0,

a constraint at the velocity level, for its multiplier `psi` is then known to the forces: it
is minus the force of the edge on the body, and dry friction is proportional to its size,

    M = -mu |psi| sign(theta') - c theta'.

The position of the edge is an invariant of the equations, kept to the order of the method.

Its functions take as `args` a dictionary of the names in `NAMES` and of `mass` (kg).

Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
systems*, equations (3.1): forces may depend on the multipliers of nonholonomic constraints.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .. import fit, Gauss, LagrangianSystem
from .._custom_types import FloatScalar


GRAVITY = 9.81
SIGN_WIDTH = 0.02
"""Rate (rad/s) over which friction changes sign; the swing crosses it in about 10 ms."""

UNITS = {
    "frequency": "rad/s",
    "friction": "m",
    "damping": "1/s",
    "gain": "V s/rad",
    "bias": "V",
    "angle": "rad",
    "rate": "rad/s",
    "length": "m",
}
NAMES = tuple(UNITS)
"""What describes the record.

- `frequency`: of small undamped swings, `sqrt(m g l / I)`, `I` about the edge.
- `friction`: friction arm `mu`, moment over force at the edge.
- `damping`: viscous moment over `I theta'`.
- `gain`, `bias`: of the sensor.
- `angle`, `rate`: at the first sample.
- `length`: `l`, from the edge to the centre of mass.
"""

KNOWN = 1e-9
"""Relative width of a prior that holds a parameter. The program is that of one that is free: it is
compiled once for both models, and tells the derivative by the length, too."""


def _inertia(args: dict[str, Any]) -> FloatScalar:
    """Of the body that oscillates with the given frequency, about the edge (kg m^2)."""
    return args["mass"] * GRAVITY * args["length"] / args["frequency"] ** 2


def _lagrangian(t, q: Float[Array, " 3"], v: Float[Array, " 3"], args) -> FloatScalar:
    del t
    central = _inertia(args) - args["mass"] * args["length"] ** 2
    translation = args["mass"] * (v[0] ** 2 + v[1] ** 2)
    return 0.5 * (translation + central * v[2] ** 2) - args["mass"] * GRAVITY * q[1]


def _edge_velocity(t, q: Float[Array, " 3"], v: Float[Array, " 3"], args):
    """The body's velocity at the knife edge (m/s)."""
    del t
    x, y = arm(q[2], args["length"])
    return jnp.stack([v[0] + y * v[2], v[1] - x * v[2]])


def _moment(moment: FloatScalar) -> Float[Array, " 3"]:
    zero = jnp.zeros_like(moment)
    return jnp.stack([zero, zero, moment])


def _viscous(t, q, v: Float[Array, " 3"], args) -> Float[Array, " 3"]:
    del t, q
    return _moment(-args["damping"] * _inertia(args) * v[2])


def _dry(t, q, v: Float[Array, " 3"], psi: Float[Array, " 2"], args):
    del t, q
    # |psi| has no derivative at 0, where Newton's iteration may start; a hundredth of the
    # weight, in quadrature, changes the friction by 5e-5 of itself.
    smallest = 0.01 * args["mass"] * GRAVITY
    load = jnp.sqrt(psi[0] ** 2 + psi[1] ** 2 + smallest**2)
    return _moment(-args["friction"] * load * jnp.tanh(v[2] / SIGN_WIDTH))


PENDULUM = LagrangianSystem(_lagrangian, nonholonomic=_edge_velocity, force=_viscous, nonideal=_dry)


def arm(angle: Any, length: Any):
    """The position of the centre of mass, `(x, y)`, as seen from the knife edge (m)."""
    return length * jnp.sin(angle), -length * jnp.cos(angle)


def position(args: dict[str, Any]) -> Float[Array, " 3"]:
    """Coordinates at the first sample, with the body on the edge."""
    return jnp.stack([*arm(args["angle"], args["length"]), args["angle"]])


def velocity(args: dict[str, Any]) -> Float[Array, " 3"]:
    """Velocities at the first sample, which satisfy the constraint."""
    x, y = arm(args["angle"], args["length"])
    return args["rate"] * jnp.stack([-y, x, jnp.ones_like(x)])


def observe(t, q, v, lam, psi, args) -> dict[str, FloatScalar]:
    """The gyroscope's voltage."""
    del t, q, lam, psi
    return {"gyro_volt": args["bias"] + args["gain"] * v[2]}


def model(values: dict[str, float], mass: float, h: float, dry: bool) -> fit.Model:
    """The pendulum and what of it is unknown.

    **Arguments:**

    - `values`: to start from, by the names in `NAMES`. The length is held.
    - `mass`: of the body (kg); the motion does not depend on it, only the force does.
    - `h`: the sampling interval (s); each has one step of `Gauss(2)`, of order 4.
    - `dry`: whether there is dry friction; otherwise `friction` is held.

    **Returns:** a [`jaxspark.fit.Model`][].
    """
    amplitude = float(np.hypot(values["angle"], values["rate"] / values["frequency"]))
    # The sizes by which a fit measures changes; none vanishes with its parameter.
    scales = {
        "friction": 0.01 * amplitude * values["length"],
        "damping": 0.01 * values["frequency"],
        "bias": values["gain"] * values["frequency"] * amplitude,
        "angle": amplitude,
        "rate": amplitude * values["frequency"],
    }
    width = scales["friction"] * (1 / KNOWN if dry else KNOWN)
    priors = {
        "friction": fit.Normal(values["friction"], width),
        "length": fit.LogNormal(values["length"], 1 + KNOWN),
    }
    specifications: dict[str, Any] = {"mass": fit.fixed(mass, "kg")}
    for name, unit in UNITS.items():
        options: dict[str, Any] = {"prior": priors.get(name)}
        if name in scales:
            specifications[name] = fit.real(values[name], unit, scale=scales[name], **options)
        else:
            specifications[name] = fit.positive(values[name], unit, **options)
    start = fit.Start(position, velocity, unknown="nothing")
    return fit.Model(
        PENDULUM, observe, specifications, start, step=1.001 * h, method=Gauss(2),
        title="A compound pendulum on a knife edge",
    )  # fmt: skip
