"""Holonomic mechanisms: pendulums, beads, orbits; one with friction, one in equilibrium."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from ._mechanism import diagonal, from_problem, half_square, Mechanism, plane_weight


def _hang(*angles: float) -> np.ndarray:
    """Points of a chain of rods of length 1 that hang at these angles from the vertical."""
    angle = np.array(angles)
    return np.cumsum(np.stack([np.sin(angle), -np.cos(angle)], 1), 0).ravel()


def _rod(t, q, args):
    return (half_square(q) - 0.5 * args["length"] ** 2)[None]


def _two_rods(t, q, args):
    return jnp.stack([half_square(q[:2]) - 0.5, half_square(q[2:] - q[:2]) - 0.5])


def pendulum() -> Mechanism:
    """A mathematical pendulum in Cartesian coordinates, five seconds; it may turn over."""

    def guess(rng):
        length = rng.uniform(0.8, 1.2)
        return (
            length * _hang(rng.uniform(-2.5, 2.5)),
            3 * rng.standard_normal(2),
            {"length": length},
        )

    system = jaxspark.MechanicalSystem(diagonal(1, 1), plane_weight(1), _rod)
    return Mechanism("pendulum", ("holonomic",), system, guess, 5.0)


def equilibrium() -> Mechanism:
    """A pendulum that hangs at rest."""

    def guess(rng):
        length = rng.uniform(0.8, 1.2)
        return length * _hang(0.0), np.zeros(2), {"length": length}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), plane_weight(1), _rod)
    return Mechanism("equilibrium", ("holonomic", "equilibrium"), system, guess, 5.0)


def double_pendulum() -> Mechanism:
    """Two rods with two points, swung."""

    def guess(rng):
        return _hang(*rng.uniform(-1.2, 1.2, 2)), rng.standard_normal(4), {}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 0.5, 0.5), plane_weight(1, 0.5), _two_rods)
    return Mechanism("double_pendulum", ("holonomic",), system, guess, 2.0)


def from_rest() -> Mechanism:
    """The double pendulum, released at rest."""

    def guess(rng):
        return _hang(*rng.uniform(-1, 1, 2)), np.zeros(4), {}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 0.5, 0.5), plane_weight(1, 0.5), _two_rods)
    return Mechanism("from_rest", ("holonomic", "from rest"), system, guess, 2.5)


def _weight_along_z(t, q, v, args):
    return jnp.array([0.0, 0.0, -9.81], q.dtype)


def spherical_pendulum() -> Mechanism:
    """A point on a rod in space."""

    def guess(rng):
        y = rng.standard_normal(3) + [0, 0, -2]
        return y / np.linalg.norm(y), rng.standard_normal(3), {"length": 1.0}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), _weight_along_z, _rod)
    return Mechanism("spherical_pendulum", ("holonomic",), system, guess, 5.0)


def helix() -> Mechanism:
    """A bead on a helical wire, thrown upward."""

    def wire(t, q, args):
        angle = q[2] / args["pitch"]
        return q[:2] - jnp.stack([jnp.cos(angle), jnp.sin(angle)])

    def guess(rng):
        pitch, angle = rng.uniform(0.25, 0.4), rng.uniform(0, 6)
        y = [np.cos(angle), np.sin(angle), pitch * angle]
        z = rng.uniform(3, 5) * np.array([-np.sin(angle), np.cos(angle), pitch])
        return y, z, {"pitch": pitch}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), _weight_along_z, wire)
    return Mechanism("helix", ("holonomic",), system, guess, 4.0)


def paraboloid() -> Mechanism:
    """A point that slides in a bowl."""

    def bowl(t, q, args):
        return (q[2] - 0.5 * args["curvature"] * jnp.sum(q[:2] ** 2))[None]

    def guess(rng):
        return rng.standard_normal(3), rng.standard_normal(3), {"curvature": rng.uniform(0.5, 1.5)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), _weight_along_z, bowl)
    return Mechanism("paraboloid", ("holonomic",), system, guess, 4.0)


def wire_with_friction() -> Mechanism:
    """A bead on a vertical ring; Coulomb's friction, proportional to the force of the ring."""

    def ring(t, q, args):
        return jnp.linalg.norm(q)[None] - 1

    def friction(t, q, v, lam, args):
        return jaxspark.dry_friction(v, lam, args["mu"], slip_width=0.2, load_floor=0.5)

    def guess(rng):
        return _hang(rng.uniform(-1, 1)), 4 * rng.standard_normal(2), {"mu": rng.uniform(0.1, 0.3)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1), plane_weight(1), ring, friction=friction)
    return Mechanism("wire_with_friction", ("holonomic", "friction"), system, guess, 3.0)


def massless_angle() -> Mechanism:
    """A pendulum whose angle is a coordinate without mass, which a spring turns."""

    def rod(t, q, args):
        return q[:2] - jnp.stack([jnp.sin(q[2]), -jnp.cos(q[2])])

    def force(t, q, v, args):
        return jnp.stack([0 * q[0], -9.81 + 0 * q[0], -args["stiffness"] * q[2]])

    def guess(rng):
        angle = rng.uniform(-2, 2)
        y, z = [*_hang(angle), angle], rng.standard_normal(3)
        return y, z, {"stiffness": rng.uniform(0, 3)}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 0), force, rod)
    kinds = ("holonomic", "massless coordinate")
    return Mechanism("massless_angle", kinds, system, guess, 4.0, massless=True)


def kepler() -> Mechanism:
    """An orbit of eccentricity 0.95 in a plane in space, past the centre once, from far away."""

    def plane(t, q, args):
        return jnp.sum(args["normal"] * q)[None]

    def attraction(t, q, v, args):
        return -q / jnp.sum(q**2) ** 1.5

    def guess(rng):
        far = 1 + rng.uniform(0.94, 0.95)
        frame = np.linalg.qr(rng.standard_normal((3, 3)))[0]
        speed = np.sqrt((2 - far) / far)
        return far * frame[0], speed * frame[1], {"normal": frame[2]}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 1), attraction, plane)
    return Mechanism("kepler", ("holonomic", "time scales"), system, guess, 7.5)


MECHANISMS = (
    pendulum(), equilibrium(), double_pendulum(), from_rest(), spherical_pendulum(), helix(),
    paraboloid(), wire_with_friction(), massless_angle(), kepler(),
    from_problem(problems.spherical_kepler(), ("holonomic",), 2.0, velocities=0.03),
)  # fmt: skip
