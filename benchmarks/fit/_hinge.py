"""A pendulum whose hinge has a friction law that the model does not know: a network learns it."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import jaxspark
from jaxspark import fit

from ._problem import Channels, FitProblem, integrate, Numbers, Trial


KNOWN = {"mass": 1.2, "length": 0.25, "inertia": 0.02}
"""Mass (kg), distance of the centre of mass from the hinge (m), moment of inertia about the
centre of mass (kg m^2)."""

GRAVITY = 9.81  # m/s^2, along -y
TYPICAL_RATE = 3.0  # rad/s
TYPICAL_MOMENT = 0.1  # N m


class Stribeck(eqx.Module):
    """Friction that is larger at small rates than at larger ones, smooth at zero.

    - `coulomb`, `static`: moments at large and at small rates (N m).
    - `stribeck`: rate at which the one passes into the other (rad/s).
    - `viscous`: moment over rate (N m s).
    - `width`: rate over which friction changes sign (rad/s).

    Source: B. Armstrong-Helouvry, P. Dupont & C. Canudas de Wit, *A survey of models,
    analysis tools and compensation methods for the control of machines with friction*.
    """

    coulomb: float = 0.05
    static: float = 0.1
    stribeck: float = 1.5
    viscous: float = 0.004
    width: float = 0.4

    def __call__(self, rate: Float[Array, ""]) -> Float[Array, ""]:
        """The moment against the motion (N m)."""
        excess = (self.static - self.coulomb) * jnp.exp(-((rate / self.stribeck) ** 2))
        return (self.coulomb + excess) * jnp.tanh(rate / self.width) + self.viscous * rate


STEEPEST = 30.0
"""Slope of the steepest unit at the start, by the rate over the typical one."""


class Network(eqx.Module):
    """An odd function of the rate by a multilayer perceptron with one hidden layer.

    - `layers`: rate over 3 rad/s to moment over 0.1 N m.
    """

    layers: eqx.nn.MLP

    def __init__(self, width: int = 8, seed: int = 0):
        key = jax.random.key(seed)
        layers = eqx.nn.MLP("scalar", "scalar", width, 1, jnp.tanh, use_final_bias=False, key=key)
        # Friction changes within a narrow band of rates: units from smooth to steep.
        slopes = jnp.geomspace(0.5, STEEPEST, width, dtype=layers.layers[0].weight.dtype)
        # And none at the start, rather than one that drives.
        none = jnp.zeros_like(layers.layers[1].weight)
        start = slopes[:, None], jnp.zeros(width, slopes.dtype), none
        self.layers = eqx.tree_at(
            lambda x: (x.layers[0].weight, x.layers[0].bias, x.layers[1].weight), layers, start
        )

    def __call__(self, rate: Float[Array, ""]) -> Float[Array, ""]:
        """The moment against the motion (N m)."""
        u = rate / TYPICAL_RATE
        return 0.5 * TYPICAL_MOMENT * (self.layers(u) - self.layers(-u))


def lagrangian(t, y, z, args):
    """`y` is the centre of mass and the angle from hanging down (J)."""
    del t
    kinetic = args["mass"] * (z[0] ** 2 + z[1] ** 2) + args["inertia"] * z[2] ** 2
    return 0.5 * kinetic - GRAVITY * args["mass"] * y[1]


def hinge(t, y, args):
    """The body's point at the origin, shape `(2,)` (m)."""
    del t
    return y[:2] - args["length"] * jnp.stack([jnp.sin(y[2]), -jnp.cos(y[2])])


def friction(t, y, z, args):
    """`args["law"]` of the rate, a moment against the motion; a network or the truth."""
    del t, y
    moment = -args["law"](z[2])
    zero = jnp.zeros_like(moment)
    return jnp.stack([zero, zero, moment])


def observe(t, y, z, lam, psi, args):
    """Angle (rad) and rate (rad/s)."""
    del t, lam, psi, args
    return {"angle": y[2], "rate": z[2]}


def state(start, args):
    """Of the angle and the rate."""
    sine, cosine = jnp.sin(start[0]), jnp.cos(start[0])
    along = args["length"] * jnp.stack([sine, -cosine])
    across = args["length"] * start[1] * jnp.stack([cosine, sine])
    return jnp.concatenate([along, start[:1]]), jnp.concatenate([across, start[1:]])


def reduced(trial: Trial, start: Numbers, args: dict[str, Any]) -> Channels:
    """The channels from the equation of motion of the angle; `args["law"]` is a `Stribeck`."""
    law = args["law"]
    inertia = args["inertia"] + args["mass"] * args["length"] ** 2
    weight = args["mass"] * GRAVITY * args["length"]

    def derivative(_, x):
        angle, rate = float(x[0]), float(x[1])
        excess = (law.static - law.coulomb) * math.exp(-((rate / law.stribeck) ** 2))
        moment = (law.coulomb + excess) * math.tanh(rate / law.width) + law.viscous * rate
        return [rate, (-weight * math.sin(angle) - moment) / inertia]

    angle, rate = integrate(derivative, start, trial.times)
    return {"angle": angle, "rate": rate}


def law_error(law: Any, highest: float = 9.0) -> float:
    """How far a law is from the truth: root mean square, as a share of that of the truth.

    **Arguments:**

    - `law`: for instance a [`Network`][].
    - `highest`: rate (rad/s); the swings go up to 9.7. Evenly from its negative on.
    """
    rates = jnp.linspace(-highest, highest, 1001)
    found, true = jax.vmap(law)(rates), jax.vmap(Stribeck())(rates)
    return float(jnp.sqrt(jnp.mean((found - true) ** 2) / jnp.mean(true**2)))


def specs(width: int = 8, seed: int = 0) -> dict[str, Any]:
    """A network of which every weight is estimated; all else is known.

    **Arguments:**

    - `width`: of its hidden layer.
    - `seed`: of its first weights.
    """
    return {**KNOWN, "law": fit.free(Network(width, seed))}


def hinge_friction() -> FitProblem:
    """One body, three coordinates, two constraints; two swings of 10 s at 100 Hz."""
    times = np.linspace(0.0, 10.0, 1001)
    return FitProblem(
        name="hinge",
        system=jaxspark.LagrangianSystem(lagrangian, holonomic=hinge, force=friction),
        observe=observe,
        truth={**KNOWN, "law": Stribeck()},
        guess={},
        specs=specs,
        trials=(
            Trial("high", times, np.array([2.2, 0.0]), np.array([2.1, 0.1])),
            Trial("low", times, np.array([-0.6, 3.0]), np.array([-0.5, 2.7])),
        ),
        state=state,
        reduced=reduced,
        units={"angle": "rad", "rate": "rad/s"},
        method=jaxspark.Gauss(3),
    )
