"""Bad input of each kind is answered by its name."""

import re

import pytest

from benchmarks.trust._inputs import answered, cases


CASES = cases()


@pytest.mark.parametrize("name", CASES)
def test_answered_by_name(name):
    call, pattern = CASES[name]
    answer = answered(call)
    assert answer is not None and re.search(pattern, answer), answer
