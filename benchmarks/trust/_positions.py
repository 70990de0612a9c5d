"""Mechanisms that go through singular positions, and the smooth motion through them.

Each is given by its constraints and by the curve of its positions that is smooth where it meets
another: its motion is that of one angle or length along the curve.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Position(NamedTuple):
    """A singular position.

    - `g`: the constraints `g(t, y, args)` (m).
    - `curve`: the coordinates along the way (m), by a number.
    - `singular`: this number where the constraints are dependent.
    - `masses`: of each coordinate (kg).
    - `up`: the direction of weight, against it; a half of g is taken.
    - `passable`: whether the way is smooth there, with bounded accelerations.
    """

    g: Callable[..., Any]
    curve: Callable[..., Any]
    singular: float
    masses: tuple[float, ...]
    up: tuple[float, ...]
    passable: bool = True


def _slider_crank(t, y, args):
    crank, slider = y[:2], y[2]
    return jnp.stack([crank @ crank - 1, (crank[0] - slider) ** 2 + crank[1] ** 2 - 1])


def _four_bar(ground, crank, coupler, rocker):
    def g(t, y, args):
        foot, p, q = jnp.asarray([ground, 0.0]), y[:2], y[2:]
        a, b, c = p, q - p, q - foot
        return jnp.stack([a @ a - crank**2, b @ b - coupler**2, c @ c - rocker**2])

    return g


def _turned(s, feet):
    return (jnp.stack([jnp.cos(s), jnp.sin(s)])[None] + jnp.asarray(feet)).reshape(-1)


def _folded_kite(s):
    """Its axis turns half as far as its crank."""
    length = jnp.cos(s / 2) + jnp.sqrt(4 - jnp.sin(s / 2) ** 2)
    axis = jnp.stack([jnp.cos(s / 2), jnp.sin(s / 2)])
    return jnp.concatenate([jnp.stack([jnp.cos(s), jnp.sin(s)]), length * axis])


def _windows(count):
    """Four-bars of equal lengths in a row; all are flat at once."""
    feet = np.stack([np.arange(count + 1.0), np.zeros(count + 1)], 1)

    def g(t, y, args):
        tips = y.reshape(-1, 2)
        couplers = tips[1:] - tips[:-1]
        cranks = jnp.sum((tips - feet) ** 2, 1)
        return jnp.concatenate([cranks, jnp.sum(couplers**2, 1)]) - 1.0

    masses = tuple(np.repeat(1.0 + 0.2 * np.arange(count + 1), 2))
    return Position(g, lambda s: _turned(s, feet), 0.0, masses, (0.0, 1.0) * (count + 1))


def _lemniscate(s):
    below = 1 + jnp.cos(s) ** 2
    return jnp.stack([jnp.sin(s), jnp.sin(s) * jnp.cos(s)]) / below


def _viviani(t, y, args):
    return jnp.stack([y @ y - 4, (y[0] - 1) ** 2 + y[1] ** 2 - 1])


POSITIONS = {
    "slider-crank, r = l": Position(
        _slider_crank,
        lambda s: jnp.stack([jnp.cos(s), jnp.sin(s), 2 * jnp.cos(s)]),
        np.pi / 2,
        (1.0, 1.0, 0.7),
        (0.0, 1.0, 0.0),
    ),  # fmt: skip
    "parallelogram": Position(
        _four_bar(2.0, 1.0, 2.0, 1.0),
        lambda s: _turned(s, [[0.0, 0.0], [2.0, 0.0]]),
        0.0,
        (1.0, 1.0, 0.7, 0.7),
        (0.0, 1.0) * 2,
    ),  # fmt: skip
    "folded kite": Position(
        _four_bar(1.0, 1.0, 2.0, 2.0), _folded_kite, 0.0, (1.0, 1.0, 0.7, 0.7), (0.0, 1.0) * 2
    ),
    "two flat windows": _windows(2),
    "four flat windows": _windows(4),
    "two slots that cross": Position(
        lambda t, y, args: y[0] * y[1], lambda s: jnp.stack([s, 0 * s]), 0.0, (1.0, 1.0), (1.0, 0.0)
    ),
    "lemniscate": Position(
        lambda t, y, args: (y @ y) ** 2 - (y[0] ** 2 - y[1] ** 2),
        _lemniscate,
        0.0,
        (1.0, 1.0),
        (0.0, 1.0),
    ),  # fmt: skip
    "Viviani's curve": Position(
        _viviani,
        lambda s: jnp.stack([1 + jnp.cos(s), jnp.sin(s), 2 * jnp.sin(s / 2)]),
        0.0,
        (1.0,) * 3,
        (0.0, 0.0, 1.0),
    ),  # fmt: skip
    "a ring and a bar": Position(
        lambda t, y, args: jnp.stack([y[0] ** 2 + y[1] ** 2 - 1, y[2] * y[1]]),
        lambda s: jnp.stack([jnp.cos(s), jnp.sin(s), 0 * s]),
        0.0,
        (1.0,) * 3,
        (0.0, 1.0, 0.0),
    ),  # fmt: skip
    "cusp": Position(
        lambda t, y, args: y[1] ** 2 - y[0] ** 3,
        lambda s: jnp.stack([s**2, s**3]),
        0.0,
        (1.0, 1.0),
        (1.0, 0.0),
        False,
    ),  # fmt: skip
}


def starts(position: Position, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Numbers along the way and their rates (1/s), towards the singular position."""
    rng = np.random.default_rng(seed)
    side = rng.choice([-1.0, 1.0], count)
    return position.singular - side * rng.uniform(0.2, 0.6, count), side * rng.uniform(1, 2, count)


def state(position: Position, s: float, rate: float) -> tuple[Any, Any]:
    """Coordinates and velocities."""
    return jax.jvp(position.curve, (jnp.asarray(s),), (jnp.asarray(rate),))


def acceleration(position: Position) -> Callable[[Any, Any], Any]:
    """Of the number along the way, by Lagrange's equation; a compiled function."""
    masses, up = jnp.asarray(position.masses), jnp.asarray(position.up)

    def lagrangian(s, rate):
        y, v = jax.jvp(position.curve, (s,), (rate,))
        return 0.5 * jnp.sum(masses * v * v) - 0.5 * jnp.sum(masses * up * y)

    momentum = jax.grad(lagrangian, 1)

    def of(s, rate):
        transport = jax.jvp(lambda s: momentum(s, rate), (s,), (rate,))[1]
        return (jax.grad(lagrangian)(s, rate) - transport) / jax.grad(momentum, 1)(s, rate)

    return jax.jit(of)
