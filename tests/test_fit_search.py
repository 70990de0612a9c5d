"""The search of a fit: the likelihood of parameters and noise, valleys, what is not told."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from jaxspark import fit
from jaxspark.fit._evaluate import bending, by_channel, weighted
from jaxspark.fit._levenberg import advance, begin
from jaxspark.fit._predict import predict
from jaxspark.fit._problem import make_problem
from jaxspark.fit._proposal import _damped, NEAR, Options
from jaxspark.fit._sensitivities import Sensitivities, sensitivities


GRAVITY = 9.81
TRUTH = {
    "m1": 0.094, "m2": 0.138, "a1": 0.109, "a2": 0.117, "L1": 0.173, "I1": 4.4e-4, "I2": 1.3e-3,
    "k1": 2.4e-4, "k2": 5e-5,
}  # fmt: skip
# What acts on the motion of two arms: moments over the inertia of the first, and lengths.
BASE = {
    "gravity 1": lambda p: (p["m1"] * p["a1"] + p["m2"] * p["L1"]) / inertia(p),
    "gravity 2": lambda p: p["m2"] * p["a2"] / inertia(p),
    "inertia 2": lambda p: (p["I2"] + p["m2"] * p["a2"] ** 2) / inertia(p),
    "L1": lambda p: p["L1"],
    "friction 1": lambda p: p["k1"] / inertia(p),
    "friction 2": lambda p: p["k2"] / inertia(p),
}
NOISE = {"angle1": 0.003, "angle2": 0.005, "rate1": 0.04, "rate2": 0.08}
TIMES = np.linspace(0, 1.5, 151)
STARTS = (2.6, 3.5, 7.8, -1.4), (2.0, 2.6, 0.0, 0.0)


def inertia(p):
    """Of the first arm about its joint, with the mass of the second at the other."""
    return p["I1"] + p["m1"] * p["a1"] ** 2 + p["m2"] * p["L1"] ** 2


def mass(t, y, args):
    del t, y
    m = [args[key] for key in ("m1", "m1", "I1", "m2", "m2", "I2")]
    return jnp.diag(jnp.stack(m))


def force(t, y, z, args):
    del t, y
    first, second = z[2], args["k2"] * (z[5] - z[2])
    moments = second - args["k1"] * first, -second
    weights = [jnp.zeros_like(first), -args["m1"] * GRAVITY, moments[0]]
    return jnp.stack([*weights, jnp.zeros_like(first), -args["m2"] * GRAVITY, moments[1]])


def hinges(t, y, args):
    del t
    (x1, y1, one, x2, y2, two), (a1, a2, L1) = y, (args[key] for key in ("a1", "a2", "L1"))
    s1, c1, s2, c2 = jnp.sin(one), jnp.cos(one), jnp.sin(two), jnp.cos(two)
    return jnp.stack([
        x1 - a1 * s1, y1 - a1 * c1, x2 - L1 * s1 - a2 * s2, y2 - L1 * c1 - a2 * c2,
    ])  # fmt: skip


def observe(t, y, z, lam, psi, args):
    del t, lam, psi, args
    return {"angle1": y[2], "angle2": y[5], "rate1": z[2], "rate2": z[5]}


def rates(_, x, p=TRUTH):
    """The equations of both angles from upright, and their rates."""
    one, two, w1, w2 = x
    coupling = p["m2"] * p["L1"] * p["a2"]
    M = np.array([
        [inertia(p), coupling * np.cos(one - two)],
        [coupling * np.cos(one - two), p["I2"] + p["m2"] * p["a2"] ** 2],
    ])  # fmt: skip
    swirl = coupling * np.sin(one - two) * np.array([-(w2**2), w1**2])
    weight = GRAVITY * np.array([
        (p["m1"] * p["a1"] + p["m2"] * p["L1"]) * np.sin(one), p["m2"] * p["a2"] * np.sin(two),
    ])  # fmt: skip
    between = p["k2"] * (w2 - w1)
    drag = np.array([between - p["k1"] * w1, -between])
    return np.concatenate([x[2:], np.linalg.solve(M, swirl + weight + drag)])


@functools.cache
def records():
    """Two swings by SciPy, with noise."""
    made, rng = [], np.random.default_rng(5)
    for number, start in enumerate(STARTS):
        span = (TIMES[0], TIMES[-1])
        options = {"method": "DOP853", "t_eval": TIMES, "rtol": 1e-11, "atol": 1e-12}
        values = scipy.integrate.solve_ivp(rates, span, start, **options).y
        channels = {
            name: x + sigma * rng.standard_normal(x.size)
            for (name, sigma), x in zip(NOISE.items(), values)
        }
        made.append(fit.record(TIMES, channels, name=f"swing {number}"))
    return tuple(made)


def start(number, p):
    """Where a swing starts, of a double pendulum with these numbers."""
    one, two, w1, w2 = (records()[number].channels[name][0] for name in NOISE)
    s1, c1, s2, c2 = np.sin(one), np.cos(one), np.sin(two), np.cos(two)
    y = [p["a1"] * s1, p["a1"] * c1, one, p["L1"] * s1 + p["a2"] * s2]
    z = [p["a1"] * c1 * w1, -p["a1"] * s1 * w1, w1, p["L1"] * c1 * w1 + p["a2"] * c2 * w2]
    y += [p["L1"] * c1 + p["a2"] * c2, two]
    z += [-p["L1"] * s1 * w1 - p["a2"] * s2 * w2, w2]
    return np.array(y), np.array(z)


def model(off=1.0, seed=0, **held):
    """All nine numbers free, from factors up to `off` away; but for those that are held."""
    rng = np.random.default_rng(seed)
    guess = {key: x * off ** rng.uniform(-1, 1) for key, x in TRUTH.items()}
    specs = {key: held.get(key, fit.positive(x)) for key, x in guess.items()}
    starts = [start(number, TRUTH) for number in range(len(STARTS))]
    where = fit.Start([y for y, _ in starts], [z for _, z in starts])
    system = jaxspark.MechanicalSystem(mass=mass, force=force, holonomic=hinges)
    return fit.Model(system, observe, specs, where, 0.01, title="double pendulum")


@pytest.fixture(scope="module")
def double():
    return fit.estimate(model(1.2), records(), progress=False)


def test_what_the_data_do_not_tell_does_not_keep_it_from_converging(double):
    assert double.converged and int(double.state.iteration) <= 20
    assert "the data tell 6 of 9 combinations" in double.message
    assert double.uncertainty.directions.rank == 6
    # Infinite, never NaN; the length of the first arm alone is told.
    errors = double.errors
    assert [name for name, error in errors.items() if np.isfinite(error)] == ["L1"]
    assert np.all(np.isposinf([error for name, error in errors.items() if name != "L1"]))
    assert abs(double.values["L1"] - TRUTH["L1"]) <= 4 * errors["L1"]


def test_what_acts_on_the_motion_is_found(double):
    known = double.uncertainty
    for name, function in BASE.items():
        gradient = jax.grad(lambda p: function(p))(dict(double.values))
        slope = np.array([gradient[key] for key in double.names]) @ known.dphysical
        padded = np.pad(slope, (0, known.spread.shape[0] - slope.size))
        assert known.tells(padded[None, :]).item(), name
        error = np.sqrt(padded @ known.covariance @ padded)
        assert abs(function(double.values) - function(TRUTH)) <= 4 * error, name


def test_steps_are_perpendicular_to_what_is_not_told():
    problem = make_problem(model(1.2), records())
    options = Options(jnp.zeros(4, bool), jnp.ones(problem.size, bool))
    sigma = jnp.asarray([1.0, 1.0, 10.0, 10.0])
    state = advance(problem, begin(problem, problem.start, sigma, options), options)
    weights = np.asarray(state.ahead.scale)
    step = np.asarray(state.ahead.step) * weights
    # The scale of all masses, inertias and frictions: a direction of their logarithms.
    names = problem.shared.names
    along = np.zeros(problem.size)
    along[: len(names)] = [key[0] in "mIk" for key in names]
    along *= weights
    assert np.linalg.norm(step) > 0.1
    assert abs(along @ step) <= 1e-6 * np.linalg.norm(along) * np.linalg.norm(step)
    assert int(state.ahead.rank) == problem.size - 3


def test_converged_is_stationary_for_parameters_and_noise_together(double):
    """The gradient of the concentrated likelihood vanishes, by differences."""
    problem, known = double.problem, double.uncertainty
    present, measured = np.asarray(problem.data.present), np.asarray(problem.data.measured)
    share = 1 - problem.num_independent / present.sum()

    def concentrated(u):
        values = np.asarray(predict(problem, jnp.asarray(u)).values)
        difference = np.where(present, values - measured, 0)
        counts = present.sum((0, 1))
        return np.sum(0.5 * share * counts * np.log(np.sum(difference**2, (0, 1)) / counts))

    u, h = np.asarray(double.state.u), 1e-2
    # Along each direction that is told, by one of its standard errors the likelihood falls by half.
    for direction in known.information.factor.T:
        values = [concentrated(u + s * h * direction) for s in (-2, -1, 1, 2)]
        slope = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert abs(slope) <= 1e-4


def linear_problem():
    """One trial with two unknowns."""
    made = fit.Model(
        jaxspark.MechanicalSystem(mass=mass, force=force, holonomic=hinges), observe,
        {**TRUTH, "a1": fit.positive(TRUTH["a1"]), "I2": fit.positive(TRUTH["I2"])},
        fit.Start(*start(0, TRUTH), unknown="nothing"), 0.01,
    )  # fmt: skip
    return make_problem(made, records()[:1])


def test_curvature_is_that_of_the_likelihood():
    """An undamped step is Newton's for the concentrated likelihood of a linear model."""
    problem = linear_problem()
    rng = np.random.default_rng(2)
    samples, channels = problem.data.present.shape[1:]
    J = jnp.asarray(rng.standard_normal((samples, channels, 2)))
    u = jnp.asarray([0.02, -0.03])
    offset = jnp.asarray(rng.standard_normal((samples, channels)) * np.array([1, 2, 5, 9.0]))

    def residuals(u):
        return J @ u + offset

    found = sensitivities(problem, problem.start)
    prediction = found.prediction
    values = problem.data.measured + residuals(u)[None]
    prediction = type(prediction)(values, *[getattr(prediction, name) for name in (
        "y0", "z0", "y1", "z1", "good", "residual", "newton_iterations", "points")])  # fmt: skip
    at_u = Sensitivities(prediction, J[None], None, None, None)
    share = 1 - 2 / (samples * channels)

    def concentrated(u):
        return 0.5 * samples * share * jnp.sum(jnp.log(jnp.sum(residuals(u) ** 2, 0)))

    sigma = jnp.sqrt(jnp.sum(residuals(u) ** 2, 0) / (samples * share))
    evaluation = weighted(problem, u, sigma, at_u)
    np.testing.assert_allclose(evaluation.scale, sigma, rtol=1e-12)
    pulls = by_channel(problem, evaluation)
    np.testing.assert_allclose(jnp.sum(pulls, 0), jax.grad(concentrated)(u), rtol=1e-10)
    A = (J / sigma[None, :, None]).reshape(-1, 2)
    b = (residuals(u) / sigma[None, :]).ravel()
    shares = jnp.sqrt(2 / evaluation.dof)[:, None] * pulls
    solved = _damped(A, b, shares, jnp.eye(2), jnp.asarray(0.0))
    newton = -jnp.linalg.solve(jax.hessian(concentrated)(u), jax.grad(concentrated)(u))
    assert solved.decrement <= NEAR**2 and solved.rank == 2
    np.testing.assert_allclose(solved.w, newton, rtol=1e-9)
    plain = _damped(A, b, jnp.zeros_like(shares), jnp.eye(2), jnp.asarray(0.0))
    assert np.max(abs(plain.w / newton - 1)) >= 1e-4


def test_bending_is_the_second_derivative_along_a_step():
    problem = make_problem(model(), records())
    options = Options(jnp.zeros(4, bool), jnp.ones(problem.size, bool))
    step = np.zeros(problem.size)
    step[:9] = np.random.default_rng(3).standard_normal(9)
    sigma = jnp.asarray(list(NOISE.values()))
    state = begin(problem, problem.start, sigma, options)
    assert state.unknown and int(state.iteration) == 0
    after = problem.start

    def predicted(s):
        return predict(problem, after + s * jnp.asarray(step)).values

    h = 2e-3
    second = (predicted(h) - 2 * predicted(0.0) + predicted(-h)) / h**2
    found = []
    for size in (1e-2, 5e-3):
        d = jnp.asarray(size * step)
        at = [sensitivities(problem, after - x) for x in (d, jnp.zeros_like(d))]
        first, last = (weighted(problem, after, sigma, x) for x in at)
        found.append(bending(problem, at[1], last, sigma, first, d) / size**2)
    expected = np.zeros(problem.size)
    jacobian = np.asarray(at[1].jacobian)
    slopes = np.einsum("nscq,nsc->nq", jacobian, np.asarray(second / sigma[None, None, :] ** 2))
    np.add.at(expected, problem.local(), slopes)
    # First order in the size of the step: extrapolated.
    extrapolated = 2 * found[1] - found[0]
    assert np.max(abs(extrapolated - expected)) <= 0.02 * np.max(abs(expected))
