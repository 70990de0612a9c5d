"""A system in words."""

import jax.numpy as jnp

from helpers import knife_edge, KNIFE_EDGE_ARGS, knife_edge_start
from jaxspark import MechanicalSystem
from jaxspark.diagnostics import summary


def rods(t, q, args):
    return jnp.stack([(jnp.sum(q**2) - 1) / 2, args * q[1]])


def system(mass):
    return MechanicalSystem(
        lambda t, q, args: mass * jnp.eye(3), lambda t, q, v, args: -jnp.sqrt(q), rods
    )


def test_summary():
    y, z = jnp.array([1.0, 0.0, 0.0]), jnp.array([0.5, 0.0, 0.25])
    first, second, third, *faults = summary(system(2.0), y, z, 3.0).split("\n")
    assert first == ("MechanicalSystem, float64: 3 coordinates, 3 velocities, 1 degree of freedom.")
    assert (
        second
        == "Constraints: 2 holonomic, 0 nonholonomic. The constraint Jacobian has rank 2 of 2."
    )
    assert third == "Largest residuals at t = 0: 0.0e+00 of g, 5.0e-01 of g_t + g_y v."
    assert len(faults) == 1 and "The derivative of force by q: entry [1, 0] is nan" in faults[0]
    wrong = summary(system(-1.0), y + 0.5, z, 0.0)
    assert "rank 1 of 2; this combination" in wrong and "2 degrees of freedom" in wrong
    assert "smallest eigenvalue is -1 there" in wrong


def test_nonholonomic():
    text = summary(knife_edge(), *knife_edge_start(), KNIFE_EDGE_ARGS)
    assert "0 holonomic, 1 nonholonomic" in text and "of k." in text and "of g" not in text
