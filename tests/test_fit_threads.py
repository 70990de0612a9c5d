"""Trials that the cores of a CPU share."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxspark.fit import _threads


def squares(count, first, x, add):
    """Of some lanes, in a tree."""
    part = lax.dynamic_slice_in_dim(x, first, count)
    return {
        "squares": part**2 + add,
        "first": (jnp.full(count, first), part[:, None] * jnp.ones((1, 2), x.dtype)),
    }


@pytest.mark.parametrize("parts", [1, 2, 32])
@pytest.mark.parametrize("cores", [1, 2, 3, 16])
@pytest.mark.parametrize("lanes", [1, 2, 7, 10, 33])
def test_every_lane_is_done_once_and_in_order(monkeypatch, lanes, cores, parts):
    monkeypatch.setattr(_threads, "PARTS", parts)
    x = jnp.arange(1.0, lanes + 1)
    found = _threads.shared_by_cores(squares, lanes, cores, x, 3)
    np.testing.assert_array_equal(found["squares"], np.arange(1.0, lanes + 1) ** 2 + 3)
    assert found["first"][0].shape == (lanes,) and found["first"][1].shape[0] == lanes
    assert len(np.unique(found["first"][0])) <= parts * cores


def test_programs_are_those_of_their_arguments():
    """Other shapes, precisions, functions and constants are other programs; the same is kept."""
    count = lambda: len(_threads._programs)
    x = jnp.arange(4.0)
    for other, add in ((x, 11), (x, 12), (x[:3], 11), (x.astype(jnp.float32), 11)):
        found = _threads.shared_by_cores(squares, other.size, 2, other, add)
        np.testing.assert_array_equal(found["squares"], np.asarray(other) ** 2 + add)
        assert found["squares"].dtype == other.dtype
    before = count()
    _threads.shared_by_cores(squares, 4, 2, x + 1, 12)
    assert count() == before <= _threads.KEPT
    for add in range(100, 100 + 2 * _threads.KEPT):
        _threads.shared_by_cores(squares, 4, 2, x, add)
    assert count() == _threads.KEPT


def test_an_error_of_a_thread_is_raised():
    def fails(count, first, x):
        return eqx.error_if(lax.dynamic_slice_in_dim(x, first, count), first > 1, "third lane")

    with pytest.raises(Exception, match="third lane"):
        _threads.shared_by_cores(fails, 4, 2, jnp.arange(4.0))


@pytest.mark.parametrize("double", [False, True])
def test_threads_have_the_precision_of_their_caller(double):
    with jax.enable_x64(double):
        x = jnp.asarray(np.arange(6.0))
        found = _threads.shared_by_cores(squares, 6, 2, x, 3)["squares"]
    assert found.dtype == (np.float64 if double else np.float32)
    np.testing.assert_array_equal(found, np.arange(6.0) ** 2 + 3)
