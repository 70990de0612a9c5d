"""Constraints on velocities that follow from those on coordinates."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ._equations import along, jacobian
from ._symbols import Symbols
from ._sympy import sympy


# Of configurations that are looked at, and searches for one of them.
_POINTS, _SEARCHES, _ITERATIONS = 3, 30, 40
_TOLERANCE = 1e-8


def not_implied(symbols: Symbols, v: Any, g: Any, k: Any, values: Mapping[str, Any]) -> Any:
    """The rows of `k` that are no combination of `d/dt g` and of other rows.

    Rows are compared as numbers, in configurations that satisfy `g` with the values of parameters
    at hand: what a user simplified with the constraints is equal nowhere else.

    **Arguments:**

    - `symbols`: of the expressions.
    - `v`: the derivatives of the coordinates.
    - `g`, `k`: constraints, `k` affine in the velocities.
    - `values`: of parameters.
    """
    if not len(g) or not len(k):
        return k
    sp = sympy()
    given = [symbols.t, *symbols.y, *symbols.parameters.values()]
    still = dict.fromkeys(symbols.z, 0)

    def affine(rows: Any) -> Any:
        return jacobian(rows, symbols.z).row_join(rows.xreplace(still))

    rates = affine(along(g, symbols, v)).col_join(affine(k))
    of = lambda x: sp.lambdify(given, x, modules=["scipy", "numpy"], cse=True)
    numbers = [np.asarray(values[name], float) for name in symbols.parameters]
    g_of, G_of, rows_of = of(g), of(jacobian(g, symbols.y)), of(rates)
    points = list(_configurations(g_of, G_of, len(symbols.y), numbers))
    if not points:
        return k
    at = [np.asarray(rows_of(t, *y, *numbers), float) for t, y in points]
    kept: list[int] = []
    for row in range(len(k)):
        base = [*range(len(g)), *(len(g) + other for other in kept)]
        if not all(_in_span(rows[len(g) + row], rows[base]) for rows in at):
            kept.append(row)
    return sp.Matrix(len(kept), 1, [k[row] for row in kept])


def _in_span(row: np.ndarray, rows: np.ndarray) -> bool:
    left = row - rows.T @ np.linalg.lstsq(rows.T, row, rcond=None)[0]
    return bool(np.linalg.norm(left) <= _TOLERANCE * np.linalg.norm(row))


def _configurations(
    g: Any, G: Any, count: int, numbers: list[np.ndarray]
) -> Iterator[tuple[float, np.ndarray]]:
    """Times and coordinates on `g = 0`, found by Newton's iteration from random ones.

    Where none is found, as with values for which loops cannot close, it is the last ones tried.
    """
    random, found, last = np.random.default_rng(0), 0, None
    for _ in range(_SEARCHES):
        t, y = float(random.normal()), random.normal(size=count)
        with np.errstate(all="ignore"):
            for _ in range(_ITERATIONS):
                wrong = np.asarray(g(t, *y, *numbers), float).reshape(-1)
                slopes = np.asarray(G(t, *y, *numbers), float)
                if not (np.all(np.isfinite(wrong)) and np.all(np.isfinite(slopes))):
                    break
                last = (t, y)
                step = np.linalg.pinv(slopes) @ wrong
                y = y - step
                if np.linalg.norm(step) <= 1e-13 * (1 + np.linalg.norm(y)):
                    found += 1
                    yield t, y
                    break
        if found == _POINTS:
            return
    if not found and last is not None:
        yield last
