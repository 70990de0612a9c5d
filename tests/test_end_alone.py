"""Derivatives of the end alone are those by all rows, of motions of one segment and of several."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, pendulum, PENDULUM_ARGS, pendulum_start, thorough
from jaxspark._driver._rows import SEGMENT
from jaxspark.methods import Tsit5


pytestmark = pytest.mark.inside

SPAN = 2.0


def run(args, y0, z0, t1, steps, all_rows=False, **options):
    """The end of a motion of so many steps of one size."""
    solution = jaxspark.solve(
        pendulum(), y0, z0, args, method=Tsit5(), t1=t1, rtol=1e-3, atol=1e-3,
        first_step=SPAN / steps, max_step=SPAN / steps, max_steps=3 * SEGMENT,
        save_every=1 if all_rows else None, throw=False, consistency_tol=None, **options,
    )  # fmt: skip
    return jnp.concatenate([solution.y1, solution.z1]), solution.stats.num_steps


def operands():
    y0, z0 = pendulum_start(0.5, 1.0)
    args = jax.tree.map(jnp.asarray, PENDULUM_ARGS)
    return args, jnp.asarray(y0), jnp.asarray(z0), jnp.asarray(SPAN)


@functools.cache
def compiled(mode, all_rows):
    """For any number of steps."""

    def end(steps, *operands):
        return run(*operands, steps, all_rows)[0]

    return jax.jit(mode(end, (1, 2, 3, 4)))


@pytest.mark.parametrize("steps", [15, SEGMENT - 1, SEGMENT, SEGMENT + 1, 2 * SEGMENT, 600])
def test_first_derivatives(steps):
    assert abs(int(run(*operands(), steps)[1]) - steps) <= 1
    at = (jnp.asarray(float(steps)), *operands())
    reverse = compiled(jax.jacrev, False)(*at)
    for mode, all_rows in ((jax.jacfwd, False), (jax.jacrev, True)):
        assert largest_difference(compiled(mode, all_rows)(*at), reverse) <= 1e-12


@pytest.mark.parametrize("mode", [jax.jacfwd, thorough(jax.jacrev)], ids=lambda f: f.__name__)
def test_second_derivatives(mode):
    """Of a motion of two segments, of the second of which there is not much."""

    def second(all_rows):
        def total(args):
            _, y0, z0, t1 = operands()
            return jnp.sum(jnp.sin(run(args, y0, z0, t1, SEGMENT + 2, all_rows)[0]))

        return jax.jit(mode(jax.grad(total)))(operands()[0])

    assert largest_difference(second(False), second(True)) <= 1e-10


def test_a_step_that_fails_after_a_whole_segment(monkeypatch):
    """Its start is written where the first state of the segment was."""

    def wall(t, q, v, args):
        return jnp.where(t > SPAN / 2, jnp.nan, 0.0) * q

    def end(args, all_rows):
        system = pendulum(wall)
        _, y0, z0, t1 = operands()
        found = jaxspark.solve(
            system, y0, z0, args, method=Tsit5(), t1=t1, rtol=1e-3, atol=1e-3, throw=False,
            first_step=SPAN / 2 / SEGMENT, max_step=SPAN / 2 / SEGMENT, max_steps=3 * SEGMENT,
            save_every=1 if all_rows else None,
        )  # fmt: skip
        return jnp.sum(found.y1**2 + found.z1), found.stats.num_steps

    args = jax.tree.map(jnp.asarray, PENDULUM_ARGS)
    found, accepted = jax.jit(lambda a: jax.grad(end, has_aux=True)(a, False))(args)
    assert int(accepted) >= SEGMENT
    expected, _ = jax.jit(lambda a: jax.grad(end, has_aux=True)(a, True))(args)
    assert np.all(np.isnan(jax.tree.leaves((found, expected))))
    # What is beneath: derivatives of the last good state, which a user does not get.
    monkeypatch.setattr("jaxspark._motion._solve.nan_derivatives", lambda x, failed: x)
    jax.clear_caches()
    found, _ = jax.jit(lambda a: jax.grad(end, has_aux=True)(a, False))(args)
    expected, _ = jax.jit(lambda a: jax.grad(end, has_aux=True)(a, True))(args)
    jax.clear_caches()
    assert np.all(np.isfinite(jax.tree.leaves(expected)))
    assert largest_difference(found, expected) <= 1e-12


def test_a_program_that_was_traced_before_the_switch_was_turned():
    """It has the derivative that it had."""
    args, y0, z0, t1 = operands()
    value = jax.jit(lambda args: jnp.sum(run(args, y0, z0, t1, 12.0)[0]))
    value(args)
    found = jax.grad(value)(args)
    jax.clear_caches()
    value(args)
    with jaxspark.jax_internals(False):
        plain = jax.grad(value)(args)
    jax.clear_caches()
    assert largest_difference(plain, found) <= 1e-12


def test_batches():
    """Of motions of fewer and of more steps than a segment."""
    args, y0, z0, _ = operands()
    ends = jnp.array([0.5, SPAN])

    def slope(t1, all_rows):
        value = lambda a: jnp.sum(run(a, y0, z0, t1, 400, all_rows)[0] ** 2)
        return jax.grad(value)(args)

    found = jax.jit(jax.vmap(lambda t1: slope(t1, False)))(ends)
    for i, t1 in enumerate(ends):
        one = jax.jit(lambda t1=t1: slope(t1, True))()
        assert largest_difference(jax.tree.map(lambda x: x[i], found), one) <= 1e-12


def test_little_is_kept():
    """A gradient of a batch has room for a segment of states a lane, not for all steps."""
    args, y0, z0, t1 = operands()

    def memory(max_steps):
        def value(a):
            end = jaxspark.solve(pendulum(), y0, z0, a, t1=t1, max_steps=max_steps, throw=False)
            return jnp.sum(end.y1)

        many = jax.tree.map(lambda x: jnp.broadcast_to(x, (64, *x.shape)), args)
        compiled = jax.jit(jax.vmap(jax.grad(value))).lower(many).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    # Sizes and numbers of evaluations alone: 12 bytes a step.
    assert memory(4096) - memory(2048) <= 1.5 * 64 * 2048 * 12
