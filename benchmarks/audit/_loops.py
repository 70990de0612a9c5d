"""Closed loops: four-bars, slider-cranks, some of them past a nearly singular position."""

from functools import partial

import jax.numpy as jnp
import numpy as np

import jaxspark

from .. import problems
from ._mechanism import diagonal, from_problem, half_square, Mechanism, plane_weight


LOOP = ("holonomic", "closed loop")


def _rods(t, q, args, *, pivots: np.ndarray, rods: tuple[tuple[int, int], ...], lengths):
    """`(d^2 - l^2) / 2` of each rod; `rods` are pairs of points, -1 - i stands for pivot i."""
    points = jnp.concatenate([q.reshape(-1, 2), jnp.asarray(pivots[::-1], q.dtype)])
    ends = [points[a] - points[b] for a, b in rods]
    return jnp.stack([half_square(d) - 0.5 * l**2 for d, l in zip(ends, lengths)])


def _linkage(masses, pivots, rods, lengths) -> jaxspark.MechanicalSystem:
    """Points (kg) with rods between them and pivots, under gravity."""
    closed = partial(_rods, pivots=np.array(pivots), rods=rods, lengths=lengths)
    twice = [m for m in masses for _ in "xy"]
    return jaxspark.MechanicalSystem(diagonal(*twice), plane_weight(*masses), closed)


def four_bar_near_singular() -> Mechanism:
    """A crank-rocker that turns through positions where its rods are nearly in one line.

    Shortest and longest rod are by 0.02 shorter together than the others: with 0 it could fold.
    """
    system = _linkage(
        (1.0, 0.7), ((0.0, 0.0), (1.0, 0.0)), ((0, -1), (1, 0), (1, -2)), (0.4, 0.82, 0.6)
    )

    def guess(rng):
        angle = rng.uniform(1, 2)
        joint = 0.4 * np.array([np.cos(angle), np.sin(angle)])
        turn = rng.uniform(10, 15) * np.array([joint[1], -joint[0]])
        return [*joint, 0.9, 0.6], [*turn, *turn], {}

    return Mechanism("four_bar_near_singular", (*LOOP, "near singular"), system, guess, 0.5)


def five_bar() -> Mechanism:
    """Three joints between two pivots; it moves in two ways."""
    system = _linkage(
        (1.0, 0.7, 0.5), ((0.0, 0.0), (1.5, 0.0)),
        ((0, -1), (1, 0), (2, 1), (2, -2)), (0.6, 0.8, 0.8, 0.6),
    )  # fmt: skip

    def guess(rng):
        y = np.array([0.0, 0.6, 0.75, 0.9, 1.5, 0.6]) + 0.1 * rng.standard_normal(6)
        return y, rng.standard_normal(6), {}

    return Mechanism("five_bar", LOOP, system, guess, 1.0)


def hanging_loop() -> Mechanism:
    """A chain of four points between two pivots, near its equilibrium."""
    rods = ((0, -1), (1, 0), (2, 1), (3, 2), (3, -2))
    system = _linkage(
        (1.0, 0.7, 0.5, 0.8), ((0.0, 0.0), (1.5, 0.0)), rods, (0.5, 0.5, 0.5, 0.5, 0.5)
    )

    def guess(rng):
        y = np.array([0.2, -0.5, 0.6, -0.7, 1.0, -0.7, 1.3, -0.5]) + 0.05 * rng.standard_normal(8)
        return y, 0.5 * rng.standard_normal(8), {}

    return Mechanism("hanging_loop", LOOP, system, guess, 1.5)


def n_four_bar() -> Mechanism:
    """Two four-bars of unit rods in a row, from the vertical.

    Source: M. Gonzalez, F. Gonzalez, A. Luaces & J. Cuadrado, *A collaborative benchmarking
    framework for multibody system dynamics*, Engineering with Computers 26 (2010), problem A02,
    with points in place of rods.
    """
    rods = ((0, -1), (1, -2), (2, -3), (1, 0), (2, 1))
    system = _linkage((1.0,) * 3, ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0)), rods, (1.0,) * 5)

    def guess(rng):
        return [0, 1, 1, 1, 2, 1], [rng.uniform(0.8, 1.5), 0] * 3, {}

    return Mechanism("n_four_bar", LOOP, system, guess, 0.6)


def _slider_crank(name: str, rod: float, kinds: tuple[str, ...], t1: float) -> Mechanism:
    """Crank pin and slider, `y = (px, py, s)`, the crank of length 0.5, driven by its own speed."""

    def closed(t, q, args):
        crank = half_square(q[:2]) - 0.125
        return jnp.stack([crank, half_square(q[:2] - jnp.array([1.0, 0.0]) * q[2]) - 0.5 * rod**2])

    def weight(t, q, v, args):
        return jnp.array([0.0, -9.81, 0.0], q.dtype)

    def guess(rng):
        angle = rng.uniform(-1, 1)
        pin = 0.5 * np.array([np.cos(angle), np.sin(angle)])
        speed = rng.uniform(10, 14) * np.array([-pin[1], pin[0]])
        return [*pin, pin[0] + np.sqrt(rod**2 - pin[1] ** 2)], [*speed, 0], {}

    system = jaxspark.MechanicalSystem(diagonal(1, 1, 0.5), weight, closed)
    return Mechanism(name, (*LOOP, *kinds), system, guess, t1)


def _torqued(rng) -> dict:
    return {**problems.andrews().args, "mom": rng.uniform(0.03, 0.036)}


def andrews() -> Mechanism:
    """Andrews' squeezing mechanism, from rest, by a torque that is drawn."""
    problem = problems.andrews()

    def guess(rng):
        return problem.y0, problem.z0, _torqued(rng)

    return Mechanism("andrews", (*LOOP, "from rest"), problem.system, guess, 0.015)


MECHANISMS = (
    from_problem(problems.four_bar(), LOOP, 1.5, coordinates=0.05, velocities=1.0),
    four_bar_near_singular(),
    _slider_crank("slider_crank", 1.2, (), 1.0),
    _slider_crank("slider_crank_near_singular", 0.51, ("near singular",), 0.5),
    from_problem(problems.spatial_four_bar(), LOOP, 1.5, coordinates=0.03, velocities=1.0),
    n_four_bar(), five_bar(), hanging_loop(), andrews(),
)  # fmt: skip
