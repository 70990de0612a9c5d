"""Published and independently recomputed reference values are met to nine digits."""

import pytest

from benchmarks.dalembert._references import CASES as LOBATTO_CASES
from benchmarks.problems import CASES, compare, solve


ALL = [*CASES, *LOBATTO_CASES]


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.name}-{case.method}")
def test_reference_values(case):
    solution = solve(case)
    assert int(solution.stats.num_steps) == case.num_steps
    for reached in compare(case, solution):
        assert reached.y >= case.digits[0], reached
        assert reached.z >= case.digits[1], reached
        assert reached.multipliers >= case.digits[2], reached
