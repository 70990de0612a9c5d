"""Pendulums of different lengths and starts, in Cartesian coordinates and by the angle."""

import jax.numpy as jnp
import numpy as np

import jaxspark


GRAVITY = 9.81  # m/s^2
END = 10.0  # s


def system() -> jaxspark.LagrangianSystem:
    """A point of 1 kg on a rod; `args` is its length (m)."""

    def lagrangian(t, q, v, args):
        del t, args
        return 0.5 * jnp.sum(v**2) - GRAVITY * q[1]

    def holonomic(t, q, args):
        del t
        return (jnp.sum(q**2) - args**2) / 2

    return jaxspark.LagrangianSystem(lagrangian, holonomic)


def starts(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Angles from below, rates and lengths, drawn as the peers' were."""
    rng = np.random.default_rng(seed)
    angle, rate = rng.uniform(-2.5, 2.5, count), rng.uniform(-2, 2, count)
    return angle, rate, rng.uniform(0.5, 1.5, count)


def cartesian(angle, rate, length):
    """Position and velocity."""
    s, c = jnp.sin(angle), jnp.cos(angle)
    y = jnp.stack([length * s, -length * c], -1)
    return y, jnp.stack([length * c * rate, length * s * rate], -1)
