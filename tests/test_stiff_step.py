"""Steps of stiff mechanisms are those of the slow motion, whatever the stiffness."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import Lobatto, MechanicalSystem, RadauIIA, RESULTS
from jaxspark._consistent import constraint_jacobian
from jaxspark._stiff import (
    error_filter,
    ggl_coefficients,
    ggl_step,
    independent,
    raw_error,
    Weights,
)
from jaxspark._system import flatten


IIIC = Lobatto(3, "C", "C", "C")
UPRIGHT = np.array([np.sin(1), -np.cos(1)])


def spring_pendulum():
    """A point mass on a spring of stiffness `eps^-2`, whose elongation is a coordinate."""

    def force(t, q, v, eps):
        return jnp.stack([jnp.zeros_like(q[0]), -jnp.ones_like(q[0]), -q[2] / eps**2])

    def length(t, q, eps):
        return (q[:1] ** 2 + q[1:2] ** 2 - (1 + q[2:]) ** 2) / 2

    def start(eps):
        elongation = eps**2 * np.cos(1)
        return np.append((1 + elongation) * UPRIGHT, elongation)

    mass = jnp.diag(jnp.array([1.0, 1.0, 0.0]))
    return MechanicalSystem(lambda t, q, eps: mass, force, length), start, 2


def spring_double_pendulum():
    """A rigid pendulum, and a second mass on a spring of stiffness `eps^-2`."""

    def force(t, q, v, eps):
        return jnp.array([0.0, -1.0, 0.0, -1.0, 0.0]) - jnp.zeros(5).at[4].set(q[4] / eps**2)

    def lengths(t, q, eps):
        apart = q[2:4] - q[:2]
        rigid = jnp.sum(q[:2] ** 2) - 1
        return jnp.stack([rigid, jnp.sum(apart**2) - (1 + q[4]) ** 2]) / 2

    def start(eps):
        first, second = (np.array([np.sin(a), -np.cos(a)]) for a in (0.6, 1.0))
        G = np.block([[first, np.zeros(2)], [-second, second]])
        tension = np.linalg.solve(G @ G.T, G @ np.array([0, -1, 0, -1.0]))[1]
        elongation = eps**2 * tension
        return np.concatenate([first, first + (1 + elongation) * second, [elongation]])

    mass = jnp.diag(jnp.array([1.0, 1.0, 1.0, 1.0, 0.0]))
    return MechanicalSystem(lambda t, q, eps: mass, force, lengths), start, 4


PROBLEMS = {"spring": spring_pendulum(), "double": spring_double_pendulum()}


def attempt(system, method):
    """A step with its error, filtered, on independent coordinates; compiled once."""
    coefficients = ggl_coefficients(method.tableau)

    @jax.jit
    def step(t, y, z, h, acceleration, tolerance, eps, twice):
        flat, _, _ = flatten(system, t, y, z, eps)
        weights = Weights(tolerance * (1 + jnp.abs(y)), tolerance * (1 + jnp.abs(z)))
        end = ggl_step(flat, coefficients, t, y, z, h, weights, "g0")
        rates = flat.velocity(t, y, z), acceleration
        raw = raw_error(coefficients, y, z, h, end.stages, rates)
        clean = error_filter(flat, coefficients, t + h, h, end.stages)
        free = independent(constraint_jacobian(flat, t + h, end.y, end.z))

        def norm(error):
            parts = error[0] / weights.y, h * error[1] / weights.z
            squares = sum(jnp.where(free, x, 0) ** 2 for x in parts)
            return jnp.sqrt(jnp.sum(squares) / jnp.sum(jnp.where(free, 2.0, 0.0)))

        once = clean(raw)
        size = jnp.where((norm(once) >= 1) & twice, norm(clean(once)), norm(once))
        last = jnp.sum(jnp.asarray(coefficients.W[-1])[:, None] * (end.stages.z - z[None, :]), 0)
        return end, size, last / h

    return step


def integrate(problem, method, tolerance, eps, step=None, t1=2.0, h=1e-2):
    """Steps, Newton iterations, rejections, failures of Newton, and the end.

    Source: the controller of Yen & Petzold's tests as reproduced for them.
    """
    system, start, _ = PROBLEMS[problem]
    step = attempt(system, method) if step is None else step
    y = jnp.asarray(start(eps))
    z, t, power = jnp.zeros_like(y), 0.0, -1 / (method.tableau.stages + 1)
    _, acceleration = jaxspark.underlying_ode(system)(0.0, (y, z), eps)
    counts, again = np.zeros(4, int), True
    while t < t1 - 1e-12:
        h = min(h, t1 - t)
        end, error, last = step(t, y, z, h, acceleration, tolerance, eps, again)
        counts[1] += int(end.iterations)
        if not bool(end.result == RESULTS.successful):
            counts[3] += 1
            h, again = h / 4, True
            continue
        factor = float(np.clip(0.9 * max(float(error), 1e-10) ** power, 0.2, 5))
        if error > 1:
            counts[2] += 1
            h, again = h * factor, True
            continue
        factor = min(factor, 1.0) if again and counts[0] > 0 else factor
        counts[0] += 1
        t, y, z, acceleration, again = t + h, end.y, end.z, last, False
        h = h * factor
    return counts, np.asarray(y)


@pytest.fixture(scope="module")
def slow():
    """The ends of the rigid mechanisms."""
    return {name: integrate(name, RadauIIA(3), 1e-9, 1e-7)[1] for name in PROBLEMS}


# Steps, iterations and error at tolerances 1e-3 and 1e-5, from an independent implementation.
EXPECTED = [
    ("spring", RadauIIA(2), (10, 33, 4e-4), (32, 99, 7e-6)),
    ("spring", RadauIIA(3), (7, 27, 3e-5), (14, 51, 2e-6)),
    ("spring", IIIC, (9, 26, 2e-4), (20, 61, 3e-6)),
    ("double", RadauIIA(2), (9, 29, 9e-4), (25, 81, 1e-5)),
    ("double", RadauIIA(3), (6, 20, 2e-4), (12, 41, 2e-6)),
    ("double", IIIC, (8, 23, 2e-4), (17, 51, 2e-6)),
]


@pytest.mark.parametrize("problem, method, loose, tight", EXPECTED)
def test_steps_do_not_depend_on_the_stiffness(problem, method, loose, tight, slow):
    system, _, positions = PROBLEMS[problem]
    step = attempt(system, method)
    for tolerance, (steps, iterations, error) in zip((1e-3, 1e-5), (loose, tight), strict=True):
        all_counts = []
        for eps in (1e-3, 1e-5, 1e-8):
            counts, end = integrate(problem, method, tolerance, eps, step)
            assert counts[3] == 0
            assert counts[0] <= 1.25 * steps and counts[1] <= 1.25 * iterations
            assert np.max(np.abs(end - slow[problem])[:positions]) <= 2 * error
            all_counts.append(counts[0])
        assert np.ptp(all_counts) <= 1
