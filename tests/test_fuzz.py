"""Random mechanisms keep what holds for every motion; benchmarks, topic trust, try thousands."""

import functools

import jax
import numpy as np
from hypothesis import given, HealthCheck, settings, strategies

from benchmarks.trust._invariants import Checks, mechanisms, violations
from benchmarks.trust._random import FAMILIES


@functools.cache
def checks(number):
    return Checks(FAMILIES[number], batched=False)


@settings(
    max_examples=12, derandomize=True, deadline=None, database=None,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
@given(
    number=strategies.sampled_from([1, 7]),
    seed=strategies.integers(0, 2**32 - 1),
)
def test_invariants_of_random_mechanisms(number, seed):
    mechanism = jax.tree.map(lambda x: x[0], mechanisms(FAMILIES[number], 1, seed))
    found = violations(checks(number), mechanism, seed)
    assert not found.pop("failed")
    del found["growth"]
    # NaN is a violation, too.
    over = {name: value for name, value in found.items() if not value <= 1}
    assert not over


def test_violations_are_seen():
    """An energy that is another one, and a gradient that is wrong by a thousandth."""
    several = mechanisms(FAMILIES[1], 8, 3)
    lane = int(np.flatnonzero(several[3])[0])
    mechanism = jax.tree.map(lambda x: x[lane], several)
    made = checks(1)
    energy, reverse = made.energy, made.reverse
    try:
        made.energy = lambda t, y, z, args: energy(t, y, z, args) + 1e-3 * np.sum(y)
        made.reverse = lambda *at: (0.0, jax.tree.map(lambda x: 1.001 * x, reverse(*at)[1]))
        found = violations(made, mechanism, 0)
    finally:
        made.energy, made.reverse = energy, reverse
    assert found["energy"] > 1 and found["forward and reverse"] > 1
    assert found["another method"] < 1 and found["differences"] < 1
