"""The discrete Lagrange-d'Alembert principle: which methods satisfy it, and what it is made of."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.core._gradients import differences, relative
from helpers import largest_difference, order, pendulum, PENDULUM_ARGS, pendulum_start
from jaxspark import Gauss, LagrangianSystem, Lobatto, RadauIIA, RESULTS


# One set of functions is two systems, so that each method is compiled once for both: the
# nonholonomic particle in a harmonic potential; and, driven, one whose mass, magnetic field and
# constraint depend on time and place, with drag and with friction proportional to the load.


def lagrangian(t, q, v, args):
    mass = 1.2 * (1 + args["drive"] * (q[1] ** 2 + jnp.sin(t)))
    potential = jnp.sum(args["stiffness"] * q[:2] ** 2)
    return 0.5 * mass * jnp.sum(v**2) + args["drive"] * q[0] * v[1] - potential


def nonholonomic(t, q, v, args):
    return v[2:] - q[1] * v[:1] - args["drive"] * (jnp.cos(2 * t) + 0.5 * v[1:2] ** 2)


def drag(t, q, v, args):
    return -args["drag"] * v * jnp.sum(v**2)


def friction(t, q, v, psi, args):
    return -args["mu"] * jnp.sqrt(1 + psi**2) * v


PARTICLE = LagrangianSystem(lagrangian, None, nonholonomic, drag, friction)
IDEAL = {"stiffness": np.array([1.0, 1.3]), "drive": 0.0, "drag": 0.0, "mu": 0.0}
DRIVEN = IDEAL | {"drive": 0.3, "drag": 0.1, "mu": 0.2}
ARGS = {"ideal": IDEAL, "driven": DRIVEN}
Q0 = np.array([1.0, 0.5, 0.0])
V0 = {"ideal": np.array([0.2, 1.0, 0.1]), "driven": np.array([0.2, 1.0, 0.55])}

PRINCIPLED = [Gauss(1), Gauss(2), Gauss(3), Lobatto(2)]
PRINCIPLED += [Lobatto(3, psi=family) for family in ("B", "C", "C*", "D")]
PRINCIPLED += [Lobatto(3, y="C", f="C*", psi="C"), Lobatto(3, y="D", f="D", psi="D")]
# And the rate at which the residual vanishes.
OTHERS = [(RadauIIA(2), 4), (Lobatto(3, y="C", f="C", psi="C"), 6)]
EVERY = PRINCIPLED + [method for method, _ in OTHERS]

# Optimising the code would take longer than running it.
fast_jit = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


@functools.cache
def action(method):
    """`discrete_action` of the particle, a function of `(t0, q0, t1, q1, args)`."""
    compiled = fast_jit(lambda *ends: jaxspark.diagnostics.discrete_action(PARTICLE, method, *ends))
    return lambda *ends: compiled(*jax.tree.map(np.float64, ends))


@functools.cache
def integrator(method):
    def run(q0, v0, h, args):
        return jaxspark.rollout(
            PARTICLE, q0, v0, args, method=method, h=h, num_steps=4, throw=False
        )

    compiled = fast_jit(run)
    return lambda *start: compiled(*jax.tree.map(np.float64, start))


def trajectory(method, name, h=0.1):
    solution = integrator(method)(Q0, V0[name], h, ARGS[name])
    assert bool(solution.result == RESULTS.successful)
    return solution


def actions(method, ts, qs, args):
    """Of each step of a trajectory."""
    steps = zip(ts, qs, ts[1:], qs[1:])
    found = [action(method)(*ends, args) for ends in steps]
    assert all(bool(each.converged) for each in found)
    return found


def euler_lagrange(found):
    """Equation (4.5a)."""
    pairs = zip(found, found[1:])
    return np.stack([a.D4 + b.D2 + a.f_plus + b.f_minus for a, b in pairs])


def largest(x):
    return float(np.max(np.abs(x)))


@pytest.mark.parametrize("name", ARGS)
@pytest.mark.parametrize("method", PRINCIPLED, ids=str)
def test_methods_that_satisfy_the_principle(method, name):
    assert method.tableau.lagrange_dalembert
    solution = trajectory(method, name)
    found = actions(method, solution.ts, solution.ys, ARGS[name])
    assert largest(euler_lagrange(found)) <= 1e-13
    assert min(largest(each.f_plus) for each in found) > 1e-3
    # Between its own configurations a method finds its own velocities.
    for each, v0, v1 in zip(found, solution.zs, solution.zs[1:]):
        errors = each.constraint, each.v0 - v0, each.v1 - v1
        assert max(map(largest, errors)) <= 1e-13


@pytest.mark.parametrize("name", ARGS)
@pytest.mark.parametrize(("method", "rate"), OTHERS, ids=str)
def test_methods_that_do_not(method, rate, name):
    assert not method.tableau.lagrange_dalembert
    hs, residuals = np.array([0.1, 0.06, 0.036]), []
    for h in hs:
        solution = trajectory(method, name, h)
        found = actions(method, solution.ts, solution.ys, ARGS[name])
        residuals.append(largest(euler_lagrange(found)))
        assert largest(np.stack([each.constraint for each in found])) <= 1e-13
    assert residuals[0] > 1e-8
    assert abs(order(hs, residuals) - rate) <= 0.15


def test_trajectory_of_another_method():
    solution = trajectory(Gauss(2), "driven")
    for judged in (Lobatto(3), Lobatto(3, psi="C"), RadauIIA(2), Gauss(1)):
        found = actions(judged, solution.ts, solution.ys, DRIVEN)
        assert largest(euler_lagrange(found)) > 1e-7, judged
        assert largest(np.stack([each.constraint for each in found])) > 1e-7, judged


# Between two configurations that are on no trajectory.

T0, T1, Q1 = 0.2, 0.3, Q0 + np.array([0.03, 0.08, 0.05])


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_constraints_are_first_integrals(method):
    found = action(method)(T0, Q0, T1, Q1, DRIVEN)
    assert bool(found.converged) and largest(found.constraint) > 0.01
    start = nonholonomic(T0, Q0, found.v0, DRIVEN)
    end = nonholonomic(T1, Q1, found.v1, DRIVEN)
    assert max(largest(end - found.constraint), largest(start - found.constraint)) <= 1e-14


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_momenta(method):
    """Equations (5.1) and (5.3), of the method: `D2 = -p0 - f_minus`, `D4 = p1 - f_plus`."""
    found = action(method)(T0, Q0, T1, Q1, DRIVEN)
    momentum = jax.grad(lagrangian, 2)
    p0, p1 = momentum(T0, Q0, found.v0, DRIVEN), momentum(T1, Q1, found.v1, DRIVEN)
    errors = largest(p0 + found.D2 + found.f_minus), largest(p1 - found.D4 - found.f_plus)
    assert max(errors) <= 1e-14 if method in PRINCIPLED else min(errors) > 1e-8


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_derivatives_of_the_discrete_lagrangian(method):
    found = action(method)(T0, Q0, T1, Q1, DRIVEN)
    D2 = differences(lambda q: action(method)(T0, q, T1, Q1, DRIVEN).L_d, Q0, 1e-2)
    D4 = differences(lambda q: action(method)(T0, Q0, T1, q, DRIVEN).L_d, Q1, 1e-2)
    assert relative(found.D2, D2) < 1e-11
    assert relative(found.D4, D4) < 1e-11


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_symmetry(method):
    there = action(method)(T0, Q0, T1, Q1, DRIVEN)
    back = action(method)(T1, Q1, T0, Q0, DRIVEN)
    sums = [there.L_d + back.L_d, there.f_plus + back.f_minus, there.f_minus + back.f_plus]
    if method.tableau.symmetric:
        assert max(map(largest, sums)) <= 1e-15
    else:
        assert min(map(largest, sums)) > 1e-9


# The potential depends on y alone: y oscillates, and x' = 1.2 / sqrt(1 + y^2).


def exact_action(t0, t1):
    """Both configurations and the action, by Gaussian quadrature to rounding error."""
    stiffness, mass = IDEAL["stiffness"][1], 1.2
    rate = np.sqrt(2 * stiffness / mass)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    t = np.concatenate([[t0, t1], t0 + (t1 - t0) * (nodes + 1) / 2])
    y, slope = 1.1 * np.sin(rate * t + 0.4), 1.1 * rate * np.cos(rate * t + 0.4)
    x_rate = 1.2 / np.sqrt(1 + y**2)
    L = 0.5 * mass * (1.2**2 + slope**2) - stiffness * y**2
    integrals = [0.5 * (t1 - t0) * np.sum(weights * f[2:]) for f in (x_rate, y * x_rate, L)]
    return np.array([0, y[0], 0]), np.array([integrals[0], y[1], integrals[1]]), integrals[2]


@pytest.mark.parametrize("method", EVERY, ids=str)
def test_order_of_the_discrete_lagrangian(method):
    args = IDEAL | {"stiffness": IDEAL["stiffness"] * np.array([0.0, 1.0])}

    def error(t0, h):
        q0, q1, S = exact_action(t0, t0 + h)
        return action(method)(t0, q0, t0 + h, q1, args).L_d - S

    hs = np.array([0.16, 0.12, 0.08])
    # Two places, because the error changes its sign along the trajectory.
    errors = [np.hypot(error(0.5, h), error(1.0, h)) for h in hs]
    assert errors[-1] > 1e-13, "rounding errors would decide"
    assert abs(order(hs, errors) - (method.order + 1)) <= 0.15


# Along a trajectory at once, its configurations in pieces. It is one neither of the method nor
# of the constraint.


def split(q):
    return {"plane": q[..., :2], "height": q[..., 2]}


def joined(q):
    return jnp.concatenate([q["plane"], q["height"][None]])


IN_PIECES = LagrangianSystem(
    lambda t, q, v, args: lagrangian(t, joined(q), joined(v), args),
    nonholonomic=lambda t, q, v, args: {"k": nonholonomic(t, joined(q), joined(v), args)[0]},
)
TS = np.array([0.0, 0.1, 0.25, 0.3])
QS = Q0 + TS[:, None] * np.array([0.3, 0.8, 0.5]) + 0.05 * np.sin(7 * TS)[:, None]


@functools.cache
def along():
    """Squares of all residuals by the drive and the stiffness, `((value, principle), gradient)`."""

    def squares(theta):
        args = {"drive": theta[0], "stiffness": theta[1:]}
        ts, qs = jnp.asarray(TS), split(jnp.asarray(QS))
        found = jaxspark.diagnostics.discrete_euler_lagrange(IN_PIECES, Lobatto(2), ts, qs, args)
        leaves = jax.tree.leaves((found.residual, found.constraint))
        return sum(jnp.sum(leaf**2) for leaf in leaves), found

    return fast_jit(jax.value_and_grad(squares, has_aux=True))


THETA = np.array([0.3, 1.0, 1.3])


def test_along_a_trajectory_in_pieces():
    (_, got), _ = along()(THETA)
    found = actions(Lobatto(2), TS, QS, IDEAL | {"drive": THETA[0]})
    assert largest(got.residual["plane"]) > 0.1
    residual = split(jnp.asarray(euler_lagrange(found)))
    assert largest_difference(got.residual, residual) <= 1e-14
    assert set(got.constraint) == {"k"}
    constraint = jnp.stack([each.constraint[0] for each in found])
    assert largest_difference(got.constraint["k"], constraint) <= 1e-14
    for name in ("D2", "f_plus", "v1"):
        expected = split(jnp.stack([getattr(each, name) for each in found]))
        assert largest_difference(getattr(got.actions, name), expected) <= 1e-13


def test_derivative_of_the_residual():
    _, gradient = along()(THETA)
    assert np.min(np.abs(gradient)) > 1e-3
    numeric = differences(lambda theta: along()(theta)[0][0], THETA, 1e-2)
    assert relative(gradient, numeric) < 1e-11


# What it cannot be asked for.


@pytest.mark.parametrize("run", ["action", "along"])
def test_systems_and_methods_that_it_is_not_for(run):
    def attempt(system, method, q, args):
        if run == "action":
            return jaxspark.diagnostics.discrete_action(system, method, 0.0, q, 0.1, q, args)
        ts, qs = jnp.asarray([0.0, 0.1, 0.2]), np.stack([q] * 3)
        return jaxspark.diagnostics.discrete_euler_lagrange(system, method, ts, qs, args)

    with pytest.raises(ValueError, match="nonholonomic constraints.*minimal coordinates"):
        attempt(pendulum(), Gauss(1), np.asarray(pendulum_start()[0]), PENDULUM_ARGS)
    # With jaxtyping's checks on, these are TypeErrors already.
    mechanical = jaxspark.MechanicalSystem(lambda t, q, a: jnp.eye(3), drag)
    with pytest.raises(TypeError, match="LagrangianSystem"):
        attempt(mechanical, Gauss(1), Q0, DRIVEN)
    with pytest.raises(TypeError, match="method"):
        attempt(PARTICLE, "Gauss", Q0, DRIVEN)
    with pytest.raises(TypeError, match="dtype int64; the state must be real floating point"):
        attempt(PARTICLE, Gauss(1), np.array([1, 0, 0]), DRIVEN)


def test_trajectories_that_are_none():
    for times, shape, words in (
        (2, (2, 3), r"three times or more; its shape is \(2,\)"),
        (3, (4, 3), r"3 times, but qs a leaf of shape \(4, 3\)"),
        (3, (), r"3 times, but qs a leaf of shape \(\)"),
    ):
        ts, qs = jnp.linspace(0.0, 1.0, times), np.zeros(shape)
        with pytest.raises(ValueError, match=words):
            jaxspark.diagnostics.discrete_euler_lagrange(PARTICLE, Gauss(1), ts, qs, DRIVEN)
    with pytest.raises(ValueError, match="q0 and q1 differ in shape"):
        jaxspark.diagnostics.discrete_action(PARTICLE, Gauss(1), 0.0, Q0, 0.1, Q0[:2], DRIVEN)
