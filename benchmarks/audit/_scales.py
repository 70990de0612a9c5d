"""Two time scales, a fast spin, a stiff damper, and units far from 1."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from ._mechanism import diagonal, half_square, Mechanism, plane_weight


def spring_1e5() -> Mechanism:
    """A spring of 1e5 N/m on an inclined track: 630 radians of one oscillation."""

    def track(t, q, args):
        return (q[1] - args["slope"] * q[0])[None]

    def force(t, q, v, args):
        return -1e5 * q

    def guess(rng):
        return rng.standard_normal(2), 300 * rng.standard_normal(2), {"slope": rng.uniform(0, 1)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), force, track)
    return Mechanism("spring_1e5", ("holonomic", "long", "fast"), system, guess, 2.0)


def _two_bobs(stiffness: float, damping: float):
    """A rod with a bob, to which a second one is tied by a spring of length 1 and a damper."""
    weight = plane_weight(1, 0.5)

    def rod(t, q, args):
        return (half_square(q[:2]) - 0.5)[None]

    def force(t, q, v, args):
        along = q[2:] - q[:2]
        length = jnp.linalg.norm(along)
        rate = jnp.sum(along * (v[2:] - v[:2])) / length
        pull = (stiffness * (length - 1) + damping * rate) * along / length
        return weight(t, q, v, args) + jnp.concatenate([pull, -pull])

    return jaxspark.MechanicalSystem(diagonal(1, 1, 0.5, 0.5), force, rod)


def _two_bobs_swing(stretch: float):
    def guess(rng):
        angles, lengths = rng.uniform(-0.8, 0.8, 2), np.array([1, 1 + stretch])
        arms = lengths[:, None] * np.stack([np.sin(angles), -np.cos(angles)], 1)
        return np.cumsum(arms, 0).ravel(), np.zeros(4), {}

    return guess


def two_scales() -> Mechanism:
    """A pendulum and a spring that oscillates fifteen times as fast."""
    kinds = ("holonomic", "time scales")
    return Mechanism("two_scales", kinds, _two_bobs(1000.0, 0.0), _two_bobs_swing(0.02), 1.0)


def stiff_damper() -> Mechanism:
    """The same with a damper whose motion dies out in less than a millisecond."""
    kinds = ("holonomic", "stiff")
    system, guess = _two_bobs(1e4, 500.0), _two_bobs_swing(0.0)
    return Mechanism("stiff_damper", kinds, system, guess, 1.0, stiff=True)


def _scaled_pendulum(name: str, unit: float) -> Mechanism:
    """A pendulum whose length is 1 m, in units of which one metre has `unit`."""

    def rod(t, q, args):
        return (half_square(q) - 0.5 * unit**2)[None]

    def guess(rng):
        angle = rng.uniform(-2.5, 2.5)
        y = unit * np.array([np.sin(angle), -np.cos(angle)])
        return y, unit * rng.standard_normal(2), {}

    weight = plane_weight(1, gravity=9.81 * unit)
    system = jaxspark.MechanicalSystem(diagonal(1, 1), weight, rod)
    return Mechanism(name, ("holonomic", "units"), system, guess, 3.0)


def large_wheel() -> Mechanism:
    """A wheel of 1 km that rolls, and a pendulum at its hub; `y = (x, turn, swing)`.

    Metres and radians: coordinates of 1000 and of 1.
    """

    def lagrangian(t, q, v, args):
        sideways = v[0] + jnp.cos(q[2]) * v[2]
        bob = 0.5 * (sideways**2 + (jnp.sin(q[2]) * v[2]) ** 2) + 9.81 * jnp.cos(q[2])
        return 0.5 * (v[0] ** 2 + 1e6 * v[1] ** 2) + bob

    def rolling(t, q, args):
        return (q[0] - 1000 * q[1])[None]

    def guess(rng):
        turn, speed = rng.uniform(1, 3), rng.uniform(50, 200)
        return (
            [1000 * turn, turn, rng.uniform(-2, 2)],
            [speed, speed / 1000, rng.uniform(-2, 2)],
            {},
        )

    system = jaxspark.LagrangianSystem(lagrangian, holonomic=rolling)
    return Mechanism("large_wheel", ("holonomic", "units"), system, guess, 3.0)


def fast_top() -> Mechanism:
    """The heavy top of the literature, which spins at about 150 rad/s, 45 radians of it."""
    problem = problems.heavy_top()

    def guess(rng):
        return problem.y0, problem.z0 + [0, 0, 0, *(5 * rng.standard_normal(3))], problem.args

    kinds = ("holonomic", "quaternion", "fast")
    return Mechanism("fast_top", kinds, problem.system, guess, 0.3)


MECHANISMS = (
    spring_1e5(), two_scales(), stiff_damper(), large_wheel(), fast_top(),
    _scaled_pendulum("millimetres", 1e3), _scaled_pendulum("kilometres", 1e-3),
)  # fmt: skip
