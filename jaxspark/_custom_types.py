"""Names for the array types that occur throughout.

Shapes are written with the letters of L. O. Jay's papers: `ny` coordinates, `nz`
velocities, `nlam` holonomic and `npsi` nonholonomic multipliers, `s` stages, `s1 = s + 1`.
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from jaxtyping import Array, ArrayLike, Bool, Float, Int, PyTree, Real


RealScalarLike: TypeAlias = Real[ArrayLike, ""]
FloatScalar: TypeAlias = Float[Array, ""]
IntScalar: TypeAlias = Int[Array, ""]
BoolScalar: TypeAlias = Bool[Array, ""]
State: TypeAlias = PyTree[Any]
Args: TypeAlias = PyTree[Any]
Function: TypeAlias = Callable[..., Any]
