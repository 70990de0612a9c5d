"""Findings of a fit that never was: a four-bar, as realistic as pages need."""

import dataclasses

import numpy as np

from jaxspark.fit._findings import (
    Channel,
    Combination,
    Estimate,
    Findings,
    Profile,
    Trial,
    Whiteness,
)


CRANK, COUPLER, ROCKER, GROUND = 0.1, 0.3, 0.25, 0.32
# Ends of the crank, the coupler with a point on it, the rocker.
LINES = ((0, 1), (1, 2), (2, 3), (1, 4), (2, 4))


def four_bar(angle):
    """Positions of the five points of a four-bar, of the angle of its crank."""
    zero = np.zeros_like(angle)
    a = CRANK * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    d = np.stack([zero + GROUND, zero], axis=-1)
    span = d - a
    distance = np.linalg.norm(span, axis=-1, keepdims=True)
    along = (COUPLER**2 - ROCKER**2 + distance**2) / (2 * distance)
    e = span / distance
    normal = np.stack([-e[:, 1], e[:, 0]], axis=-1)
    b = a + along * e + np.sqrt(COUPLER**2 - along**2) * normal
    rod = (b - a) / COUPLER
    p = a + 0.15 * rod + 0.12 * np.stack([-rod[:, 1], rod[:, 0]], axis=-1)
    return np.stack([np.zeros_like(a), a, b, d, p], axis=1)


def whiteness(residuals, lags=30):
    """With the p-value of residuals that are as white as they look."""
    known = residuals[np.isfinite(residuals)]
    known = known - known.mean()
    power = known @ known
    values = [1.0] + [float(known[:-lag] @ known[lag:] / power) for lag in range(1, lags + 1)]
    correlation = np.array(values)
    bound = 1.96 / np.sqrt(known.size)
    outside = np.mean(np.abs(correlation[1:]) > bound)
    return Whiteness(correlation, float(bound), 0.43 if outside < 0.15 else 2.1e-8)


def channel(name, unit, exact, sigma, colour, missing, rng):
    """A channel with noise of a colour, and samples that are missing."""
    noise = rng.normal(size=exact.size)
    for at in range(1, exact.size if colour else 0):
        noise[at] = colour * noise[at - 1] + np.sqrt(1 - colour**2) * noise[at]
    measured = exact + sigma * noise
    measured[rng.choice(exact.size, missing, replace=False)] = np.nan
    residuals = measured - exact
    explained = 1 - np.nanvar(residuals) / np.nanvar(measured)
    return Channel(name, unit, measured, exact, sigma, float(explained), whiteness(residuals))


def trial(name, frequency, count=1001, colour=0.0, held_out=False, seed=0, missing=0, dim=2):
    """The crank driven with a wavering speed, for ten seconds."""
    rng = np.random.default_rng(seed)
    times = np.linspace(0.0, 10.0, count)
    angle = 2 * np.pi * frequency * times + 0.6 * np.sin(1.7 * times) + 0.3
    points = four_bar(angle)
    rocker = points[:, 2] - points[:, 3]
    exact = np.arctan2(rocker[:, 1], rocker[:, 0])
    torque = 0.8 * np.cos(angle) + 0.25 * frequency**2 * np.sin(2 * angle)
    channels = (
        channel("rocker angle", "rad", exact, 4e-3, 0.0, missing, rng),
        channel("motor torque", "N m", torque, 0.05, colour, 0, rng),
    )
    if dim == 3:
        points = np.concatenate([points, 0.05 * np.sin(angle)[:, None, None] * points[..., :1]], 2)
    return Trial(name, times, channels, held_out, points)


def estimates():
    """Eight parameters: a held one, and two that are known as a product only."""
    inf, nan = np.inf, np.nan
    return (
        Estimate("crank mass", "kg", 0.2, 0.23417, 0.0031, 0.2281, 0.2402),
        Estimate("coupler mass", "kg", 0.5, 0.48211, 0.0127, 0.4572, 0.5070),
        Estimate("coupler inertia", "kg m^2", 4e-3, 3.8162e-3, 1.4e-4, 3.542e-3, 4.091e-3),
        Estimate("rocker mass", "kg", 0.4, 0.4, nan, nan, nan, fixed=True),
        Estimate("viscous friction", "N m s", 1e-5, 2.413e-5, 8.7e-6, 7.1e-6, 4.12e-5),
        Estimate("motor constant", "N m/A", 0.05, 0.05381, inf, -inf, inf, identifiable=False),
        Estimate("amplifier gain", "A/V", 2.0, 1.8631, inf, -inf, inf, identifiable=False),
        Estimate("spring stiffness", "N/m", 150.0, 163.27, 1.9, 159.5, 167.0),
    )


def initial_states():
    """Angle and rate of the crank at the start of each trial."""
    rows = []
    for at, name in enumerate(("slow turns", "fast turns")):
        rows.append(Estimate(f"{name}: crank angle", "rad", 0.3, 0.3012 + at / 100, 8e-4, 0.3, 0.4))
        rows.append(Estimate(f"{name}: crank rate", "rad/s", 3.0, 3.141 + at, 0.012, 3.1, 4.2))
    return tuple(rows)


def profile(name, unit, value, error, flat=False):
    """A deviance that is a little steeper to the left; or flat."""
    grid = value + error * np.linspace(-3.2, 3.2, 13)
    steps = (grid - value) / error
    deviance = 0.02 * steps**2 if flat else steps**2 * np.exp(-0.08 * steps)
    ends = (np.nan, np.nan) if flat else (value - 1.88 * error, value + 2.05 * error)
    return Profile(name, unit, grid, deviance, 3.841458820694124, *map(float, ends))


def correlation(size):
    """Some correlation matrix."""
    factors = np.random.default_rng(3).normal(size=(size, 2 * size))
    covariance = factors @ factors.T
    covariance[4, 5] = covariance[5, 4] = -0.999 * np.sqrt(covariance[4, 4] * covariance[5, 5])
    scale = np.sqrt(np.diag(covariance))
    return covariance / scale[:, None] / scale[None, :]


def findings(**changes):
    """All of it; `changes` replace fields."""
    weak = np.array([0.0, 0.02, 0.0, 0.0, 0.71, -0.70, 0.03])
    next_one = np.array([0.1, -0.3, 0.2, 0.92, 0.05, 0.05, 0.0])
    loss = 1.0 + 4.2e3 * np.exp(-0.9 * np.arange(15.0)) + 2.1e3 * np.exp(-2 * np.arange(15.0))
    made = Findings(
        title="Four-bar test bench, 3 August",
        estimates=estimates(),
        initial_states=initial_states(),
        correlation=correlation(7),
        combinations=(
            Combination(np.inf, weak, "motor constant * amplifier gain^-1"),
            Combination(0.36, next_one, "viscous friction"),
            Combination(0.021, np.roll(next_one, 2), "coupler inertia * coupler mass^0.5"),
        ),
        unidentifiable=("motor constant * amplifier gain^-1",),
        level=0.95,
        trials=(
            trial("slow turns", 0.5, seed=1, missing=40),
            trial("fast turns", 1.2, seed=2, colour=0.7),
            trial("new load", 0.8, seed=3, held_out=True),
        ),
        loss=tuple(loss.tolist()),
        converged=True,
        message="the relative change of the loss is below 1e-10",
        worst_residual=3.1e-13,
        seconds=48.2,
        versions={"jaxspark": "0.1.0", "jax": "0.10.2", "numpy": "2.4.6"},
        profiles=(
            profile("crank mass", "kg", 0.23417, 0.0031),
            profile("viscous friction", "N m s", 2.413e-5, 8.7e-6),
            profile("motor constant", "N m/A", 0.05381, 0.01, flat=True),
        ),
        warnings=("Trial fast turns: 3 samples of motor torque are at the limit of the sensor.",),
        lines=LINES,
    )
    return dataclasses.replace(made, **changes)
