"""Names of combinations of parameters: products, sums, or linear forms."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int


# Entries below this share of the largest are left out of words.
_NEGLIGIBLE = 0.1
_MOST_TERMS = 4


def oriented(weights: Float[np.ndarray, " p"]) -> Float[np.ndarray, " p"]:
    """The sign for which most weights that matter are positive; in doubt the first of them."""
    matter = weights[_matter(weights)]
    sign = np.sign(matter).sum() or np.sign(matter[0])
    # No negative zeros.
    return weights * np.sign(sign) + 0.0


def combination_words(
    names: Sequence[str],
    weights: Float[np.ndarray, " p"],
    scales: Float[np.ndarray, " p"],
    additive: Bool[np.ndarray, " p"],
    *,
    exact: bool = False,
) -> tuple[str, Float[np.ndarray, " p"]]:
    """A combination in words, such as `"mass / stiffness"`.

    **Arguments:**

    - `names`: of the parameters.
    - `weights`: of their relative changes.
    - `scales`: what a relative unit of each is, NaN if not said.
    - `additive`: which of these are standard scales, not values.
    - `exact`: whether this is a change that leaves all data as they are. Then powers must be met
        closely, no entry is left out, and sums are those of changes. Otherwise it is a
        combination that the data tell to some error.

    **Returns:** the words, and the weights for which they stand, up to a factor: with small
    weights left out, and rounded.
    """
    at = np.flatnonzero(weights) if exact else np.flatnonzero(_matter(weights))
    chosen, used = [names[int(i)] for i in at], weights[at]
    if not at.size:
        return "nothing", weights
    stated = np.zeros_like(weights)
    if at.size == 1:
        stated[at] = 1.0
        return chosen[0], stated
    tolerance = 1e-3 if exact else 0.03
    if not additive[at].any() and (powers := _integers(used, 4, tolerance)) is not None:
        stated[at] = powers
        return _product(chosen, powers), stated
    if np.isfinite(scales[at]).all():
        terms = used * scales[at] if exact else used / scales[at]
        if (factors := _integers(terms, 2, tolerance)) is not None:
            stated[at] = factors / scales[at] if exact else factors * scales[at]
            return _sum([str(abs(k)) for k in factors], np.sign(factors), chosen), stated
    stated[at] = np.round(used, 2)
    return _linear(chosen, used, additive[at], scales[at]), stated


def listed(items: Sequence[str]) -> str:
    """`"a, b and c"`."""
    return " and ".join(part for part in (", ".join(items[:-1]), items[-1]) if part)


def percent(error: float) -> str:
    """A relative error, to two digits."""
    value = 100 * error
    if not 100 <= value < 1e6:
        return f"{value:.2g} %"
    digits = int(np.floor(np.log10(value))) - 1
    return f"{round(value, -digits):.0f} %"


def _matter(weights: Float[np.ndarray, " p"]) -> Bool[np.ndarray, " p"]:
    size = np.abs(weights)
    return (size > _NEGLIGIBLE * size.max(initial=0.0)) & (size > 0)


def _integers(
    values: Float[np.ndarray, " k"], largest: int, tolerance: float
) -> Int[np.ndarray, " k"] | None:
    """Small integers that are to each other as the values, or `None`."""
    ratios = values / np.abs(values).max()
    for most in range(1, largest + 1):
        whole = np.round(most * ratios).astype(int)
        if whole.all() and np.all(np.abs(ratios - whole / most) <= tolerance):
            return whole
    return None


def _product(names: list[str], powers: Int[np.ndarray, " k"]) -> str:
    """With positive powers first; divided by the last one if that is the only division."""
    order = [*np.flatnonzero(powers > 0), *np.flatnonzero(powers < 0)]
    factors = [names[i] if powers[i] == 1 else f"{names[i]}^{powers[i]}" for i in order]
    if len(order) > 1 and sorted(powers)[0] == -1 and np.sum(powers < 0) == 1:
        return " * ".join(factors[:-1]) + f" / {names[order[-1]]}"
    return " * ".join(factors)


def _sum(sizes: Sequence[str], signs: np.ndarray, names: list[str]) -> str:
    text = ""
    for size, sign, name in zip(sizes, signs, names):
        joint = (" + " if sign > 0 else " - ") if text else ("" if sign > 0 else "-")
        text += joint + (name if size == "1" else f"{size} {name}")
    return text


def _linear(
    names: list[str],
    weights: Float[np.ndarray, " k"],
    additive: Bool[np.ndarray, " k"],
    scales: Float[np.ndarray, " k"],
) -> str:
    """Of logarithms; of the value itself where that may be zero."""
    most = np.sort(np.argsort(-np.abs(weights), kind="stable")[:_MOST_TERMS])
    plain = additive & np.isfinite(scales)
    factors = np.where(plain, weights / np.where(plain, scales, 1.0), weights)
    sizes = [f"{abs(factors[i]):.2g}" if plain[i] else f"{abs(factors[i]):.2f}" for i in most]
    terms = [names[i] if additive[i] else f"log {names[i]}" for i in most]
    rest = len(names) - len(most)
    return _sum(sizes, np.sign(factors[most]), terms) + (f" + {rest} smaller" if rest else "")
