"""Arrays as lists of numbers, some of them known, and their arithmetic.

Called for every number: where annotations are checked as programs run, these are not.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, no_type_check, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array


# A number that is known, or an array with an entry for each lane of a batch.
Scalar: TypeAlias = np.generic | Array


@no_type_check
class Scalars(NamedTuple):
    """An array, number by number.

    - `shape`: without lanes.
    - `items`: in row-major order.
    - `table`: an array, and a column of it: what a loop has put together, its first axis along
        the trips, and where this array begins in it.
    """

    shape: tuple[int, ...]
    items: Sequence[Scalar]
    table: tuple[Array, int] | None = None

    @property
    def known(self) -> np.ndarray | None:
        """The values, if they are known."""
        if not all(isinstance(item, np.generic) for item in self.items):
            return None
        return np.array(self.items).reshape(self.shape)

    @property
    def positions(self) -> np.ndarray:
        """The place of each entry in `items`."""
        return np.arange(len(self.items)).reshape(self.shape)

    def at(self, positions: np.ndarray) -> "Scalars":
        """The array of the entries at these places."""
        return Scalars(positions.shape, [self.items[i] for i in positions.ravel()])

    def broadcast(self, shape: tuple[int, ...]) -> "Scalars":
        """As NumPy does it."""
        return self if self.shape == shape else self.at(np.broadcast_to(self.positions, shape))


class TooLarge(Exception):
    """A computation of too many numbers to be written out."""


@no_type_check
class Arithmetic:
    """Arithmetic that leaves out what is known: zeros and ones cost nothing.

    A product with a known zero is zero, though the other factor might not be finite.

    **Arguments:**

    - `limit`: how many operations may be written.

    **Raises:** `TooLarge`, beyond the limit.
    """

    def __init__(self, limit: int):
        self._left = limit
        self._done: dict[Any, tuple[Array, Any]] = {}

    def apply(self, function: Callable[..., Array], *operands: Scalar, key: Any = None) -> Array:
        """An elementwise function of numbers not all of which are known.

        What was computed before is not computed again.

        **Arguments:**

        - `key`: what tells the function from others; by default itself.
        """
        known = [isinstance(x, np.generic) for x in operands]
        if all(known):
            # Kept, it would be found by programs in which it was not computed.
            return function(*aligned(operands))
        parts = (x.tobytes() if k else id(x) for x, k in zip(operands, known, strict=True))
        index = (function if key is None else key, *parts)
        if index not in self._done:
            self._left -= 1
            if self._left < 0:
                raise TooLarge
            # The operands are kept, so that none takes the identity of another.
            self._done[index] = function(*aligned(operands)), operands
        return self._done[index][0]

    def _binary(self, known: Callable, function: Callable, a: Scalar, b: Scalar) -> Scalar:
        if isinstance(a, np.generic) and isinstance(b, np.generic):
            with np.errstate(all="ignore"):
                return known(a, b)
        return self.apply(function, a, b)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        if is_known(a, 0):
            return b
        if is_known(b, 0):
            return a
        return self._binary(np.add, jax.lax.add, a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        if is_known(b, 0):
            return a
        if is_known(a, 0):
            return self.neg(b)
        return self._binary(np.subtract, jax.lax.sub, a, b)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        for one, other in ((a, b), (b, a)):
            if is_known(one, 0) or is_known(other, 1):
                return one
            if is_known(one, -1):
                return self.neg(other)
        return self._binary(np.multiply, jax.lax.mul, a, b)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        if is_known(b, 1) or (is_known(a, 0) and not is_known(b, 0)):
            return a
        return self._binary(np.divide, jax.lax.div, a, b)

    def neg(self, a: Scalar) -> Scalar:
        return np.negative(a) if isinstance(a, np.generic) else self.apply(jax.lax.neg, a)

    def power(self, a: Scalar, exponent: int) -> Scalar:
        if exponent == 2:
            return self.mul(a, a)
        if isinstance(a, np.generic):
            return np.power(a, exponent)
        return self.apply(lambda x: jax.lax.integer_pow(x, exponent), a, key=("power", exponent))

    def select(self, which: Scalar, *cases: Scalar) -> Scalar:
        if isinstance(which, np.generic):
            return cases[int(which)]
        if all(case is cases[0] for case in cases):
            return cases[0]
        return self.apply(jax.lax.select_n, which, *cases)

    def total(self, items: Iterable[Scalar], dtype: np.dtype) -> Scalar:
        """The sum, from the first to the last."""
        result: Scalar = as_number(0, dtype)
        for item in items:
            result = self.add(result, item)
        return result


@no_type_check
def as_number(value: Any, dtype: np.dtype) -> np.generic:
    """A number that is known, of this type."""
    return np.asarray(value).astype(dtype).reshape(1)[0]


@no_type_check
def is_known(a: Scalar, value: int) -> bool:
    """Whether it is known to have this value."""
    return isinstance(a, np.generic) and bool(a == value)


@no_type_check
def aligned(operands: Sequence[Scalar]) -> list[Array]:
    """The same as arrays of one shape."""
    arrays = [jnp.asarray(x) for x in operands]
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    return [x if x.shape == shape else jnp.broadcast_to(x, shape) for x in arrays]
