"""What least squares needs of a model, and losses that outliers do not govern."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import swings
from jaxspark import fit
from jaxspark.fit._compile import compiled
from jaxspark.fit._evaluate import assembled, weighted
from jaxspark.fit._log_density import loss as density_loss
from jaxspark.fit._predict import predict
from jaxspark.fit._problem import make_problem
from jaxspark.fit._sensitivities import sensitivities


# Compiles for minutes in all.
pytestmark = pytest.mark.thorough


K = 1.5
# The losses as in the books, of residuals in standard deviations.
LOSSES = {
    "squares": (fit.Squares(), lambda r: r**2, lambda r: np.ones_like(r)),
    "Huber": (
        fit.Huber(K),
        lambda r: np.where(abs(r) <= K, r**2, 2 * K * abs(r) - K**2),
        lambda r: np.minimum(1, K / abs(r)),
    ),
    "Cauchy": (
        fit.Cauchy(K),
        lambda r: K**2 * np.log1p((r / K) ** 2),
        lambda r: 1 / (1 + (r / K) ** 2),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    loss, rho, weight = LOSSES[name]
    r = np.array([1e-3, 0.3, 1.4999, 1.5001, 2.7, 40.0])
    s = jnp.asarray(r**2)
    np.testing.assert_allclose(loss.rho(s), rho(r), rtol=1e-13)
    np.testing.assert_allclose(loss.weight(s), weight(r), rtol=1e-13)
    np.testing.assert_allclose(jax.vmap(jax.grad(loss.rho))(s), weight(r), rtol=1e-12)
    # Of an exact prediction, forward and reverse.
    zero = jnp.zeros(())
    assert loss.rho(zero) == 0 and jax.grad(loss.rho)(zero) == loss.weight(zero) == 1
    assert jnp.isfinite(jax.grad(loss.weight)(zero))


@pytest.mark.parametrize("loss", [fit.Huber(), fit.Cauchy()])
def test_default_thresholds_lose_five_percent_for_normal_noise(loss):
    # The asymptotic efficiency of an M-estimator, (mean psi')^2 / mean psi^2.
    z = jnp.linspace(-9, 9, 20001)
    normal = jnp.exp(-0.5 * z**2) / jnp.sum(jnp.exp(-0.5 * z**2))
    psi = lambda z: loss.weight(z**2) * z
    mean = lambda values: float(jnp.sum(normal * values))
    efficiency = mean(jax.vmap(jax.grad(psi))(z)) ** 2 / mean(psi(z) ** 2)
    assert abs(efficiency - 0.95) <= 1e-3


TIMES = np.linspace(0, 0.75, 16), np.linspace(0, 0.5, 11)
# Drag, length, the offsets of the sensor in both trials, and the starts of both.
U = np.array([0.2, -0.1, 0.4, -0.3, 0.05, -0.4, -0.06, 0.3])
SIGMA = np.array([0.02, 0.07])


def with_offset(t, y, z, lam, psi, args):
    seen = swings.observe(t, y, z, lam, psi, args)
    return {"angle": seen["angle"] + args["offset"], "rate": seen["rate"]}


def specs():
    return {
        "length": fit.positive(0.9, "m", prior=fit.Normal(0.85, 0.02)),
        "drag": fit.positive(0.2, prior=fit.LogNormal(0.3, 1.5)),
        "offset": fit.real(0.1, "rad", per_trial=True),
    }


def problem_of(loss):
    records = [
        swings.record(TIMES[0], 1.0, 0.0, 3, missing=[("rate", [2, 3, 15])]),
        swings.record(TIMES[1], 0.5, 1.0, 4),
    ]
    model = swings.model((1.1, 0.3), (0.4, 1.2), parameters=specs(), observe=with_offset, loss=loss)
    return make_problem(model, records)


@pytest.fixture(scope="module")
def squares():
    return problem_of(fit.Squares())


@pytest.fixture(scope="module")
def residuals(squares):
    """By channel in standard deviations, and their derivative by differences; priors' too."""
    data, local = squares.data, squares.local()

    def at(u):
        found = np.asarray(predict(squares, jnp.asarray(u)).values - data.measured) / SIGMA
        length, drag = 0.9 * np.exp(u[1]), 0.2 * np.exp(u[0])
        priors = [np.log(drag / 0.3) / np.log(1.5), (length - 0.85) / 0.02]
        return np.where(data.present, found, 0.0), np.array(priors)

    h = 1e-5
    moves = h * np.eye(U.size)
    differences = [[(a - b) / (2 * h) for a, b in zip(at(U + d), at(U - d))] for d in moves]
    J, by_prior = (np.stack(columns, -1) for columns in zip(*differences))
    assert squares.shared.names == ("drag", "length", "offset (trial 0)", "offset (trial 1)")
    np.testing.assert_array_equal(local, [[0, 1, 2, 4, 5], [0, 1, 3, 6, 7]])
    return *at(U), J, by_prior


@compiled
def everything(problem, u, sigma):
    found = weighted(problem, u, sigma, sensitivities(problem, u))
    value, gradient = jax.value_and_grad(density_loss, 1)(problem, u, sigma)
    return found, *assembled(problem, found), value, gradient


@pytest.fixture(scope="module", params=LOSSES)
def evaluated(request):
    loss, rho, weight = LOSSES[request.param]
    found = everything(problem_of(loss), jnp.asarray(U), jnp.asarray(SIGMA))
    return rho, weight, *found


def test_factors_loss_and_gradient(squares, residuals, evaluated):
    rho, weight, found, A, b, value, gradient = evaluated
    r, priors, J, by_prior = residuals
    present = np.asarray(squares.data.present)
    assert present.sum() == 2 * (16 + 11) - 3 and found.good
    np.testing.assert_array_equal(found.counts, present.sum((0, 1)))
    safe = np.where(r == 0, 1.0, r)
    # Some residuals are beyond the threshold, and some are not.
    assert 5 < np.sum(abs(r[present]) > K) < present.sum() - 5
    w = np.where(present, weight(safe), 0.0)
    for k, local in enumerate(squares.local()):
        rows = np.sqrt(w[k])[..., None] * np.concatenate([J[k][..., local], r[k][..., None]], -1)
        rows = rows.reshape(-1, local.size + 1)
        R = found.factors[k]
        np.testing.assert_array_equal(R, np.triu(R))
        size = np.max(abs(rows.T @ rows))
        np.testing.assert_allclose(R.T @ R, rows.T @ rows, rtol=0, atol=1e-8 * size)
    rows = np.concatenate([by_prior, priors[:, None]], -1)[:, [0, 1, 2, 3, -1]]
    R = found.prior
    np.testing.assert_allclose(R.T @ R, rows.T @ rows, rtol=0, atol=1e-8 * np.max(rows**2))

    half = 0.5 * (np.sum(np.where(present, rho(safe), 0.0)) + np.sum(priors**2))
    np.testing.assert_allclose([found.loss, value], half, rtol=1e-12)
    squares_of = np.sum(w * r**2, (0, 1)) * SIGMA**2
    np.testing.assert_allclose(found.squares, squares_of, rtol=1e-11)
    # All rows together: the information and the gradient.
    whole = np.sqrt(w)[..., None] * J
    whole = np.concatenate([whole.reshape(-1, U.size), by_prior])
    information = whole.T @ whole
    size = np.max(abs(information))
    np.testing.assert_allclose(A.T @ A, information, rtol=0, atol=1e-8 * size)
    size = np.max(abs(gradient))
    np.testing.assert_allclose(A.T @ b, gradient, rtol=0, atol=1e-11 * size)
    by_hand = np.einsum("tsc,tsci->i", w * r, J) + by_prior.T @ priors
    np.testing.assert_allclose(gradient, by_hand, rtol=0, atol=1e-7 * size)


def test_a_simulation_that_fails_costs_everything(squares):
    # A start so far along the tangent that no circle reaches it.
    far = jnp.asarray(U).at[4].set(3.0)
    found, _, _, value, _ = everything(squares, far, jnp.asarray(SIGMA))
    assert not found.good and np.isposinf(found.loss) and np.isposinf(value)


def spoilt(seed):
    """Two swings, of which one sample in fifteen is off by up to 40 standard deviations."""
    rng = np.random.default_rng(seed)
    records = []
    for k, start in enumerate([(1.0, 0.0), (0.5, 1.0)]):
        times = np.linspace(0, 2, 81)
        channels = dict(swings.record(times, *start, seed=seed + k).channels)
        for name in channels:
            off = rng.random(81) < 1 / 15
            error = swings.NOISE[name] * rng.uniform(5, 40, 81)
            channels[name] = channels[name] + np.where(off, error, 0.0)
        records.append(fit.record(times, channels, name=f"swing {k}"))
    return records


def test_outliers_do_not_govern():
    truth = np.array([0.3, 0.8])
    errors, off, sigma = {}, {}, {}
    for name, loss in (("squares", fit.Squares()), ("Cauchy", fit.Cauchy())):
        model = swings.model((1.1, 0.3), (0.4, 1.2), loss=loss)
        found = fit.estimate(model, spoilt(7), progress=False)
        errors[name], off[name] = found.uncertainty.errors, abs(found.vector - truth)
        sigma[name] = np.array([found.sigma[key] for key in swings.NOISE])
    assert np.all(off["Cauchy"] <= 3 * errors["Cauchy"])
    assert np.all(errors["Cauchy"] <= 0.3 * errors["squares"])
    # The noise of most of the samples is found, not that of the worst.
    true = np.array(list(swings.NOISE.values()))
    assert np.all(sigma["squares"] >= 4 * true)
    assert np.all(np.abs(sigma["Cauchy"] / true - 1) <= 0.25)
