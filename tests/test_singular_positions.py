"""Singular positions on the way: passed on the smooth way, or named."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from benchmarks.trust._positions import POSITIONS, state
from benchmarks.trust._singular import ends, METHODS, outcome, system_of


@pytest.mark.parametrize("name", ["slider-crank, r = l", "four flat windows"])
def test_passed_on_the_smooth_way(name):
    position = POSITIONS[name]
    system = system_of(position)
    found = [outcome(system, at, jaxspark.DOP853(), end) for at, end in ends(position, 5)]
    assert found == ["right"] * 5


@pytest.mark.parametrize("name", list(POSITIONS))
@pytest.mark.parametrize("method", ["DOP853", "Gauss(3)", "GGL"])
def test_right_or_named(name, method):
    position = POSITIONS[name]
    system = system_of(position)
    found = {outcome(system, at, METHODS[method], end) for at, end in ends(position, 8)}
    assert found <= {"right", "named"}


def failures(system, starts):
    """What is said of the motions that do not get through."""
    for at in starts:
        try:
            jaxspark.solve(system, *at, t1=1.0, method=jaxspark.Gauss(3), rtol=1e-7)
        except jaxspark.SolveError as error:
            yield str(error)


def test_time_rank_and_combination_are_named():
    position = POSITIONS["lemniscate"]
    at = state(position, -0.3, 1.0)
    (words,) = failures(system_of(position), [at])
    assert "rank 0 of 1" in words and "GGL(jaxspark.RadauIIA(3))" in words
    end = jaxspark.solve(
        system_of(position), *at, t1=0.31, method=jaxspark.GGL(jaxspark.RadauIIA(3)), rtol=1e-9
    )  # fmt: skip
    # Where a method that passes is then: before the crossing, and fast.
    before = float(-end.y1[0] / end.z1[0])
    named = float(words.split("near t = ")[1].split(",")[0])
    assert abs(named - (0.31 + before)) <= 1e-3


def test_combination_of_rows_is_named():
    position = POSITIONS["folded kite"]
    system = system_of(position)
    # Whether a motion meets the position or steps over it hangs on rounding.
    words = next(failures(system, [state(position, s, 1.0) for s in (-0.4, -0.3, -0.25, -0.2)]))
    assert "rank 2 of 3" in words
    # This combination of the rows of the Jacobian vanishes where all links lie in a line.
    null = np.array(words.split("combination [")[1].split("]")[0].split(), float)
    y, _ = state(position, 0.0, 1.0)
    p, q = np.asarray(y[:2]), np.asarray(y[2:])
    foot = np.array([1.0, 0.0])
    rows = 2 * np.array([[*p, 0, 0], [*(p - q), *(q - p)], [0, 0, *(q - foot)]])
    assert np.max(np.abs(null @ rows)) <= 1e-3


@pytest.mark.parametrize("saved", [None, [1000.0]])
def test_too_few_steps_are_not_called_singular(saved):
    """Of a pendulum, of a wire of which `[y0, 1]` is the Jacobian, and far from a crossing."""
    conditions = (
        lambda t, y, args: y @ y - 1.0,
        lambda t, y, args: 0.5 * y[0] ** 2 + y[1],
        lambda t, y, args: y[0] * y[1],
    )
    for g in conditions:
        system = jaxspark.MechanicalSystem(
            lambda t, y, args: jnp.eye(2), lambda t, y, z, args: jnp.zeros(2), holonomic=g
        )
        for s in np.linspace(-1, 1, 9):
            guess = (
                jnp.asarray([np.cos(s), np.sin(s)]) if g is conditions[0] else jnp.asarray([s, 0.0])
            )
            if g is conditions[2]:
                guess = jnp.asarray([-15.0 + s, 0.0])
            start = jaxspark.project(system, 0.0, guess, jnp.asarray([1.0, 0.3]))
            with pytest.raises(jaxspark.SolveError) as error:
                jaxspark.solve(
                    system, start.y, start.z, t1=1000.0, ts=saved, max_step=0.01, max_steps=10
                )
            assert "become dependent near" not in str(error.value)


@pytest.mark.parametrize("light", [0, 1])
def test_a_body_a_trillion_times_lighter_than_its_neighbour(light):
    """A four-bar linkage moves as if the light tip had no mass."""

    def bars(t, y, args):
        p, q = y[:2], y[2:]
        foot = jnp.asarray([3.0, 0.0])
        return jnp.stack([p @ p - 1.0, (q - p) @ (q - p) - 9.0, (q - foot) @ (q - foot) - 4.0])

    def weight(t, y, z, args):
        return jnp.repeat(args, 2) * jnp.asarray([0.0, -9.81] * 2)

    system = jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.diag(jnp.repeat(args, 2)), weight, holonomic=bars
    )
    y0 = jaxspark.project(system, 0.0, jnp.asarray([0.6, 0.8, 2.9, 2.0]), jnp.zeros(4), jnp.ones(2))
    blocks = jaxspark.linear.with_blocks(system)

    def end(mass, system=system, **options):
        masses = jnp.ones(2).at[light].set(mass)
        found = jaxspark.solve(system, y0.y, y0.z, masses, t1=0.5, rtol=1e-9, **options)
        return np.asarray(found.y1)

    # Of the masses the motion is a smooth function: that at 1e-6 differs by so much.
    expected = end(1e-6)
    for method in (jaxspark.DOP853(), jaxspark.Gauss(2), jaxspark.Lobatto(3)):
        np.testing.assert_allclose(end(1e-12, method=method), expected, rtol=0, atol=1e-5)
    chosen = {"linear_solver": jaxspark.linear.AcyclicNullSpace(), "method": jaxspark.Gauss(2)}
    np.testing.assert_allclose(end(1e-12, blocks, **chosen), expected, rtol=0, atol=1e-5)
