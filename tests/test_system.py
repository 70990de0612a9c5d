"""The three ways to write a system, PyTrees, and what functions close over."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import (
    arrays,
    largest_difference,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
    rod,
    unit_mass,
)
from jaxspark import ConstrainedSystem, Gauss, LagrangianSystem, MechanicalSystem
from jaxspark._system import flatten, value_and_jacobian


# One system in three forms: a variable mass matrix, a sphere of varying radius, a
# nonholonomic constraint, friction.


def masses(t, q):
    return jnp.stack([1 + q[0] ** 2, 2 + 0.5 * jnp.sin(t), 1.5 + 0.5 * jnp.cos(q[1])])


def potential(q, args):
    return args["a"] * jnp.sum(q**4) + q[0] * q[1]


def sphere(t, q, args):
    return 0.5 * (jnp.sum(q**2, keepdims=True) - 1 - 0.1 * jnp.sin(t))


def skate(t, q, v, args):
    return (v[2] - q[0] * v[1] - 0.2 * jnp.cos(t))[None]


def friction(t, q, v, args):
    return -args["d"] * v * jnp.abs(v[::-1])


def lagrangian_form():
    def lagrangian(t, q, v, args):
        return 0.5 * jnp.sum(masses(t, q) * v**2) - potential(q, args)

    return LagrangianSystem(lagrangian, sphere, skate, friction)


def potential_force(q, args):
    """`-dV/dq`, by hand."""
    return -4 * args["a"] * q**3 - jnp.stack([q[1], q[0], jnp.zeros_like(q[0])])


def kinetic_force(q, v):
    """`dT/dq`, by hand."""
    slopes = [q[0] * v[0] ** 2, -0.25 * jnp.sin(q[1]) * v[2] ** 2, jnp.zeros_like(q[0])]
    return jnp.stack(slopes)


def mechanical_form():
    def force(t, q, v, args):
        growth = jnp.stack([2 * q[0] * v[0], 0.5 * jnp.cos(t), -0.5 * jnp.sin(q[1]) * v[1]])
        inertial = kinetic_force(q, v) - growth * v
        return potential_force(q, args) + inertial + friction(t, q, v, args)

    return MechanicalSystem(lambda t, q, args: jnp.diag(masses(t, q)), force, sphere, skate)


def constrained_form():
    def f(t, y, z, args):
        return potential_force(y, args) + friction(t, y, z, args) + kinetic_force(y, z)

    def reaction(t, y, z, psi, args):
        return -jnp.stack([jnp.zeros_like(y[0]), -y[0], jnp.ones_like(y[0])]) * psi

    return ConstrainedSystem(
        f,
        v=lambda t, y, z, args: z,
        p=lambda t, y, z, args: masses(t, y) * z,
        g=sphere,
        r=lambda t, y, lam, args: -y * lam,
        k=skate,
        reaction=reaction,
    )


@pytest.fixture(scope="module")
def lagrangian_solution():
    args = {"a": 0.7, "d": 0.2}
    y, z = arrays([0.6, -0.5, 0.4], [0.3, 0.8, 0.1])
    start = jaxspark.project(lagrangian_form(), 0.0, y, z, args)
    return start, args, trajectory(lagrangian_form(), start, args)


def trajectory(system, start, args):
    return jaxspark.rollout(
        system, start.y, start.z, args, method=Gauss(2), h=0.1, num_steps=10, multipliers=True
    )


@pytest.mark.parametrize("form", [mechanical_form, constrained_form])
def test_three_forms_of_one_system(form, lagrangian_solution):
    start, args, expected = lagrangian_solution
    solution = trajectory(form(), start, args)
    assert np.max(np.abs(expected.ys[-1] - expected.ys[0])) > 0.3
    assert largest_difference(solution.ys, expected.ys) <= 1e-12
    assert largest_difference(solution.zs, expected.zs) <= 1e-12
    assert largest_difference(solution.multipliers.lam, expected.multipliers.lam) <= 1e-11
    assert largest_difference(solution.multipliers.psi, expected.multipliers.psi) <= 1e-11
    assert largest_difference(solution.multipliers.zdot, expected.multipliers.zdot) <= 1e-11


def flat_pendulum_solution(system, y, z):
    return jaxspark.rollout(
        system, y, z, PENDULUM_ARGS, method=Gauss(2), h=0.1, num_steps=5, multipliers=True
    )


def test_pytrees():
    """States and multipliers in pieces: the same numbers, in the user's structure."""

    def lagrangian(t, q, v, args):
        (vx, vy), m, g = v["tip"], args["m"], args["g"]
        return m * (0.5 * (vx**2 + vy[0, 0] ** 2) - g * q["tip"][1][0, 0])

    def holonomic(t, q, args):
        x, y = q["tip"]
        return {"rod": 0.5 * (x**2 + y[0, 0] ** 2 - args["l"] ** 2)}

    system = LagrangianSystem(lagrangian, holonomic=holonomic)
    y, z = pendulum_start()
    split = lambda x: {"tip": (x[0], x[1].reshape(1, 1))}
    solution = flat_pendulum_solution(system, split(y), split(z))
    expected = flat_pendulum_solution(pendulum(), y, z)

    for got, flat in ((solution.ys, expected.ys), (solution.zs, expected.zs)):
        assert jax.tree.structure(got) == jax.tree.structure(split(y))
        assert got["tip"][0].shape == (6,) and got["tip"][1].shape == (6, 1, 1)
        assert largest_difference(got["tip"][0], flat[:, 0]) <= 1e-13
        assert largest_difference(got["tip"][1][:, 0, 0], flat[:, 1]) <= 1e-13
    assert largest_difference(solution.y1, split(expected.y1)) <= 1e-13
    assert largest_difference(solution.z1, split(expected.z1)) <= 1e-13
    lam = solution.multipliers.lam
    assert set(lam) == {"rod"}
    assert largest_difference(lam["rod"], expected.multipliers.lam[:, 0]) <= 1e-12
    assert solution.multipliers.psi.shape == (6, 0)
    accelerations = solution.multipliers.zdot["tip"][1][:, 0, 0]
    assert largest_difference(accelerations, expected.multipliers.zdot[:, 1]) <= 1e-12


def test_nonideal_force_depends_on_psi():
    """A block pressed against a wall by N is braked by mu |N|: a parabola in time."""
    mass, pressure, friction = 1.5, 2.0, 0.3

    def lagrangian(t, q, v, args):
        return 0.5 * mass * jnp.sum(v**2) - pressure * q[1]

    system = LagrangianSystem(
        lagrangian,
        nonholonomic=lambda t, q, v, args: v[1:],
        nonideal=lambda t, q, v, psi, args: jnp.stack(
            [-args * jnp.abs(psi[0]), jnp.zeros_like(psi[0])]
        ),
    )
    y, z = arrays([0.0, 0.0], [2.0, 0.0])
    solution = jaxspark.rollout(
        system, y, z, friction, method=Gauss(2), h=0.25, num_steps=4, multipliers=True
    )
    t, braking = solution.ts, friction * pressure / mass
    assert np.allclose(solution.ys[:, 0], 2 * t - braking * t**2 / 2, rtol=0, atol=1e-14)
    assert np.allclose(solution.zs[:, 0], 2 - braking * t, rtol=0, atol=1e-14)
    assert np.max(np.abs(solution.ys[:, 1])) <= 1e-15
    assert np.allclose(solution.multipliers.psi, -pressure, rtol=0, atol=1e-13)


# Derivatives with respect to what functions close over, and to arrays inside the system.


def distance(system, args):
    y, z = pendulum_start()
    solution = jaxspark.rollout(
        system, y, z, args, method=Gauss(1), h=0.1, num_steps=3, save_every=None, throw=False
    )
    return jnp.sum(solution.y1 * jnp.arange(1.0, 3.0)) + jnp.sum(solution.z1**2)


class Drag(eqx.Module):
    """A force with a parameter inside."""

    drag: jax.Array
    gravity: jax.Array

    def __call__(self, t, q, v, args):
        weight = jnp.stack([jnp.zeros_like(self.gravity), -self.gravity])
        return weight - self.drag * v * jnp.sum(v**2)


@pytest.fixture(scope="module")
def gradient_through_args():
    def force(t, q, v, args):
        return Drag(*args)(t, q, v, None)

    system = MechanicalSystem(unit_mass, force, lambda t, q, args: rod(t, q, PENDULUM_ARGS))
    parameters = arrays(0.3, 9.0)
    return parameters, jax.jit(jax.grad(lambda args: distance(system, args)))(parameters)


def test_functions_may_close_over_traced_values(gradient_through_args):
    parameters, expected = gradient_through_args

    def loss(parameters):
        drag, gravity = parameters

        def force(t, q, v, args):
            return Drag(drag, gravity)(t, q, v, None)

        holonomic = lambda t, q, args: rod(t, q, PENDULUM_ARGS)
        return distance(MechanicalSystem(unit_mass, force, holonomic), None)

    gradient = jax.jit(jax.grad(loss))(parameters)
    assert min(np.abs(expected)) > 1e-3
    assert largest_difference(gradient, expected) <= 1e-13


def test_arrays_inside_the_system_are_differentiated(gradient_through_args):
    parameters, expected = gradient_through_args
    system = MechanicalSystem(
        unit_mass, Drag(*parameters), lambda t, q, args: rod(t, q, PENDULUM_ARGS)
    )
    gradient = eqx.filter_jit(eqx.filter_grad(lambda system: distance(system, None)))(system)
    got = (gradient.force.drag, gradient.force.gravity)
    assert largest_difference(got, expected) <= 1e-13


def test_functions_are_traced_once():
    """A second call with new values, in a loop of the user's own, compiles nothing."""
    calls = []

    def force(t, q, v, a):
        calls.append(None)
        return -a * q

    system = jaxspark.MechanicalSystem(mass=unit_mass, force=force)
    q, v = jnp.ones(2), jnp.zeros(2)
    for run in (
        lambda a: jaxspark.step(system, jaxspark.Gauss(1), 0.0, q, v, 0.1, None, a),
        lambda a: jaxspark.multipliers(system, 0.0, q, v, a),
        lambda a: jaxspark.project(system, 0.0, q, v, a),
        lambda a: jaxspark.rollout(system, q, v, a, method=jaxspark.Gauss(1), h=0.1, num_steps=2),
    ):
        run(2.0)
        before = len(calls)
        assert before > 0
        run(3.0)
        assert len(calls) == before


def test_mass_is_the_derivative_of_momentum():
    def mass(t, q, args):
        return args["m"] * jnp.eye(3) + 0.2 * jnp.outer(jnp.sin(q + t), jnp.sin(q + t))

    system = jaxspark.MechanicalSystem(mass, lambda t, q, v, args: -q)
    q, v, t = jnp.array([0.3, -0.2, 0.9]), jnp.array([1.0, 2.0, -1.0]), jnp.asarray(0.4)
    flat, *_ = flatten(system, t, q, v, {"m": jnp.asarray(1.5)})
    np.testing.assert_allclose(flat.mass(t, q, v), mass(t, q, {"m": 1.5}), rtol=1e-15)
    np.testing.assert_allclose(flat.mass(t, q, v), jax.jacfwd(flat.p, 2)(t, q, v), rtol=1e-14)


def test_momentum_of_a_subclass():
    class Heavier(jaxspark.MechanicalSystem):
        def p(self, t, y, z, args):
            return 5.0 * z

    system = Heavier(unit_mass, lambda t, q, v, args: -q)
    q, t = jnp.array([0.3, -0.2]), jnp.asarray(0.0)
    flat, *_ = flatten(system, t, q, q, None)
    np.testing.assert_allclose(flat.mass(t, q, q), 5 * np.eye(2))


@pytest.mark.parametrize("n", [3, 20])
def test_value_and_jacobian(n):
    """Of few entries and of many, whose sines are computed before: the same as by JAX itself."""

    def function(x):
        return jnp.sin(x) * jnp.sum(x**2), {"ends": jnp.exp(x[:2] - x[-1])}

    x = jnp.linspace(-1.0, 0.7, n)
    many = jnp.stack([x, 2 * x])
    expected = jax.jit(jax.vmap(lambda x: (function(x), jax.jacfwd(function)(x))))(many)
    found = jax.jit(jax.vmap(lambda x: value_and_jacobian(function, x)))(many)
    assert largest_difference(found, expected) <= 1e-14
    total = lambda of: jax.grad(lambda x: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(of(x))))
    ours = total(lambda x: value_and_jacobian(function, x)[1])(x)
    np.testing.assert_allclose(ours, total(jax.jacfwd(function))(x), rtol=1e-12)


def test_where_numbers_come_from_compiles_nothing():
    traced = []

    def lagrangian(t, q, v, args):
        traced.append(t)
        return 0.5 * jnp.sum(v**2) - args["gravity"] * q[1]

    rod = lambda t, q, args: jnp.linalg.norm(q) - args["length"]
    system = jaxspark.LagrangianSystem(lagrangian, holonomic=rod)
    steps = {"steps": jaxspark.EqualSteps(2), "t1": 0.1}
    ends, counts = [], []
    for number in (float, jnp.array, lambda x: jnp.asarray(x, float), lambda x: jnp.array([x])[0]):
        args = {"gravity": number(9.81), "length": number(1.0)}
        start = number(1.0) * jnp.array([1.0, 0.0])
        ends.append(jaxspark.solve(system, start, jnp.zeros(2), args, **steps).y1)
        counts.append(len(traced))
    assert counts == counts[:1] * 4
    np.testing.assert_array_equal(ends, ends[:1] * 4)
