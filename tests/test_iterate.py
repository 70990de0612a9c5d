"""The loop of Newton iterations, and the branch that costs nothing where it is not taken."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark import RESULTS
from jaxspark._implicit import iterate, lazily, newton_result


LIMIT = 20


def root_of(square, start, idle=False):
    """The square root by Newton's method."""

    def update(at):
        change = (at.x**2 - square) / (2 * at.x)
        return at.x - change, jnp.abs(change)

    def verdict(at):
        return at.size <= 1e-12, ~(at.size < jnp.inf) | (at.size > 2 * at.previous)

    return iterate(update, verdict, jnp.asarray(start), jnp.zeros(()), LIMIT, idle)


def code(end):
    return newton_result(end.converged, end.nonfinite_at_once, end.count >= LIMIT)


def test_it_converges_and_keeps_the_last_sizes():
    end = root_of(2.0, 1.0)
    assert bool(end.converged) and not bool(end.failed)
    assert abs(float(end.x) - 2**0.5) <= 1e-15
    sizes = []
    x = 1.0
    for _ in range(int(end.count)):
        change = (x**2 - 2) / (2 * x)
        x, sizes = x - change, [abs(change), *sizes]
    np.testing.assert_allclose([end.size, end.previous, end.before], sizes[:3], atol=1e-15)


@pytest.mark.parametrize(
    "square, start, result",
    [
        (2.0, 1.0, RESULTS.successful),
        (np.nan, 1.0, RESULTS.nonfinite),
        # The second update is twice as large as the first.
        (-1.0, 0.8, RESULTS.newton_diverged),
        (0.0, 1.0, RESULTS.newton_iteration_limit),
    ],
)
def test_how_it_ends(square, start, result):
    assert bool(code(root_of(square, start)) == result)


def test_lanes_that_have_ended_stay():
    squares = jnp.array([2.0, np.nan, 9.0, 4.0])
    idle = jnp.array([False, False, False, True])
    together = jax.vmap(lambda s, i: root_of(s, 1.0, i))(squares, idle)
    for i, square in enumerate(squares):
        alone = root_of(square, 1.0, idle[i])
        assert int(alone.count) == int(together.count[i])
        np.testing.assert_array_equal(alone.x, together.x[i])
    assert int(together.count[3]) == 0 and float(together.x[3]) == 1.0


def test_a_singular_matrix_is_the_reason():
    yes, no = jnp.asarray(True), jnp.asarray(False)
    assert bool(newton_result(yes, no, no, no) == RESULTS.singular)
    assert bool(newton_result(no, yes, yes, no) == RESULTS.singular)


def test_lazily():
    """Only where it is wanted; nothing is computed if no lane wants it."""
    calls = []

    def expensive(x):
        jax.debug.callback(lambda: calls.append(None))
        return 2 * x

    run = jax.jit(jax.vmap(lambda wanted, x: lazily(wanted, expensive, x, -x)))
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(run(jnp.zeros(3, bool), x), -x)
    jax.effects_barrier()
    assert not calls
    np.testing.assert_array_equal(run(jnp.array([True, False, True]), x), [0.0, -1.0, 4.0])
    jax.effects_barrier()
    assert calls
