"""Symmetric compositions: their order conditions, and what they amount to on mechanisms."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import mixed
from jaxspark._tableau import composition_fractions


ORDERS = (4, 6, 8, 10)


def words(weight: int) -> list[tuple[int, ...]]:
    """All words in letters of odd weights whose weights add up to at most this."""
    found, last = [()], [()]
    while last:
        longer = [(*word, k) for word in last for k in range(1, weight + 1, 2)]
        last = [word for word in longer if sum(word) <= weight]
        found += last
    return found


def product(a: dict, b: dict, weight: int) -> dict:
    """Of two formal series in letters that do not commute, up to a weight."""
    result: dict = {}
    for v, x in a.items():
        for w, y in b.items():
            if sum(v) + sum(w) <= weight:
                result[v + w] = result.get(v + w, 0) + x * y
    return result


def exponential(series: dict, weight: int) -> dict:
    result, power = {(): np.longdouble(1)}, {(): np.longdouble(1)}
    for k in range(1, weight + 1):
        power = {w: x / k for w, x in product(power, series, weight).items()}
        result = {w: result.get(w, 0) + power.get(w, 0) for w in {*result, *power}}
    return result


@pytest.mark.parametrize("order", ORDERS)
def test_order_conditions(order):
    # A symmetric method of order 2 is the exponential of h X_1 + h^3 X_3 + h^5 X_5 + ..., whatever
    # these are: so the product of its steps agrees with exp(h X_1) up to h^order, for all systems.
    whole = {(): np.longdouble(1)}
    for fraction in composition_fractions(order):
        h = np.longdouble(fraction)
        letters = {(k,): h**k for k in range(1, order + 1, 2)}
        whole = product(whole, exponential(letters, order), order)
    exact = exponential({(1,): np.longdouble(1)}, order)
    wrong = max(abs(whole.get(w, 0) - exact.get(w, 0)) for w in words(order))
    assert wrong < 5e-15


@pytest.mark.parametrize("order", ORDERS)
def test_fractions_are_symmetric_and_of_no_higher_order(order):
    fractions = np.array(composition_fractions(order))
    np.testing.assert_array_equal(fractions, fractions[::-1])
    assert fractions.sum() == pytest.approx(1, abs=1e-15)
    # Were they of the next order, too, a test of slopes could not tell.
    assert abs(np.sum(fractions ** (order + 1))) > 1e-6


def double_pendulum(damping=0.0):
    """Two masses in Cartesian coordinates, on rods; the second one is elastic, too."""

    def lagrangian(t, q, v, args):
        stretch = jnp.sqrt(q[2] ** 2 + q[3] ** 2) - 1.5
        mass = jnp.array([args, args, 0.7, 0.7])
        return (
            0.5 * jnp.sum(mass * v**2)
            - 9.81 * jnp.sum(mass * q * jnp.array([0, 1.0, 0, 1]))
            - (4.0 * stretch**2)
        )

    def holonomic(t, q, args):
        d = q[2:] - q[:2]
        return jnp.stack([q[0] ** 2 + q[1] ** 2 - 1.0, d[0] ** 2 + d[1] ** 2 - 0.64]) / 2

    force = None if damping == 0.0 else lambda t, q, v, args: -damping * v
    return jaxspark.LagrangianSystem(lagrangian, holonomic, force=force)


Y0 = jnp.array([0.6, -0.8, 0.6, -1.6])
Z0 = jnp.array([0.8, 0.6, 1.2, 0.6])
MASS = jnp.asarray(1.3)


def end_of(method, steps, system=None, t1=1.0, **options):
    system = double_pendulum() if system is None else system
    solution = jaxspark.rollout(
        system, Y0, Z0, MASS, method=method, t1=t1, num_steps=steps, save_every=None, **options
    )
    assert float(solution.stats.max_g) < 1e-14 and float(solution.stats.max_gdot) < 1e-13
    return jnp.concatenate([solution.y1, solution.z1])


@functools.cache
def exact_end(damping=0.0):
    return end_of(jaxspark.Gauss(4), 400, double_pendulum(damping))


def general():
    return dict(linear_solver=jaxspark.linear.DenseLU())


@pytest.mark.parametrize(
    "method, order, steps",
    [
        (jaxspark.Composition(jaxspark.Lobatto(2), 4), 4, (40, 80)),
        (jaxspark.Composition(jaxspark.Lobatto(2), 6), 6, (24, 48)),
        (jaxspark.Composition(jaxspark.Lobatto(2), 8), 8, (16, 32)),
        (jaxspark.Composition(jaxspark.Lobatto(2), 10), 10, (12, 24)),
        (jaxspark.Composition(jaxspark.Gauss(2), 6), 6, (16, 32)),
    ],
)
def test_orders(method, order, steps):
    exact = exact_end()
    errors = [float(jnp.max(jnp.abs(end_of(method, n) - exact))) for n in steps]
    assert errors[1] > 1e-13
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.6)


def test_order_with_moving_and_nonholonomic_constraints():
    problem = mixed()

    def end(method, steps):
        solution = jaxspark.rollout(
            problem.system, problem.y0, problem.z0, problem.args, method=method, t1=1.0,
            num_steps=steps, save_every=None,
        )  # fmt: skip
        assert max(map(float, (solution.stats.max_g, solution.stats.max_k))) < 1e-14
        return np.concatenate([solution.y1, solution.z1])

    exact, method = end(jaxspark.Gauss(4), 200), jaxspark.Composition(jaxspark.Gauss(1), 6)
    errors = [np.max(np.abs(end(method, steps) - exact)) for steps in (8, 16)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(6, abs=0.3)


@pytest.mark.parametrize(
    "method", [jaxspark.Lobatto(2), jaxspark.Composition(jaxspark.Lobatto(2), 6)]
)
def test_multipliers_alone_give_the_same_steps(method):
    fast, slow = end_of(method, 20), end_of(method, 20, **general())
    np.testing.assert_allclose(fast, slow, rtol=0, atol=2e-13)


def test_derivatives_are_those_of_the_general_path():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)

    def loss(mass, z, options):
        solution = jaxspark.rollout(
            double_pendulum(),
            Y0,
            z,
            mass,
            method=method,
            t1=0.4,
            num_steps=4,
            save_every=2,
            **options,
        )
        return jnp.sum(solution.ys**2) + jnp.sum(jnp.sin(solution.z1))

    fast = jax.jit(jax.grad(lambda m, z: loss(m, z, {}), (0, 1)))(MASS, Z0)
    forward = jax.jit(jax.jacfwd(lambda m, z: loss(m, z, {}), (0, 1)))(MASS, Z0)
    slow = jax.jit(jax.grad(lambda m, z: loss(m, z, general()), (0, 1)))(MASS, Z0)
    for a, b, c in zip(fast, forward, slow, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(a, c, rtol=1e-10, atol=1e-10)
    step = 1e-5
    difference = (loss(MASS + step, Z0, {}) - loss(MASS - step, Z0, {})) / (2 * step)
    assert float(fast[0]) == pytest.approx(float(difference), rel=1e-7)
    gradient = jax.jit(jax.grad(lambda m: loss(m, Z0, {})))
    second = jax.jit(jax.jacfwd(gradient))(MASS)
    difference = (gradient(MASS + step) - gradient(MASS - step)) / (2 * step)
    np.testing.assert_allclose(second, difference, rtol=1e-7)


def test_batches_are_loops():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 6)

    def run(mass):
        return jaxspark.rollout(
            double_pendulum(), Y0, Z0, mass, method=method, t1=0.5, num_steps=5, throw=False
        )

    masses = jnp.array([0.5, 1.3, jnp.nan, 4.0])
    batch = jax.jit(jax.vmap(run))(masses)
    for i, mass in enumerate(masses):
        one = run(mass)
        np.testing.assert_allclose(batch.ys[i], one.ys, rtol=0, atol=1e-14)
        assert int(batch.result._value[i]) == int(one.result._value)
        assert int(batch.stats.num_steps[i]) == int(one.stats.num_steps)
    # One lane fails at once, and keeps its initial state; the others do not notice.
    assert int(batch.stats.num_steps[2]) == 0
    np.testing.assert_array_equal(batch.ys[2, -1], Y0)
    assert list(np.asarray(batch.stats.num_steps)) == [5, 5, 0, 5]


def test_reversed_and_over_long_times():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 6)
    there = jaxspark.rollout(
        double_pendulum(), Y0, Z0, MASS, method=method, t1=2.0, num_steps=40, save_every=None
    )
    back = jaxspark.rollout(
        double_pendulum(), there.y1, there.z1, MASS, method=method, t0=2.0, t1=0.0, num_steps=40,
        save_every=None,
    )  # fmt: skip
    np.testing.assert_allclose(back.y1, Y0, rtol=0, atol=1e-11)
    solution = jaxspark.rollout(
        double_pendulum(), Y0, Z0, MASS, method=method, h=0.05, num_steps=4000, save_every=10
    )
    energy = jaxspark.diagnostics.energy(
        double_pendulum(), solution.ts, solution.ys, solution.zs, MASS
    )
    wrong = np.abs(energy - energy[0])
    # No drift: as large in the first half as in the second.
    assert wrong.max() < 1e-3
    assert wrong[200:].max() < 3 * wrong[:200].max()


def test_damped_systems_take_the_general_path():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    system = double_pendulum(damping=0.3)
    exact = exact_end(0.3)
    errors = [float(jnp.max(jnp.abs(end_of(method, n, system) - exact))) for n in (20, 40)]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4, abs=0.5)


def test_one_step_by_hand():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 6)
    y, z, guess = Y0, Z0, None
    for i in range(4):
        y, z, guess, info = jaxspark.step(
            double_pendulum(), method, 0.1 * i, y, z, 0.1, guess, MASS
        )
        assert bool(info.result == jaxspark.RESULTS.successful)
    np.testing.assert_allclose(jnp.concatenate([y, z]), end_of(method, 4, t1=0.4), atol=1e-13)


def test_failures_say_why():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    with pytest.raises(jaxspark.SolveError, match="Newton"):
        jaxspark.rollout(double_pendulum(), Y0, 40 * Z0, MASS, method=method, h=2.0, num_steps=3)

    def twice(t, q, args):
        return jnp.stack([q[0] ** 2 + q[1] ** 2 - 1.0] * 2)

    redundant = jaxspark.LagrangianSystem(lambda t, q, v, args: jnp.sum(v**2) / 2 - q[1], twice)
    with pytest.raises(jaxspark.SolveError, match="dependent|redundant|singular"):
        jaxspark.rollout(redundant, Y0[:2], Z0[:2], method=method, h=0.1, num_steps=3)


@pytest.mark.parametrize(
    "arguments, error, words",
    [
        ((jaxspark.RadauIIA(2), 6), ValueError, "symmetric"),
        ((jaxspark.Gauss(2), 4), ValueError, "order 4 already"),
        ((jaxspark.Lobatto(2), 5), ValueError, "4, 6, 8 or 10"),
        (("RATTLE", 4), TypeError, "method"),
    ],
)
def test_what_cannot_be_composed(arguments, error, words):
    with pytest.raises(error, match=words):
        jaxspark.Composition(*arguments)


def test_compositions_have_equal_steps():
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    with pytest.raises(TypeError, match="method"):
        jaxspark.solve(double_pendulum(), Y0, Z0, MASS, method=method, t1=1.0)  # pyright: ignore


@pytest.mark.inside
def test_explain_tells_of_the_structure():
    alone = "for multipliers alone"
    assert alone in jaxspark.linear.explain(double_pendulum(), Y0, Z0, MASS)
    assert alone not in jaxspark.linear.explain(double_pendulum(damping=0.3), Y0, Z0, MASS)
    assert alone not in jaxspark.linear.explain(double_pendulum(), Y0, Z0, MASS, **general())


def test_a_state_that_is_not_finite_ends_the_iteration():
    """NaN in a coordinate that no constraint has: one iteration for each part that is left."""
    system = jaxspark.ConstrainedSystem(
        lambda t, q, v, args: jnp.array([0.0, -9.81, jnp.where(t >= 0.05, jnp.nan, 0.0)]),
        g=lambda t, q, args: (q[:2] @ q[:2] - 1)[None],
    )
    found = jaxspark.solve(
        system, jnp.array([1.0, 0.0, 0.0]), jnp.zeros(3), None, t1=1.0,
        method=jaxspark.Composition(jaxspark.Lobatto(2), 4), steps=jaxspark.EqualSteps(10),
        throw=False,
    )  # fmt: skip
    assert bool(found.result == jaxspark.RESULTS.newton_diverged)
    assert int(found.stats.newton_iterations) <= 1200
