"""The error estimate of DOP853: of order 8 for smooth motions, not blind to jumps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

import jaxspark
from helpers import order


OF_SCIPY = scipy.integrate.DOP853


def one_step(field, y0, h, args=None):
    """The end of a step from time 0, its estimate, and the derivatives of its stages."""
    method = jaxspark.DOP853()
    K = jnp.zeros((method.stages, y0.size))
    for i, (row, c) in enumerate(zip(method.A, method.c, strict=True)):
        K = K.at[i].set(field(c * h, y0 + h * row @ K, args))
    y1 = y0 + h * method.b @ K
    return y1, method.estimate(h, y0, y1, K), K


def test_coefficients():
    """Those of SciPy."""
    method = jaxspark.DOP853()
    np.testing.assert_array_equal(method.A, np.asarray(OF_SCIPY.A)[:12, :12])
    np.testing.assert_array_equal(method.b, OF_SCIPY.B)
    np.testing.assert_allclose(method.c, np.asarray(OF_SCIPY.C)[:12], rtol=0, atol=1e-15)


def forced_pendulum(t, y, args):
    del args
    return jnp.array([y[1], -jnp.sin(y[0]) + jnp.cos(3 * t)])


@pytest.mark.parametrize("h", [0.3, 0.6])
def test_quotient_of_both_estimates(h):
    """Hairer's for smooth motions, three times: by SciPy's coefficients."""
    y0 = jnp.array([0.4, 2.0])
    y1, error, k = one_step(forced_pendulum, y0, h)
    unit = 1 + np.maximum(np.abs(y0), np.abs(y1))
    fifth, third = (h * np.asarray(x)[:12] @ np.asarray(k) for x in (OF_SCIPY.E5, OF_SCIPY.E3))
    sizes = np.linalg.norm(fifth / unit), np.linalg.norm(third / unit)
    share = sizes[0] / np.sqrt(sizes[0] ** 2 + 0.01 * sizes[1] ** 2)
    expected = 3 * fifth * share * min(9, 1 + 45 * share**3)
    np.testing.assert_allclose(error, expected, rtol=1e-6)


def test_order():
    hs = np.array([0.4, 0.3, 0.2])
    errors = [np.max(np.abs(one_step(forced_pendulum, jnp.array([0.4, 2.0]), h)[1])) for h in hs]
    assert abs(order(hs, errors) - 8) <= 0.5


def test_no_jump_passes():
    """A force that jumps anywhere inside the step: the estimate is as large as the error."""

    @jax.jit
    def both(at):
        def field(t, y, at):
            return jnp.where(t > at, 1.0, 0.0) * jnp.ones_like(y)

        y1, error, _ = one_step(field, jnp.zeros(1), 1.0, at)
        return jnp.abs(y1[0] - (1 - at)), jnp.abs(error[0])

    places = jnp.linspace(0.004, 0.996, 200)
    true, estimated = jax.vmap(both)(places)
    assert np.all(np.asarray(estimated) >= 0.95 * np.asarray(true))


def test_a_lane_that_overflows_is_told():
    """The estimate stays infinite or NaN, and the step is rejected."""
    _, error, _ = one_step(lambda t, y, args: y**2 * 1e300, jnp.ones(1), 1.0)
    assert not np.isfinite(error[0])
