"""Scores of predictions against scipy, and criteria against statsmodels."""

import numpy as np
import pytest
import scipy.stats

from jaxspark.fit._covariance import information
from jaxspark.fit._score import criteria, hold_out_score, predictive_log_density


def test_criteria_against_statsmodels():
    """statsmodels 0.15.0, which does not count the strength of the noise as an unknown."""
    t = np.arange(40.0)
    y = np.sin(1.7 * t) + 0.6 * np.cos(0.31 * t * t) + 0.05 * t
    J = np.column_stack([np.ones(40), t / 10, np.cos(0.9 * t)])
    r = J @ np.linalg.lstsq(J, y)[0] - y
    found = criteria(r / 0.2, 3, np.full(40, 0.2))
    np.testing.assert_allclose(found.log_likelihood, -51.82764921198385, rtol=1e-12)
    np.testing.assert_allclose(found.aic, 109.6552984239677 + 2, rtol=1e-12)
    np.testing.assert_allclose(found.bic, 114.7219367863095 + np.log(40), rtol=1e-12)
    known = criteria(r / 0.2, 3, np.full(40, 0.2), noise_known=True)
    expected = scipy.stats.norm(scale=0.2).logpdf(r).sum()
    np.testing.assert_allclose(known.log_likelihood, expected, rtol=1e-12)
    np.testing.assert_allclose(known.aic, 6 - 2 * expected, rtol=1e-12)
    with pytest.raises(ValueError, match="no data"):
        criteria(np.zeros(0), 1)


@pytest.mark.parametrize("variance", [1.0, 2.5])
def test_predictive_density_is_a_normal_one(variance):
    rng = np.random.default_rng(1)
    r, sigma, J = rng.normal(size=9), rng.uniform(0.1, 3.0, 9), rng.normal(size=(9, 3))
    factor = rng.normal(size=(3, 2))
    weighted = variance * np.eye(9) + J @ factor @ factor.T @ J.T
    covariance = sigma[:, None] * weighted * sigma
    expected = scipy.stats.multivariate_normal(np.zeros(9), covariance).logpdf(r * sigma)
    found = predictive_log_density(r, sigma, variance=variance, J=J, factor=factor)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    alone = predictive_log_density(r, sigma, variance=variance)
    expected = scipy.stats.norm(scale=np.sqrt(variance) * sigma).logpdf(r * sigma).sum()
    np.testing.assert_allclose(alone, expected, rtol=1e-12)


def test_uncertain_parameters_belong_to_the_prediction():
    """On the whole, the predictive density is larger with the uncertainty that is there."""
    rng = np.random.default_rng(2)
    J, held = rng.normal(size=(8, 5)), rng.normal(size=(30, 5))
    factor = information(J).factor
    gain = []
    for _ in range(200):
        off = np.linalg.lstsq(J, rng.normal(size=8))[0]
        r = held @ off - rng.normal(size=30)
        with_it = predictive_log_density(r, J=held, factor=factor)
        gain.append(with_it - predictive_log_density(r))
    assert np.mean(gain) > 5 * np.std(gain) / np.sqrt(200)


def test_hold_out_score():
    r = np.array([1.0, -2.0, 2.0, 0.0])
    found = hold_out_score(r, np.full(4, 0.5))
    assert found.samples == 4 and found.ratio == 1.5
    np.testing.assert_allclose(found.log_density, scipy.stats.norm(scale=0.5).logpdf(r / 2).sum())
    np.testing.assert_allclose(found.log_density_each, found.log_density / 4)
    with pytest.raises(ValueError, match="no data"):
        hold_out_score(np.zeros(0))
    with pytest.raises(ValueError, match="belong together"):
        hold_out_score(r, J=np.ones((4, 1)))
    with pytest.raises(ValueError, match="must be positive"):
        predictive_log_density(r, variance=0.0)
