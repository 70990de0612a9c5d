"""Derivatives of adaptive solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.adaptive._transforms import end, fixed
from benchmarks.core._gradients import differences
from helpers import pendulum, PENDULUM_ARGS, pendulum_start


THETA = jnp.array([1.0, 9.81])


# So tight that two programs agree even if rounding makes one of them reject another step, and
# that step sizes are uncertain: reverse mode must take them as they were.
TIGHT = 1e-12
OPTIONS = dict(max_steps=256, method=jaxspark.Gauss(4))


def value(theta):
    return end(theta, TIGHT, **OPTIONS)[0]


@pytest.fixture(scope="module")
def exact():
    """First and second derivatives of the same by many equal steps, which are tested elsewhere."""
    gradient = jax.jit(jax.jacrev(fixed))
    return gradient(THETA), differences(gradient, THETA)


def test_forward_is_reverse_is_that_of_equal_steps(exact):
    reverse = jax.jit(jax.grad(value))(THETA)
    forward = jax.jit(jax.jacfwd(value))(THETA)
    assert np.max(np.abs(reverse - forward)) <= 1e-11
    assert np.max(np.abs(reverse - exact[0])) <= 1e-6


def test_second_derivatives(exact):
    hessian = jax.jit(jax.jacrev(jax.jacrev(value)))(THETA)
    assert np.max(np.abs(hessian - exact[1])) <= 1e-5


def test_gradients_in_a_batch():
    thetas = THETA[None, :] * jnp.array([[1.0, 1.0], [0.8, 1.1], [1.2, 0.9]])
    tolerances = TIGHT * jnp.array([1.0, 3.0, 10.0])
    gradient = jax.grad(lambda theta, tolerance: end(theta, tolerance, **OPTIONS)[0])
    batch = jax.jit(jax.vmap(gradient))(thetas, tolerances)
    single = jax.jit(gradient)
    for lane in range(3):
        assert np.max(np.abs(batch[lane] - single(thetas[lane], tolerances[lane]))) <= 1e-11


def saved(angle, t1, gravity):
    """Three rows inside the motion, and the tension in each."""
    args = {**PENDULUM_ARGS, "g": gravity}
    y0, z0 = pendulum_start(angle)
    solution = jaxspark.solve(
        pendulum(), y0, z0, args, method=jaxspark.Gauss(2), t1=t1, rtol=1e-7, max_steps=256,
        ts=t1 * jnp.array([0.3, 0.5, 0.9]), multipliers=True, throw=False,
    )  # fmt: skip
    return jnp.concatenate([jnp.sum(solution.ys, 1), solution.multipliers.lam[:, 0]])


def test_derivatives_of_saved_rows():
    """By initial values, times and parameters, against rollouts to the same times."""

    def rolled(angle, t1, gravity):
        args = {**PENDULUM_ARGS, "g": gravity}
        y0, z0 = pendulum_start(angle)
        solution = jaxspark.rollout(
            pendulum(), y0, z0, args, method=jaxspark.Gauss(4), t1=t1, num_steps=60,
            multipliers=True, throw=False,
        )  # fmt: skip
        rows = np.array([18, 30, 54])
        return jnp.concatenate([jnp.sum(solution.ys[rows], 1), solution.multipliers.lam[rows, 0]])

    at = (0.5, 1.2, 9.81)
    compiled = jax.jit(rolled)
    expected = differences(lambda x: compiled(*x), np.array(at))
    found = jax.jit(jax.jacrev(saved, (0, 1, 2)))(*at)
    for a, b in zip(found, expected.T, strict=True):
        assert np.max(np.abs(a - b)) <= 1e-4 * (1 + np.max(np.abs(b)))


def test_dense_output_is_differentiable():
    def height(gravity, t):
        args = {**PENDULUM_ARGS, "g": gravity}
        solution = jaxspark.solve(
            pendulum(), *pendulum_start(), args, method=jaxspark.Gauss(2), t1=1.0, rtol=1e-8,
            max_steps=256, dense=True, throw=False,
        )  # fmt: skip
        (y, z) = solution.evaluate(t)
        return y[1], z[1]

    gradient = jax.jit(jax.jacfwd(lambda *x: height(*x)[0], (0, 1)))(9.81, 0.7)
    step = 1e-4
    heights = jax.jit(lambda g, t: height(g, t)[0])
    difference = (heights(9.81 + step, 0.7) - heights(9.81 - step, 0.7)) / (2 * step)
    assert abs(gradient[0] - difference) <= 1e-6
    assert abs(gradient[1] - height(9.81, 0.7)[1]) <= 1e-7
