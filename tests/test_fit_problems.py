"""The problems of identification: two derivations of each agree, and the data can tell."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.fit import double_pendulum, fork, four_bar, hinge_friction, vehicle
from benchmarks.fit._double_pendulum import growth, lyapunov, START, start_from
from benchmarks.fit._hinge import law_error, Network, Stribeck
from benchmarks.fit._identifiability import identifiability
from benchmarks.fit._rival_casadi import by_casadi
from benchmarks.fit._rival_diffrax import by_diffrax
from benchmarks.fit._rivals import accurate, by_differences, cost, of_trial, point, reference
from helpers import thorough
from jaxspark import fit
from jaxspark._main._identify import LENGTH, MASS
from jaxspark._main._model import model
from jaxspark._main._record import load_record


PROBLEMS = {
    "four-bar": functools.cache(four_bar),
    "double pendulum": functools.cache(double_pendulum),
    "vehicle": functools.cache(vehicle),
    "hinge": functools.cache(hinge_friction),
}
WITH_NUMBERS = ["four-bar", "double pendulum", "vehicle"]


@pytest.mark.parametrize("name", PROBLEMS)
def test_constraints_and_reduced_equations_agree(name):
    # One derivation is in Cartesian coordinates, the other by hand in minimal ones.
    problem = PROBLEMS[name]()
    for trial in range(len(problem.trials)):
        assert problem.error(trial) <= 1e-7


@pytest.mark.parametrize("name", PROBLEMS)
def test_starts_are_consistent_for_the_guess(name):
    problem = PROBLEMS[name]()
    args = {**problem.truth, **problem.guess}
    for trial in problem.trials:
        given = problem.with_inputs(trial, args)
        y0, z0 = problem.state(jnp.asarray(trial.guess), given)
        residuals = jaxspark.diagnostics.constraint_residuals(problem.system, 0.0, y0, z0, given)
        assert max(np.max(abs(x)) for x in jax.tree.leaves(residuals) if x.size) <= 1e-14


@pytest.mark.parametrize("name", PROBLEMS)
def test_data_are_the_clean_channels_and_white_noise(name):
    problem = PROBLEMS[name]()
    records, sigmas = problem.data(3), problem.sigmas()
    for record, again, other, clean, trial in zip(
        records, problem.data(3), problem.data(4), problem.clean, problem.trials, strict=True
    ):
        assert set(record.channels) == set(clean) and set(record.units) == set(problem.units)
        for key, values in record.channels.items():
            np.testing.assert_array_equal(values, again.channels[key])
            assert np.any(values != other.channels[key])
            noise = (values - clean[key]) / sigmas[key]
            # Four standard errors of a standard deviation and of a correlation.
            assert abs(np.std(noise) - 1) <= 4 / np.sqrt(2 * noise.size)
            assert abs(np.mean(noise[1:] * noise[:-1])) <= 4 / np.sqrt(noise.size)
        for key, function in trial.inputs.items():
            np.testing.assert_array_equal(record.inputs[key], function(record.times))
    for key, sigma in sigmas.items():
        every = np.concatenate([clean[key] for clean in problem.clean])
        assert sigma == pytest.approx(0.01 * np.std(every), rel=1e-12)


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_guesses_are_wrong_and_specified(name):
    problem = PROBLEMS[name]()
    start = fit.parametrise(problem.specs(), len(problem.trials))
    values = dict(zip(start.names, np.asarray(start.physical(start.start)).tolist()))
    assert values == pytest.approx(problem.guess, rel=1e-12)
    off = [abs(problem.guess[key] / problem.truth[key] - 1) for key in problem.guess]
    assert 0.08 <= min(off) and max(off) <= 0.51
    assert set(problem.specs()) == set(problem.truth)


@pytest.mark.parametrize("name, bound", [("four-bar", 0.03), ("vehicle", 0.002)])
def test_data_tell_all_parameters(name, bound):
    found = identifiability(PROBLEMS[name]())
    assert found.condition < (1500 if name == "four-bar" else 100)
    assert max(found.errors.values()) < bound


def test_double_pendulum_is_chaotic():
    grown = growth()
    assert 1e6 < grown[-1, 1] < 1e7
    assert 0.7 < lyapunov(60.0) < 1.4


def test_start_of_the_double_pendulum_is_found_in_its_record():
    for seed in range(3):
        found = start_from(PROBLEMS["double pendulum"]().data(seed)[0])
        assert np.all(abs(found - START) < [0.03, 0.03, 0.4, 0.4])


def test_drag_takes_energy_from_the_double_pendulum():
    # Both derivations have it; this is its power, by differences of the energy.
    problem = PROBLEMS["double pendulum"]()
    times, clean, truth = problem.trials[0].times, problem.clean[0], problem.truth
    h, masses = times[1] - times[0], (1.0, truth["mass_ratio"])
    rates = {key: np.gradient(values, h, edge_order=2) for key, values in clean.items()}
    squared = [rates[f"x{bob}"] ** 2 + rates[f"y{bob}"] ** 2 for bob in (1, 2)]
    energy = sum(
        mass * (0.5 * speed + truth["gravity"] * clean[f"y{bob}"])
        for mass, speed, bob in zip(masses, squared, (1, 2))
    )
    lost = truth["drag"] * np.trapezoid(squared[0] + squared[1], times)
    assert energy[-1] - energy[0] == pytest.approx(-lost, rel=0.02)


def test_law_and_network_of_the_hinge():
    law, network = Stribeck(), Network(8)
    moments = jax.vmap(law)(jnp.array([0.0, 1.0, 1e3]))
    expected = (0.05 + 0.05 * np.exp(-1 / 2.25)) * np.tanh(2.5) + 0.004
    np.testing.assert_allclose(moments, [0.0, expected, 0.05 + 4.0], rtol=1e-12)
    rates = jnp.linspace(0.1, 9.0, 5)
    np.testing.assert_allclose(jax.vmap(network)(-rates), -jax.vmap(network)(rates), rtol=1e-12)
    assert law_error(law) == 0 and law_error(lambda rate: 1.25 * law(rate)) == pytest.approx(0.25)
    assert law_error(network) > 0.5
    assert fit.parametrise(PROBLEMS["hinge"]().specs(8), 1).size == 24


@pytest.mark.parametrize("dry", [True, False])
def test_fork_is_that_of_the_main_job(dry):
    case, record = fork(dry), load_record()
    np.testing.assert_array_equal(case.record.channels["gyro_volt"], record.volts)
    np.testing.assert_allclose(case.record.times, record.times, rtol=1e-12)
    names = {"frequency", "damping", "gain", "bias", "length", "mass"}
    assert set(case.specs) == (names | {"friction"} if dry else names)
    values = {"frequency": 3.9, "damping": 0.02, "gain": 0.9, "bias": 1.3, "length": LENGTH}
    values["friction"] = 8e-4 if dry else 0.0
    args = {name: jnp.asarray(x) for name, x in {**values, "mass": MASS}.items()}

    @jax.jit
    def volts():
        start = jnp.array([-0.03, -1.1])
        solution = jaxspark.rollout(
            case.system,
            *case.state(start, args),
            args,
            method=jaxspark.Gauss(2),
            h=0.01,
            num_steps=200,
        )
        shown = jax.vmap(lambda z: case.observe(0.0, None, z, None, None, args))(solution.zs)
        return shown["gyro_volt"]

    described = model({**values, "angle": -0.03, "rate": -1.1}, MASS, 0.01, dry)
    expected = fit.simulate(described, 0.01 * np.arange(201)).channels["gyro_volt"]
    np.testing.assert_allclose(volts(), expected, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def truth():
    problem = PROBLEMS["four-bar"]()
    return reference(problem, point(problem))


@pytest.mark.parametrize("mode", ["forward", thorough("reverse")])
def test_diffrax_has_the_same_residuals_and_derivatives(truth, mode):
    found = cost(by_diffrax(PROBLEMS["four-bar"](), 1e-8, "Tsit5", mode), truth, 1)
    assert found.error < 1e-6 and found.jacobian_error < 1e-5 and found.gradient_error < 1e-6


@pytest.mark.parametrize(
    "plugin, form, setting, mode",
    [
        ("rk", "reduced", 4, "adjoint"),
        thorough("idas", "index 1", 1e-8, "forward"),
    ],
)
def test_casadi_has_the_same_residuals_and_derivatives(truth, plugin, form, setting, mode):
    pytest.importorskip("casadi")
    rival = by_casadi(PROBLEMS["four-bar"](), setting, plugin, form, mode)
    found = cost(rival, truth, 1)
    assert found.error < 1e-6 and found.jacobian_error < 1e-5 and found.gradient_error < 1e-6


@pytest.mark.thorough
def test_rollout_has_the_same_residuals_and_derivatives(truth):
    problem = PROBLEMS["four-bar"]()
    times, sigmas, record = problem.trials[1].times, problem.sigmas(), problem.data(0)[1]

    @jax.jit
    @functools.partial(jax.jacfwd, has_aux=True)
    def both(own):
        args = {**problem.truth, **dict(zip(problem.guess, own))}
        args = {name: jnp.asarray(value) for name, value in args.items()}
        found = problem.simulate(times, own[8:], args)
        rows = [(found[key] - record.channels[key]) / sigma for key, sigma in sigmas.items()]
        return 2 * (jnp.concatenate(rows),)

    jacobian, residuals = both(jnp.asarray(of_trial(truth.at, 1)))
    own = np.r_[0:8, 10:12]
    expected = truth.jacobian[602:1204]
    assert np.max(abs(residuals - truth.residuals[602:1204])) < 1e-4
    errors = np.linalg.norm(jacobian - expected[:, own], axis=0)
    assert np.max(errors / np.linalg.norm(expected[:, own], axis=0)) < 1e-6
    assert not expected[:, [8, 9, 12, 13]].any()


def test_central_differences():
    def residuals(x):
        return np.array([x[0] ** 3, x[0] * x[1]])

    x, rival = np.array([2.0, -3.0]), by_differences("cubic", residuals, 1e-3)
    r, jacobian = rival.iteration(x)
    # Of a cubic the error is the square of the step, which is 2e-3.
    np.testing.assert_allclose(jacobian, [[12 + 4e-6, 0], [-3, 2]], rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(r, [8.0, -6.0])
    value, gradient = rival.gradient(x)
    assert value == 50
    np.testing.assert_allclose(gradient, jacobian.T @ r, rtol=1e-12)


def test_the_cheapest_accurate_setting_is_chosen(truth):
    problem = PROBLEMS["four-bar"]()
    errors = {1e-2: 1e-3, 1e-4: 1e-7, 1e-6: 0.0}

    def make(setting):
        def residuals(x):
            if setting == 1e-3:
                raise RuntimeError("the integrator gave up")
            return truth.residuals + errors[setting] / 0.01

        return by_differences(f"{setting}", residuals)

    chosen = accurate(make, [1e-2, 1e-3, 1e-4, 1e-6], truth)
    assert chosen is not None and chosen.name.startswith("0.0001")
    assert accurate(make, [1e-2], truth) is None
    assert eqx.tree_equal(point(problem), truth.at)
