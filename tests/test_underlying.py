"""The underlying ODE: accelerations by the constraints, differentiated."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import knife_edge, KNIFE_EDGE_ARGS, knife_edge_start, largest_difference, mixed


def test_vector_field_is_that_of_the_multipliers():
    problem = mixed()
    state = (jnp.asarray(problem.y0), jnp.asarray(problem.z0))
    ydot, zdot = jaxspark.underlying_ode(problem.system)(0.0, state, problem.args)
    expected = jaxspark.multipliers(problem.system, 0.0, *state, problem.args)
    assert largest_difference(zdot, expected.zdot) <= 1e-12
    assert largest_difference(ydot, state[1]) <= 1e-15


def test_vector_field_with_friction_that_depends_on_multipliers():
    def drag(t, q, v, psi, args):
        del t, args
        return -0.2 * jaxspark.regularised_norm(psi, 1e-2) * v

    plain = knife_edge()
    system = jaxspark.LagrangianSystem(
        plain.lagrangian, nonholonomic=plain.nonholonomic, nonideal=drag
    )
    q, v = knife_edge_start()
    state = (jnp.asarray(q), jnp.asarray(v))
    _, zdot = jaxspark.underlying_ode(system)(0.0, state, KNIFE_EDGE_ARGS)
    expected = jaxspark.multipliers(system, 0.0, q, v, KNIFE_EDGE_ARGS)
    assert largest_difference(zdot, expected.zdot) <= 1e-12
    _, frictionless = jaxspark.underlying_ode(plain)(0.0, state, KNIFE_EDGE_ARGS)
    assert float(np.max(np.abs(zdot - frictionless))) >= 1e-2


def test_second_derivatives_of_accelerations():
    # Written out, and found by elimination: derivatives come from the equations, to every order.
    def lagrangian(t, q, v, args):
        mass = jnp.array([1.0, args]) * (1 + q[0] ** 2)
        return 0.5 * jnp.sum(mass * v**2) - q[1]

    def holonomic(t, q, args):
        return (jnp.sum(q**2) - 1)[None] / 2

    field = jaxspark.underlying_ode(jaxspark.LagrangianSystem(lagrangian, holonomic))
    q, v = jnp.array([0.6, -0.8]), jnp.array([0.8, 0.6])

    def of_mass(mass):
        return jnp.sum(jnp.sin(field(0.0, (q, v), mass)[1]))

    mass, step = jnp.asarray(1.3), 1e-5
    gradient = jax.jit(jax.grad(of_mass))
    expected = (gradient(mass + step) - gradient(mass - step)) / (2 * step)
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            assert float(jax.jit(outer(inner(of_mass)))(mass)) == pytest.approx(
                float(expected), rel=1e-7
            )
