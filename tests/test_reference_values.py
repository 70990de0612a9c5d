"""Published and independently recomputed reference values are met to nine digits."""

import pytest

from benchmarks.problems import CASES, compare, solve


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reference_values(case):
    solution = solve(case)
    assert int(solution.stats.num_steps) == case.num_steps
    for reached in compare(case, solution):
        assert reached.y >= case.digits[0], reached
        assert reached.z >= case.digits[1], reached
        assert reached.multipliers >= case.digits[2], reached
