"""Polynomials of parameters that stay the same where the data do not tell a change."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int


# Highest degree of a term, and highest power of one parameter in it.
DEGREE, POWER = 3, 2
# Relative residual below which a term follows from others, and of coefficients that are whole.
FOLLOWS, WHOLE = 1e-5, 1e-3


# Terms of one that has a short formula, and the smallest singular value of independent slopes.
MOST_TERMS, INDEPENDENT = 6, 1e-5


class Invariant(NamedTuple):
    """A sum of terms: coefficients, and the powers of each parameter in each term."""

    coefficients: Float[np.ndarray, " terms"]
    powers: Int[np.ndarray, "terms q"]

    def value(self, x: Float[np.ndarray, " q"]) -> float:
        """At given parameters."""
        return float(self.coefficients @ np.prod(x[None, :] ** self.powers, 1))

    def slope(self, x: Float[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
        """The derivative by the parameters."""
        return self.coefficients @ slopes(self.powers, x)

    def words(self, names: Sequence[str]) -> str:
        """For instance `I1 + m1 a1^2`."""
        parts = []
        for coefficient, powers in zip(self.coefficients, self.powers, strict=True):
            factors = [
                name if power == 1 else f"{name}^{power}"
                for name, power in zip(names, powers, strict=True)
                if power
            ]
            size = abs(coefficient)
            number = "" if abs(size - 1) < WHOLE else f"{size:.6g} "
            parts.append(("-" if coefficient < 0 else "+", number + " ".join(factors)))
        (sign, first), *rest = parts
        head = first if sign == "+" else f"-{first}"
        return " ".join([head, *(f"{sign} {term}" for sign, term in rest)])


def slopes(powers: Int[np.ndarray, "n q"], x: Float[np.ndarray, " q"]) -> Float[np.ndarray, "n q"]:
    """Derivatives of terms by the parameters."""
    values = np.prod(x[None, :] ** powers, 1)
    return values[:, None] * powers / x[None, :]


def terms(count: int, moving: Sequence[int]) -> Int[np.ndarray, "n q"]:
    """All terms in which some of `moving` occurs, the simplest first.

    By degree, and by how many parameters occur: a mass times a square before a product of three.
    """
    found = []
    for degree in range(1, DEGREE + 1):
        for chosen in itertools.combinations_with_replacement(range(count), degree):
            powers = np.bincount(chosen, minlength=count)
            if powers.max() <= POWER and powers[list(moving)].any():
                found.append(powers)
    order = lambda powers: (powers.sum(), np.count_nonzero(powers))
    return np.array(sorted(found, key=order))


def invariants(
    powers: Int[np.ndarray, "n q"],
    points: Sequence[Float[np.ndarray, " q"]],
    nulls: Sequence[Float[np.ndarray, "k q"]],
    scales: Float[np.ndarray, "s q"],
    wanted: int,
    known: Float[np.ndarray, "m q"],
) -> list[Invariant]:
    """Independent sums of few terms that do not change along null directions, the simplest first.

    A term whose derivative along all null directions at all points is a combination of those of
    simpler terms of the same dimension makes an invariant with these. Products of invariants are
    none of interest: each must be independent of those before, at the first point.

    **Arguments:**

    - `points`: values of the parameters; `nulls`: at each, directions that the data do not tell.
    - `scales`: powers of the parameters in changes of scale: what terms share as a dimension.
    - `wanted`: how many; `known`: slopes, at the first point, of what is known to be told.
    """
    columns = np.concatenate([null @ slopes(powers, x).T for x, null in zip(points, nulls)])
    sizes = np.mean([_size(powers, x) for x in points], 0)
    columns = columns / sizes[None, :]
    found, base = [], known / np.maximum(np.linalg.norm(known, axis=1, keepdims=True), 1e-300)
    dimensions = [tuple(np.round(row, 6)) for row in powers @ scales.T]
    independent: dict[tuple[float, ...], list[int]] = {}
    least = FOLLOWS * _typical(columns)
    for k, dimension in enumerate(dimensions):
        if len(found) == wanted:
            break
        before = independent.setdefault(dimension, [])
        weights = np.zeros(0)
        if before:
            weights = np.linalg.lstsq(columns[:, before], columns[:, k], rcond=None)[0]
        if np.linalg.norm(columns[:, k] - columns[:, before] @ weights) > least:
            before.append(k)
            continue
        one = _invariant(powers, sizes, k, before, weights)
        slope = one.slope(points[0]) * points[0]
        more = np.concatenate([base, slope[None, :] / np.linalg.norm(slope)])
        if len(more) > more.shape[1]:
            continue
        if (
            np.linalg.svd(more, compute_uv=False)[-1] > INDEPENDENT
            and len(one.powers) <= MOST_TERMS
        ):
            base = more
            found.append(one)
    return found


def _typical(columns: np.ndarray) -> float:
    lengths = np.linalg.norm(columns, axis=0)
    return float(np.median(lengths[lengths > 1e-9 * lengths.max(initial=0)]))


def _size(powers: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.prod(np.abs(x)[None, :] ** powers, 1)


def _invariant(powers, sizes, k, independent, weights) -> Invariant:
    factors = -weights * sizes[k] / sizes[independent] if len(independent) else weights
    large = np.abs(weights) > 1e-4
    coefficients = np.concatenate([factors[large], [1.0]])
    at = [*np.array(independent, int)[large], k]
    near = np.round(coefficients)
    whole = (np.abs(coefficients - near) < WHOLE) & (near != 0)
    coefficients = np.where(whole, near, coefficients)
    if coefficients[0] < 0:
        coefficients = -coefficients
    return Invariant(coefficients, powers[at])
