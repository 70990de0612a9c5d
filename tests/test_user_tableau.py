"""Coefficients of the user's own: a method made of them, and every assumption that is checked."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import (
    counted,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_start,
    order,
    pendulum,
    PENDULUM_ARGS,
    pendulum_start,
)
from jaxspark import Gauss, Lobatto, RESULTS
from jaxspark.methods import AbstractSparkMethod, SparkMethod, SparkTableau


def butcher(c, b, A):
    return dict(c=np.array(c), b=np.array(b), A=np.array(A))


# E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, tables of IV.5; for SDIRK
# E. Hairer, S. P. Noersett & G. Wanner, *I*, II.7: nodes and weights of Gauss, but order 3 only.
IIIC = butcher(
    [0, 1 / 2, 1],
    [1 / 6, 2 / 3, 1 / 6],
    [[1 / 6, -1 / 3, 1 / 6], [1 / 6, 5 / 12, -1 / 12], [1 / 6, 2 / 3, 1 / 6]],
)
RADAU_IA = butcher([0, 2 / 3], [1 / 4, 3 / 4], [[1 / 4, -1 / 4], [1 / 4, 5 / 12]])
GAMMA = (3 + np.sqrt(3)) / 6
SDIRK = butcher([GAMMA, 1 - GAMMA], [1 / 2, 1 / 2], [[GAMMA, 0], [1 - 2 * GAMMA, GAMMA]])


def drag(t, q, v, args):
    """On the pendulum, so that its forces are not constant."""
    del q, args
    return -0.6 * v * jnp.sqrt(1 + jnp.sum(v**2)) + jnp.stack([jnp.cos(3 * t), 0 * t])


PROBLEMS = {
    "knife_edge": (knife_edge(), knife_edge_start(), KNIFE_EDGE_ARGS),
    "pendulum": (pendulum(drag), tuple(map(np.asarray, pendulum_start())), PENDULUM_ARGS),
}


def integrator(name, method):
    """`y` and `z` after a second, the number of steps not static."""
    system, start, args = PROBLEMS[name]

    @jax.jit
    def integrate(num_steps):
        h = 1 / num_steps.astype(float)

        def body(i, carry):
            y, z, good = carry
            t = i.astype(float) * h
            y, z, _, info = jaxspark.step(system, method, t, y, z, h, None, args)
            return y, z, good & (info.result == RESULTS.successful)

        y0, z0 = map(jnp.asarray, start)
        return jax.lax.fori_loop(0, num_steps, body, (y0, z0, jnp.asarray(True)))

    def end(num_steps):
        y, z, good = integrate(jnp.asarray(num_steps))
        assert bool(good)
        return np.asarray(y), np.asarray(z)

    return end


@pytest.fixture(scope="module", params=PROBLEMS)
def problem(request):
    """The name, and the state after a second, from two step sizes."""
    end = integrator(request.param, Gauss(5))
    coarse, fine = end(60), end(80)
    for a, b in zip(coarse, fine):
        assert np.max(np.abs(a - b)) <= 3e-14
    return request.param, fine


@pytest.mark.parametrize("coefficients", [RADAU_IA, SDIRK], ids=["Radau IA", "SDIRK"])
def test_a_method_of_ones_own(problem, coefficients):
    """It converges with the order that was claimed, and keeps the constraints."""
    name, reference = problem
    tableau = SparkTableau.build("own", 3, **coefficients)
    method = SparkMethod(tableau)
    end, steps = integrator(name, method), (40, 60, 90)
    ends = [end(n) for n in steps]
    for i, part in enumerate("yz"):
        errors = [np.max(np.abs(state[i] - reference[i])) for state in ends]
        assert errors[-1] > 1e-9, "rounding errors would decide"
        assert abs(order(1 / np.array(steps), errors) - method.order) <= 0.15, part

    system, start, args = PROBLEMS[name]
    solution = jaxspark.rollout(system, *start, args, method=method, t1=1.0, num_steps=steps[0])
    for state, expected in zip((solution.y1, solution.z1), ends[0]):
        assert np.max(np.abs(np.asarray(state) - expected)) <= 1e-13
    for residual in (solution.stats.max_g, solution.stats.max_gdot, solution.stats.max_k):
        assert float(residual) <= 2e-15


@pytest.mark.parametrize("coefficients, order", [(RADAU_IA, 3), (SDIRK, 4), (IIIC, 4)])
def test_an_order_too_high(coefficients, order):
    """As far as the quadrature formula tells."""
    assert SparkTableau.build("own", order, **coefficients).order == order
    words = rf"up to i = order = {order + 1}\."
    with pytest.raises(ValueError, match=words):
        SparkTableau.build("own", order + 1, **coefficients)


def test_hand_written_iiic():
    tableau = SparkTableau.build("IIIC", 4, **IIIC)
    expected = Lobatto(3, "C", "C", "C").tableau
    for field in dataclasses.fields(SparkTableau)[2:]:
        value = getattr(tableau, field.name)
        assert np.max(np.abs(value - getattr(expected, field.name))) <= 1e-15, field.name
    assert tableau.nodes_are_stages and tableau.constraint_nodes == 3
    assert not tableau.symmetric and not tableau.lagrange_dalembert
    assert tableau.R_infinity == 0


@pytest.mark.parametrize("coefficients", [RADAU_IA, SDIRK, IIIC])
def test_holonomic_partner_of_rounded_coefficients(coefficients):
    """What is exact of it is, although the coefficients are rounded to double precision."""
    tableau = SparkTableau.build("own", 3, **coefficients)
    b, b_tilde = tableau.b, tableau.b_tilde
    pairs = b[:, None] * tableau.A_tilde + (b_tilde[:, None] * tableau.A_bar).T
    assert np.max(np.abs(pairs - b[:, None] * b_tilde)) <= 1.2e-16
    assert not np.any(tableau.A_bar[0]) and not np.any(tableau.A_tilde[:, -1])
    assert np.all(tableau.A_tilde[:, 0] == b_tilde[0])
    assert (tableau.c_tilde[0], tableau.c_tilde[-1]) == (0, 1)


def test_stability_of_ones_own():
    radau = SparkTableau.build("Radau IA", 3, **RADAU_IA)
    sdirk = SparkTableau.build("SDIRK", 3, **SDIRK)
    for point in (0.4 + 0j, -1 + 2j, 30j):
        expected = (1 + point / 3) / (1 - 2 * point / 3 + point**2 / 6)
        assert abs(radau.R(point) - expected) <= 1e-14
        numerator = 1 + (1 - 2 * GAMMA) * point + (0.5 - 2 * GAMMA + GAMMA**2) * point**2
        assert abs(sdirk.R(point) - numerator / (1 - GAMMA * point) ** 2) <= 1e-14
    assert radau.R_infinity == 0
    # It is rounded to nine decimals.
    assert abs(sdirk.R_infinity - (1 - np.sqrt(3))) <= 5e-10


def test_defaults_of_the_other_coefficients():
    """`A_hat` is `A`, and `A_psi` is `A_hat`, unless given; all weights are `b`."""
    c, b, A = IIIC["c"], IIIC["b"], IIIC["A"]
    star, mean = (Lobatto(3, f=family).tableau.A_hat for family in ("C*", "D"))
    for given, expected in (
        ((), (A, A)), ((star,), (star, star)), ((star, mean), (star, mean)),
    ):  # fmt: skip
        tableau = SparkTableau.build("own", 4, c, b, A, *given)
        assert np.array_equal(tableau.A_hat, expected[0])
        assert np.array_equal(tableau.A_psi, expected[1])
        assert tableau.same_psi == (len(given) < 2)
        for name in ("b_hat", "b_psi"):
            assert np.array_equal(getattr(tableau, name), tableau.b)
    tableau = SparkTableau.build("own", 4, c, b, A, A_psi=mean)
    assert np.array_equal(tableau.A_hat, A) and np.array_equal(tableau.A_psi, mean)


def test_a_tableau_does_not_change():
    A = RADAU_IA["A"].copy()
    tableau = SparkTableau.build("Radau IA", 3, RADAU_IA["c"], RADAU_IA["b"], A)
    A[0, 0] = 7
    assert tableau.A[0, 0] == 0.25
    for field in dataclasses.fields(SparkTableau)[2:]:
        with pytest.raises(ValueError, match="read-only"):
            getattr(tableau, field.name)[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        tableau.A = A


def test_compared_by_identity():
    first, second = (SparkTableau.build("Radau IA", 3, **RADAU_IA) for _ in range(2))
    assert first != second and len({first, second, first}) == 2
    assert SparkMethod(first) == SparkMethod(first)
    assert hash(SparkMethod(first)) == hash(SparkMethod(first))
    assert SparkMethod(first) != SparkMethod(second)
    assert SparkMethod(Gauss(2).tableau) != Gauss(2)

    function, traces = counted(lambda method, v: jnp.asarray(method.tableau.A) @ v)
    v = jnp.asarray([1.0, -2.0])
    values = [function(SparkMethod(tableau), v) for tableau in (first, first, second)]
    assert len(traces) == 2
    assert np.array_equal(values[0], first.A @ np.asarray(v))
    assert np.array_equal(values[0], values[1]) and np.array_equal(values[0], values[2])


def test_a_method_of_ones_own_is_a_small_static_object():
    method = SparkMethod(SparkTableau.build("Radau IA", 3, **RADAU_IA))
    assert isinstance(method, AbstractSparkMethod)
    assert jax.tree.leaves(method) == []
    assert (method.stages, method.order) == (2, 3)
    assert repr(method) == "SparkMethod(Radau IA, stages=2)"


@pytest.mark.parametrize("wrong", ["Gauss", Gauss(2), None, RADAU_IA, SparkTableau], ids=repr)
def test_no_tableau(wrong):
    # (With jaxtyping's checks on, it is a TypeError already.)
    with pytest.raises(TypeError, match="tableau"):
        SparkMethod(wrong)
