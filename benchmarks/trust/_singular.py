"""Motions through singular positions: on the smooth way, or stopped by name."""

import collections
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ._positions import acceleration, Position, POSITIONS, starts, state


METHODS = {
    "DOP853": jaxspark.DOP853(),
    "Gauss(3)": jaxspark.Gauss(3),
    "RadauIIA(2)": jaxspark.RadauIIA(2),
    "Lobatto(3)": jaxspark.Lobatto(3),
    "GGL": jaxspark.GGL(jaxspark.RadauIIA(3)),
}
STARTS, T1, TOLERANCE, ERROR = 100, 1.0, 1e-7, 1e-4


def system_of(position: Position) -> jaxspark.MechanicalSystem:
    """Its masses, weight and constraints."""
    masses, up = np.asarray(position.masses), np.asarray(position.up)
    return jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.diag(jnp.asarray(masses)),
        lambda t, y, z, args: jnp.asarray(-0.5 * masses * up),
        holonomic=position.g,
    )


def outcome(system: Any, at: Any, method: Any, expected: np.ndarray) -> str:
    """What came of a motion: "right", "named", "wrong" or "nameless"."""
    try:
        end = jaxspark.solve(system, *at, t1=T1, method=method, rtol=TOLERANCE, max_steps=20_000).y1
    except jaxspark.SolveError as error:
        return "named" if "become dependent near" in str(error) else "nameless"
    return "right" if np.max(np.abs(np.asarray(end) - expected)) <= ERROR else "wrong"


def ends(position: Position, count: int) -> Iterator[tuple[Any, np.ndarray]]:
    """Starts, and where the smooth motions from there end; NaN where there is none."""
    of = acceleration(position)
    for s, rate in zip(*starts(position, count), strict=True):
        at = state(position, s, rate)
        if not position.passable:
            yield at, np.full(at[0].shape, np.nan)
            continue
        way = solve_ivp(
            lambda t, x: [x[1], float(of(x[0], x[1]))], (0, T1), [s, rate],
            method="DOP853", rtol=1e-11, atol=1e-11,
        )  # fmt: skip
        yield at, np.asarray(position.curve(jnp.asarray(way.y[0, -1])))


def singular(tiny: bool) -> Iterator[Figure]:
    """How many of 100 motions of each mechanism, by each method, end how."""
    total: collections.Counter[str] = collections.Counter()
    passed, of = 0, 0
    names = list(POSITIONS)[:1] if tiny else list(POSITIONS)
    for name in names:
        system, motions = (
            system_of(POSITIONS[name]),
            list(ends(POSITIONS[name], 2 if tiny else STARTS)),
        )
        for label, method in list(METHODS.items())[: 1 if tiny else None]:
            found = collections.Counter(outcome(system, at, method, end) for at, end in motions)
            total += found
            if POSITIONS[name].passable and label == "GGL":
                passed, of = passed + found["right"], of + len(motions)
            yield note(f"{name}, {label}", ", ".join(f"{k} {n}" for k, n in sorted(found.items())))
    if not tiny:
        yield at_least("mechanisms with singular positions", len(names), 8, ".0f")
        yield note("motions through them, right and named", f"{total['right']}, {total['named']}")
    yield at_most(
        "singular positions, motions on another way without a word", total["wrong"], 0, ".0f"
    )
    yield at_most("singular positions, failures that do not name them", total["nameless"], 0, ".0f")
