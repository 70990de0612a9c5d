"""What depends on what in a function, read off its program: never evaluated, never fatal."""

from ._pattern import (
    depends_on as depends_on,
    jacobian_pattern as jacobian_pattern,
    JacobianPattern as JacobianPattern,
)
from ._programs import inner_programs as inner_programs, taken_apart as taken_apart
