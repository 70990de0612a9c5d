"""Covariances against formulas and other programs, and intervals against what they promise."""

import numpy as np
import pytest
import scipy.optimize

from jaxspark.fit._covariance import (
    correlation,
    delta,
    information,
    intervals,
    intervals_in,
    unidentifiable,
)
from jaxspark.fit._sandwich import clustered, newey_west


def noise_variance(r, num_unknowns):
    """Of residuals, `r.r / (n - p)`."""
    return float(r @ r) / (r.size - num_unknowns)


def regression():
    """A straight line and a cosine, fitted to something else."""
    t = np.arange(40.0)
    y = np.sin(1.7 * t) + 0.6 * np.cos(0.31 * t * t) + 0.05 * t
    J = np.column_stack([np.ones(40), t / 10, np.cos(0.9 * t)])
    values = np.linalg.lstsq(J, y)[0]
    return J, values, J @ values - y


def random(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def test_regression_against_statsmodels():
    """statsmodels 0.15.0, `OLS(y, J).fit()`."""
    J, values, r = regression()
    found = information(J)
    variance = noise_variance(r, found.rank)
    errors = np.sqrt(np.diag(found.covariance(variance)))
    low, high = intervals(values, errors, r.size - found.rank)
    assert found.rank == 3 and found.null.shape == (0, 3)
    np.testing.assert_allclose(variance, 0.8449033267858492, rtol=1e-13)
    expected = [0.286057597785755, 0.126459497932633, 0.203726946562344]
    np.testing.assert_allclose(errors, expected, rtol=1e-13)
    expected = [-0.311505966682599, 0.145758636443957, -0.403893659992928]
    np.testing.assert_allclose(low, expected, rtol=1e-12)
    expected = [0.847709530568822, 0.658221199623049, 0.421686347288184]
    np.testing.assert_allclose(high, expected, rtol=1e-12)


def test_newey_west_against_statsmodels():
    """statsmodels 0.15.0, `cov_type="HAC"` with `maxlags=3, use_correction=True`."""
    J, _, r = regression()
    expected = [
        [0.028698937256371, -0.011577825362146, 0.002548416740646],
        [-0.011577825362146, 0.005915122717969, -0.000450947786236],
        [0.002548416740646, -0.000450947786236, 0.045135823822025],
    ]
    np.testing.assert_allclose(newey_west(J, r, 3), expected, rtol=1e-11)


@pytest.mark.parametrize("lags", [0, 1, 4, 12])
def test_newey_west_is_the_double_sum(lags):
    """Within runs, one of them shorter than the lags; and with priors."""
    runs, num_priors = [17, 3, 0, 10], 2
    J, r = random(1, 32, 4), random(2, 32)
    run = np.repeat(np.arange(4), runs)
    spread = np.zeros((4, 4))
    for i in range(30):
        for j in range(30):
            if run[i] == run[j] and abs(i - j) <= lags:
                weight = 1 - abs(i - j) / (lags + 1)
                spread += weight * r[i] * r[j] * np.outer(J[i], J[j])
    spread *= 30 / 26
    spread += J[30:].T @ J[30:]
    inverse = np.linalg.inv(J.T @ J)
    found = newey_west(J, r, lags, runs, num_priors=num_priors)
    np.testing.assert_allclose(found, inverse @ spread @ inverse, rtol=1e-11, atol=1e-14)


def test_newey_west_repairs_the_coverage_of_a_mean():
    """Of an autoregressive noise with coefficient 0.8: three times the error of white noise."""
    rng = np.random.default_rng(20)
    noise = np.zeros((300, 4000))
    for at in range(1, 4000):
        noise[:, at] = 0.8 * noise[:, at - 1] + rng.normal(size=300)
    noise = noise[:, 500:]
    J = np.ones((3500, 1))
    squared, white = [], []
    for series in noise:
        r = series - series.mean()
        squared.append(newey_west(J, r, 100)[0, 0])
        white.append(information(J).covariance(noise_variance(r, 1))[0, 0])
    actual = np.mean(noise.mean(axis=1) ** 2)
    # 25 / 3500 in theory, of which the weights of the lags lose 4 %, and that the mean is
    # subtracted 3 %. The mean square of 300 samples scatters by 8 %.
    assert abs(np.mean(squared) / (25 / 3500) - 0.93) < 0.04
    assert abs(np.mean(squared) / actual - 1) < 0.25
    assert np.mean(white) < 0.15 * actual


def test_clusters_against_statsmodels():
    """statsmodels 0.15.0, `cov_type="cluster"` with `use_correction=True`; in any order."""
    J, _, r = regression()
    expected = [
        [0.008590569096662, -0.002787215911642, 0.007289612619896],
        [-0.002787215911642, 0.002166541786662, -0.003885726068220],
        [0.007289612619896, -0.003885726068220, 0.046771749114051],
    ]
    of = np.repeat(np.arange(7), [6, 6, 6, 6, 6, 5, 5])
    np.testing.assert_allclose(clustered(J, r, of), expected, rtol=1e-10)
    order = np.random.default_rng(5).permutation(40)
    np.testing.assert_allclose(clustered(J[order], r[order], 9 - of[order]), expected, rtol=1e-10)


def test_clusters_with_priors_and_columns_that_are_not_told():
    """A direction that is null stays out; rows of priors count once each."""
    J, r, of = random(1, 32, 3), random(2, 32), np.arange(30) % 6
    sums = np.stack([J[:30][of == k].T @ r[:30][of == k] for k in range(6)])
    spread = 6 / 5 * 29 / 27 * sums.T @ sums + J[30:].T @ J[30:]
    inverse = np.linalg.inv(J.T @ J)
    found = clustered(J, r, of, num_priors=2)
    np.testing.assert_allclose(found, inverse @ spread @ inverse, rtol=1e-11, atol=1e-14)
    wider = clustered(np.column_stack([J, np.zeros(32)]), r, of, num_priors=2)
    np.testing.assert_allclose(wider[:3, :3], found, rtol=1e-11, atol=1e-14)
    assert not wider[3].any()


def test_clusters_repair_the_coverage_of_a_slope():
    """Errors that are the same in a whole cluster, as of a window that starts a little off."""
    rng = np.random.default_rng(21)
    of = np.repeat(np.arange(40), 25)
    J = np.column_stack([np.ones(1000), np.repeat(rng.standard_normal(40), 25)])
    inside, alone = [], []
    for _ in range(400):
        noise = 0.3 * rng.standard_normal(1000) + rng.standard_normal(40)[of]
        off = np.linalg.lstsq(J, noise)[0]
        r = J @ off - noise
        inside.append(abs(off[1]) <= 2.02 * np.sqrt(clustered(J, r, of)[1, 1]))
        error = np.sqrt(information(J).covariance(noise_variance(r, 2))[1, 1])
        alone.append(abs(off[1]) <= 1.96 * error)
    # Few clusters make intervals a little short; 400 samples tell 95 % to 1.1 %.
    assert 0.90 <= np.mean(inside) <= 0.98
    assert np.mean(alone) < 0.5


def test_coverage_of_a_linear_model():
    J, true = random(3, 12, 3), np.array([1.0, -2.0, 0.5])
    found = information(J)
    noise = 0.7 * random(4, 4000, 12)
    inside = []
    for sample in noise:
        values = np.linalg.lstsq(J, J @ true + sample)[0]
        r = J @ values - J @ true - sample
        errors = np.sqrt(np.diag(found.covariance(noise_variance(r, 3))))
        low, high = intervals(values, errors, 9)
        inside.append((low < true) & (true < high))
    # Of 4000 samples, four standard deviations are 1.4 %. Of a normal distribution: 91.9 %.
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.014)


def test_coverage_of_a_decay():
    """A positive amplitude and a positive rate, through their logarithms."""
    t, sigma, true = np.linspace(0.0, 3.0, 25), 0.1, np.array([2.0, 0.8])

    def jacobian(u):
        amplitude, rate = np.exp(u)
        decay = amplitude * np.exp(-rate * t) / sigma
        return np.stack([decay, -rate * t * decay], axis=1)

    inside = []
    for sample in random(5, 1000, 25):
        y = true[0] * np.exp(-true[1] * t) + sigma * sample

        def residual(u):
            return (np.exp(u[0] - np.exp(u[1]) * t) - y) / sigma

        u = scipy.optimize.leastsq(residual, np.log(true), Dfun=jacobian)[0]
        found = information(jacobian(u))
        errors = np.sqrt(np.diag(found.covariance(noise_variance(residual(u), 2))))
        low, high = intervals_in(u, errors, np.exp, 23)
        inside.append((low < true) & (true < high))
    assert np.all(np.abs(np.mean(inside, axis=0) - 0.95) < 0.02)


def test_scales_do_not_matter():
    J, scale = random(6, 30, 5), 10.0 ** np.array([-12, 12, 0, -7, 5])
    found = information(J * scale)
    expected = np.linalg.inv(J.T @ J) / np.outer(scale, scale)
    assert found.rank == 5
    np.testing.assert_allclose(found.covariance(), expected, rtol=1e-12)
    assert not unidentifiable(found).any()
    factor = found.factor
    np.testing.assert_allclose(factor @ factor.T, expected, rtol=1e-12)


def test_no_square_of_the_condition_number():
    """Of columns of unit length with a condition number of 1e9 the error is 1e-7, not 100 %."""
    q = np.linalg.qr(random(7, 40, 2))[0]
    angle = 2e-9
    J = q @ np.array([[np.cos(angle), np.cos(angle)], [np.sin(angle), -np.sin(angle)]])
    found = information(J, rtol=1e-12)
    assert found.rank == 2
    expected = np.full(2, 1 / np.sin(2 * angle) ** 2)
    np.testing.assert_allclose(np.diag(found.covariance()), expected, rtol=1e-6)


@pytest.mark.parametrize("scale", [(1, 1, 1, 1, 1), (1e-12, 1e12, 1e5, 1e-3, 1)])
def test_two_separate_null_directions(scale):
    """The first two unknowns act as a difference, the fourth not at all."""
    basis = random(8, 50, 3)
    columns = [basis[:, 0], -basis[:, 0], basis[:, 1], np.zeros(50), basis[:, 2]]
    J = np.stack(columns, axis=1) * np.array(scale)
    found = information(J)
    assert found.rank == 3
    expected = np.zeros((2, 5))
    expected[0, :2] = 1 / np.array(scale[:2])
    expected[0] /= np.linalg.norm(expected[0])
    expected[1, 3] = 1
    np.testing.assert_allclose(np.abs(found.null), expected, rtol=1e-11, atol=0)
    assert np.max(np.abs(J @ found.null.T)) <= 1e-12 * np.max(scale[2])
    assert unidentifiable(found).tolist() == [True, True, False, True, False]
    # What is told has the same error as without what is not.
    rest = np.linalg.inv(J[:, [0, 2, 4]].T @ J[:, [0, 2, 4]])
    np.testing.assert_allclose(np.diag(found.covariance())[[2, 4]], np.diag(rest)[1:], rtol=1e-11)


def test_unidentifiable_quantities():
    """Only the difference of two logarithms is told: their ratio, not their product."""
    basis = random(9, 20, 2)
    J = np.stack([1e3 * basis[:, 0], -1e3 * basis[:, 0], 1e-4 * basis[:, 1]], axis=1)
    found = information(J)
    dphysical = np.array([[1.0, -1, 0], [1, 1, 0], [1, -1, 5], [0, 0, 1], [1, 0, 0], [0, 0, 0]])
    told = [False, True, False, False, True, False]
    assert unidentifiable(found, dphysical).tolist() == told
    # Of the ratio, as the single unknown that it is.
    variance = delta(found.covariance(), dphysical[:1])[0, 0]
    alone = information(1e3 * basis[:, :1] * 1.0)
    joint = information(np.stack([1e3 * basis[:, 0], 1e-4 * basis[:, 1]], axis=1))
    np.testing.assert_allclose(variance, joint.covariance()[0, 0], rtol=1e-11)
    assert variance > alone.covariance()[0, 0]


def test_noise_of_a_jacobian_makes_no_information():
    """Errors of 1e-11 do not break a null direction; true differences of 1e-6 do."""
    column = random(10, 60, 1)
    other = column * (1 + 1e-11 * random(11, 60, 1))
    assert information(np.concatenate([column, other], axis=1)).rank == 1
    other = column * (1 + 1e-6 * random(11, 60, 1))
    assert information(np.concatenate([column, other], axis=1)).rank == 2


def test_noise_of_a_jacobian_turns_null_directions():
    """Beside a badly known pair, that noise mixes it into the null direction of another pair."""
    x, y, z = random(15, 3, 60)
    J = np.stack([x, -x, y, y + 1e-7 * z], axis=1) * (1 + 1e-11 * random(16, 60, 4))
    found = information(J)
    assert found.rank == 3
    mixed = np.abs(found.right_vectors[3, 2:])
    assert mixed.max() > 1e-6
    assert unidentifiable(found).tolist() == [True, True, False, False]
    np.testing.assert_array_equal(found.null[:, 2:], 0)


def test_fewer_data_than_unknowns_and_none():
    found = information(random(12, 2, 4))
    assert found.rank == 2 and found.null.shape == (2, 4)
    found = information(np.zeros((5, 2)))
    assert found.rank == 0 and unidentifiable(found).all()
    assert np.all(found.covariance() == 0)
    assert information(np.zeros((5, 0))).covariance().shape == (0, 0)
    assert information(np.zeros((0, 2))).rank == 0


def test_priors_are_rows():
    """An unknown without effect and a prior of error 0.3 has the error 0.3."""
    J = np.concatenate([np.stack([np.ones(9), np.zeros(9)], axis=1), [[0.0, 1 / 0.3]]])
    errors = np.sqrt(np.diag(information(J).covariance()))
    np.testing.assert_allclose(errors, [1 / 3, 0.3], rtol=1e-14)


def test_delta_and_correlation():
    """Of a rectangle with sides 2 and 3: `(3 da)^2 + (2 db)^2 + 2 6 cov`."""
    covariance = np.array([[0.01, -0.006], [-0.006, 0.04]])
    dphysical = np.array([[3.0, 2.0], [1.0, 0.0]])
    expected = [[0.09 + 0.16 - 0.072, 0.03 - 0.012], [0.03 - 0.012, 0.01]]
    np.testing.assert_allclose(delta(covariance, dphysical), expected, rtol=1e-14)
    np.testing.assert_allclose(correlation(covariance), [[1, -0.3], [-0.3, 1]], rtol=1e-14)
    nothing = correlation(np.diag([2.0, 0.0]))
    np.testing.assert_array_equal(nothing, [[1, np.nan], [np.nan, 1]])


def test_intervals():
    """Quantiles from tables: 2.776 for four degrees of freedom, 1.96 and 2.576 without end."""
    values, errors = np.array([1.0, 1.0, 1.0]), np.array([0.1, np.inf, np.nan])
    low, high = intervals(values, errors, 4)
    np.testing.assert_allclose(high, [1.2776445105198, np.inf, np.nan], rtol=1e-12)
    np.testing.assert_allclose(low, [0.7223554894802, -np.inf, np.nan], rtol=1e-12)
    np.testing.assert_allclose(intervals(values, errors, np.inf)[1][0], 1.1959963984540)
    np.testing.assert_allclose(intervals(values, errors, np.inf, 0.99)[1][0], 1.2575829303549)


def test_intervals_in_bounds():
    """Through rising and falling maps; infinite errors lead to the bounds."""
    u, errors = np.array([0.2, -1.0, 3.0, 0.0]), np.array([0.1, 50.0, np.inf, np.nan])

    def between(u):
        return 2 + 3 / (1 + np.exp(-u))

    half = 1.959963984540054 * errors
    low, high = intervals_in(u, errors, between, np.inf)
    np.testing.assert_allclose(low[:1], between(u[:1] - half[:1]))
    np.testing.assert_allclose(high[:1], between(u[:1] + half[:1]))
    np.testing.assert_array_equal(low[2:], [2, np.nan])
    np.testing.assert_array_equal(high[2:], [5, np.nan])
    assert 2 <= low[1] < 2 + 1e-12 and 5 - 1e-12 < high[1] <= 5
    falling = intervals_in(u, errors, lambda u: -between(u), np.inf)
    np.testing.assert_array_equal(falling[0], -high)
    np.testing.assert_array_equal(falling[1], -low)
    low, high = intervals_in(np.zeros(1), np.array([1e5]), np.exp, 10)
    assert low[0] == 0 and high[0] == np.inf


def test_errors_name_the_cure():
    J, r = random(13, 5, 2), random(14, 5)
    J[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"J has 1 entries.*J\[3, 1\] = nan"):
        information(J)
    J[3, 1] = 0.0
    with pytest.raises(ValueError, match="segments add up to 6 samples; there are 5 data"):
        newey_west(J, r, 1, [4, 2])
    with pytest.raises(ValueError, match="lags must not be negative"):
        newey_west(J, r, -1)
    with pytest.raises(ValueError, match="too few data"):
        newey_west(J[:2], r[:2], 1)
    with pytest.raises(ValueError, match=r"one number for each of 5 data; their shape is \(4,\)"):
        clustered(J, r, np.arange(4))
    with pytest.raises(ValueError, match="There is one cluster"):
        clustered(J, r, np.zeros(5, int))
    with pytest.raises(ValueError, match="level must be between 0 and 1.*got 95"):
        intervals(r, r, 3, 95)
    with pytest.raises(ValueError, match="dof must be positive"):
        intervals_in(r, r, np.exp, 0)
