"""Constraints that depend on time, of both kinds."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from ._mechanism import diagonal, from_problem, half_square, Mechanism, plane_weight
from ._nonholonomic import turntable_system


MOVED = ("holonomic", "rheonomic")


def turntable_rheonomic() -> Mechanism:
    """The turntable at a rate that oscillates."""

    def rate(t, args):
        return args["W"] * (1 + 0.5 * jnp.sin(2 * t))

    def guess(rng):
        return rng.standard_normal(2), rng.standard_normal(4), {"W": rng.uniform(2, 4)}

    kinds = ("nonholonomic", "rheonomic", "motion by reactions alone")
    return Mechanism("turntable_rheonomic", kinds, turntable_system(rate), guess, 5.0)


def rotating_hoop() -> Mechanism:
    """A bead on a hoop that is turned about its vertical diameter, not evenly."""

    def hoop(t, q, args):
        angle = args["w"] * t + 0.3 * jnp.sin(2 * t)
        across = jnp.cos(angle) * q[1] - jnp.sin(angle) * q[0]
        return jnp.stack([half_square(q) - 0.5, across])

    def weight(t, q, v, args):
        return jnp.array([0, 0, -9.81], q.dtype)

    def guess(rng):
        angle = rng.uniform(-1.5, 1.5)
        y = [np.sin(angle), 0, -np.cos(angle)]
        return y, rng.standard_normal(3), {"w": rng.uniform(3, 5)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), weight, hoop)
    return Mechanism("rotating_hoop", MOVED, system, guess, 3.0)


def winch() -> Mechanism:
    """A load on a rope that is hauled in and let out while it swings."""

    def rope(t, q, args):
        length = 1 + args["haul"] * jnp.sin(args["w"] * t)
        return jnp.linalg.norm(q)[None] - length

    def guess(rng):
        angle = rng.uniform(-1, 1)
        y, z = [np.sin(angle), -np.cos(angle)], rng.standard_normal(2)
        return y, z, {"haul": rng.uniform(0.2, 0.4), "w": rng.uniform(2, 5)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), plane_weight(1), rope)
    return Mechanism("winch", MOVED, system, guess, 4.0)


def crane() -> Mechanism:
    """A double pendulum on a trolley that is moved to and fro; `y = (x, X1, Y1, X2, Y2)`."""

    def rigid(t, q, args):
        trolley = args["reach"] * jnp.sin(args["w"] * t)
        first = q[1:3] - jnp.array([1.0, 0]) * q[0]
        rods = half_square(first) - 0.5, half_square(q[3:] - q[1:3]) - 0.125
        return jnp.stack([q[0] - trolley, *rods])

    def weight(t, q, v, args):
        return jnp.array([0, 0, -9.81, 0, -0.5 * 9.81], q.dtype)

    def guess(rng):
        y = [0, *(np.array([0, -1, 0, -1.5]) + 0.2 * rng.standard_normal(4))]
        return y, 0.3 * rng.standard_normal(5), {"reach": 0.3, "w": rng.uniform(1, 3)}

    system = jaxspark.MechanicalSystem(diagonal(2, 1, 1, 0.5, 0.5), weight, rigid)
    return Mechanism("crane", MOVED, system, guess, 2.0)


MECHANISMS = (
    turntable_rheonomic(), rotating_hoop(), winch(), crane(),
    from_problem(problems.kapitza(), (*MOVED, "time scales"), 0.5),
    from_problem(problems.caraxis(), (*MOVED, "time scales"), 1.0, velocities=0.01),
    from_problem(problems.mixed(), ("mixed", "rheonomic"), 2.0),
    from_problem(problems.mixed(False), ("nonholonomic", "rheonomic"), 2.0),
)  # fmt: skip
