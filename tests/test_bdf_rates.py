"""Rates of convergence of Newton's iteration from a prediction off the slow motion."""

import numpy as np
import pytest

from benchmarks.problems import yen_petzold_spring
from benchmarks.stiff._rates import rate, shifted, SHIFTS


@pytest.mark.parametrize("x", SHIFTS)
def test_rates(x):
    """`|x / (1 + x)|` with `x = d k h^2` for CS; for CM small whatever `d`."""
    problem = shifted(x, 1e-4, 0.05)
    theory = abs(x / (1 + x))
    assert abs(rate(problem, 0.05, "cs") - theory) <= 0.03 * theory
    assert abs(rate(problem, 0.05, "cm") / 2.1e-3 - 1) <= 0.1


def test_order_of_the_rate():
    assert abs(rate(shifted(1.0, 1e-4, 0.1), 0.1, "cm") / 8.4e-3 - 1) <= 0.1


def test_large_constraint_forces():
    """What CM leaves out of its matrix is not small where the constraint force is stiff."""
    rates = [rate(yen_petzold_spring(1e-4), 1e-3, form) for form in ("cm", "cs")]
    assert np.all(np.abs(np.array(rates) - [0.49, 0.11]) <= 0.02)
