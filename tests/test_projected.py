"""Explicit solvers on the underlying ODE, projected."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import (
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_start,
    largest_difference,
    mixed,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
)


def run(solver, tolerance=1e-9, t0=0.0, t1=2.0, start=None, **options):
    problem = mixed()
    return diffrax.diffeqsolve(
        jaxspark.UnderlyingTerm(problem.system), solver, t0, t1, None,
        (problem.y0, problem.z0) if start is None else start, problem.args,
        stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance), **options,
    )  # fmt: skip


def residual(state, t=2.0):
    problem = mixed()
    found = jaxspark.constraint_residuals(problem.system, t, *state, problem.args)
    return max(float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(found))


@pytest.fixture(scope="module")
def exact():
    problem = mixed()
    solution = jaxspark.rollout(
        problem.system, problem.y0, problem.z0, problem.args, method=jaxspark.Gauss(5), t1=2.0,
        num_steps=400, save_every=None,
    )  # fmt: skip
    return solution.y1, solution.z1


@pytest.mark.parametrize("solver", [diffrax.Tsit5(), diffrax.Dopri8()])
def test_on_the_constraints_and_accurate(solver, exact):
    end = jax.tree.map(lambda x: x[-1], run(jaxspark.Projected(solver)).ys)
    assert residual(end) <= 1e-13
    assert max(float(np.max(np.abs(a - b))) for a, b in zip(end, exact)) <= 1e-7
    drifted = jax.tree.map(lambda x: x[-1], run(solver).ys)
    assert residual(drifted) >= 1e-12


def test_backward_in_time(exact):
    problem = mixed()
    start = tuple(map(jnp.asarray, exact))
    solution = run(jaxspark.Projected(diffrax.Dopri8()), t0=2.0, t1=0.0, start=start)
    end = jax.tree.map(lambda x: x[-1], solution.ys)
    assert np.max(np.abs(end[0] - problem.y0)) <= 1e-6 and residual(end, 0.0) <= 1e-13


def test_between_steps():
    saveat = diffrax.SaveAt(ts=jnp.array([0.7, 1.3]), dense=True)
    solution = run(jaxspark.Projected(diffrax.Tsit5()), saveat=saveat)
    ended = run(jaxspark.Projected(diffrax.Tsit5()), t1=1.3)
    for saved, dense, end in zip(solution.ys, solution.evaluate(1.3), ended.ys, strict=True):
        assert np.max(np.abs(saved[1] - end[-1])) <= 1e-8
        assert np.array_equal(saved[1], dense)
    assert np.max(np.abs(solution.derivative(1.3)[0] - ended.ys[1][-1])) <= 1e-4


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


def test_derivative_is_that_of_equal_steps():
    problem = mixed()

    def end(scale, adaptive):
        start = jaxspark.project(
            problem.system, 0.0, jnp.asarray(problem.y0), scale * problem.z0, problem.args
        )
        if adaptive:
            solution = run(
                jaxspark.Projected(diffrax.Tsit5()), 1e-8, start=(start.y, start.z), t1=0.5
            )
            return jnp.sum(solution.ys[0][-1] ** 3)
        solution = jaxspark.rollout(
            problem.system, start.y, start.z, problem.args, method=jaxspark.Gauss(3), t1=0.5,
            num_steps=50, save_every=None, throw=False,
        )  # fmt: skip
        return jnp.sum(solution.y1**3)

    found = jax.jit(jax.grad(lambda x: end(x, True)))(1.0)
    equal_steps = jax.jit(lambda x: end(x, False))
    assert abs(found - (equal_steps(1.0001) - equal_steps(0.9999)) / 2e-4) <= 1e-5


def fall(gravity, solver, adjoint):
    """The end of a pendulum's swing; gravity is in the forces alone."""
    return diffrax.diffeqsolve(
        jaxspark.UnderlyingTerm(pendulum()), jaxspark.Projected(solver), 0.0, 0.5, None,
        tuple(map(jnp.asarray, pendulum_start(1.0))), {**PENDULUM_ARGS, "g": gravity},
        stepsize_controller=diffrax.PIDController(rtol=1e-9, atol=1e-9), adjoint=adjoint,
        max_steps=256,
    ).ys[0][-1, 0]  # fmt: skip


def test_derivatives_by_a_parameter_of_the_forces_alone():
    def exact(gravity):
        args = {**PENDULUM_ARGS, "g": gravity}
        return jaxspark.rollout(
            pendulum(), *pendulum_start(1.0), args, method=jaxspark.Gauss(4), t1=0.5, num_steps=50,
            save_every=None, throw=False,
        ).y1[0]  # fmt: skip

    slopes = jax.jit(jax.jacfwd(exact))
    slope, bend = slopes(9.81), (slopes(9.811) - slopes(9.809)) / 2e-3
    recursive = lambda g: fall(g, diffrax.Tsit5(), diffrax.RecursiveCheckpointAdjoint())
    direct = lambda g: fall(g, diffrax.Tsit5(), diffrax.DirectAdjoint())
    assert abs(jax.jit(jax.grad(recursive))(9.81) - slope) <= 1e-7
    assert abs(jax.jit(jax.jacfwd(direct))(9.81) - slope) <= 1e-7
    assert abs(jax.jit(jax.jacfwd(jax.jacfwd(direct)))(9.81) - bend) <= 1e-6


def test_implicit_solvers():
    solution = run(jaxspark.Projected(diffrax.Kvaerno5()), 1e-6, t1=0.5)
    explicit = run(jaxspark.Projected(diffrax.Dopri8()), t1=0.5)
    end, expected = (jax.tree.map(lambda x: x[-1], s.ys) for s in (solution, explicit))
    assert residual(end, 0.5) <= 1e-13
    assert max(float(np.max(np.abs(a - b))) for a, b in zip(end, expected)) <= 1e-4


def test_needs_a_pair():
    with pytest.raises(TypeError, match="pair"):
        run(jaxspark.Projected(jaxspark.Projected(diffrax.Tsit5())))


def test_needs_its_term():
    with pytest.raises(TypeError, match="UnderlyingTerm"):
        diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: y), jaxspark.Projected(diffrax.Tsit5()),
            0.0, 1.0, 0.1, (jnp.zeros(2), jnp.zeros(2)),
        )  # fmt: skip


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
