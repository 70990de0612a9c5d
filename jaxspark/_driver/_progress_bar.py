"""The progress of a motion, as a bar in the terminal or the notebook."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from tqdm.auto import tqdm

from .._custom_types import FloatScalar, IntScalar


# A bar is shown of what takes longer (s); a callback is made in one of so many steps.
DELAY, EVERY = 2.0, 32


class Shown(NamedTuple):
    """What the loop carries of a bar: its number, the steps it has seen, the fraction done."""

    number: IntScalar
    count: IntScalar
    fraction: FloatScalar


class ProgressBar:
    """A bar of tqdm, which appears after two seconds.

    Lanes that go on together have one bar, that of the first to come to an end; those that run one
    after another, as batches do on a CPU, have one each. Bars are known by number: one compiled
    program may run several times at once.
    """

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return hash(type(self))

    def init(self) -> Shown:
        """A number for the bar."""
        number = jax.pure_callback(_number, jax.ShapeDtypeStruct((), jnp.int32))
        return Shown(number, jnp.zeros((), jnp.int32), jnp.zeros(()))

    def step(self, state: Shown, fraction: FloatScalar) -> Shown:
        """Show the fraction that is done, after every 32nd step."""
        jax.lax.cond(
            state.count % EVERY == 0,
            lambda: jax.debug.callback(_move, state.number, fraction),
            lambda: None,
        )
        return Shown(state.number, state.count + 1, fraction.astype(state.fraction.dtype))

    def close(self, state: Shown) -> None:
        """Close the bar where the motion ended."""
        # Callbacks are made as their operands are known: the fraction makes this the last.
        jax.debug.callback(_end, state.number, state.fraction)


_bars: dict[int, tqdm] = {}
_numbers = itertools.count()


def _number() -> np.int32:
    return np.int32(next(_numbers) % 2**31)


def _move(number: IntScalar, fraction: FloatScalar) -> None:
    if int(number) not in _bars:
        form = "{l_bar}{bar}| {elapsed}<{remaining}"
        _bars[int(number)] = tqdm(total=1.0, desc="solve", delay=DELAY, bar_format=form)
    bar = _bars[int(number)]
    # Callbacks need not come in order.
    if float(fraction) > bar.n:
        bar.update(min(float(fraction), 1.0) - bar.n)


def _end(number: IntScalar, fraction: FloatScalar) -> None:
    _move(number, fraction)
    _bars.pop(int(number)).close()
