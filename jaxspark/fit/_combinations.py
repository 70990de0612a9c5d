"""Which combinations of parameters the data tell, and how well."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ._combination_words import combination_words, listed, oriented, percent
from ._covariance import check_finite, column_lengths, information
from ._findings import Combination
from ._marginal import eigen_directions, eliminated
from ._null import complement, components, sparse_basis, unscaled


@dataclass(frozen=True)
class Directions:
    """What the data tell about the parameters of a fit, in relative units.

    It is `fit.uncertainty.directions`, for a [`jaxspark.fit.Fit`][].

    - `names`: the names of the `p` parameters.
    - `combinations`: a [`jaxspark.fit.Combination`][] for each direction, the worst known first.
        Those that the data do not tell at all are a sparse basis of their space; the others are
        perpendicular to these and to each other.
    - `alone`: relative standard error of each parameter if all else were known, shape `(p,)`;
        infinite for a parameter without effect.
    - `scales`: what a relative unit of each parameter is, shape `(p,)`; NaN if not said.
    - `additive`: which of these are standard scales, not values, shape `(p,)`.
    """

    names: tuple[str, ...]
    combinations: tuple[Combination, ...]
    alone: Float[np.ndarray, " p"]
    scales: Float[np.ndarray, " p"]
    additive: Bool[np.ndarray, " p"]

    @property
    def rank(self) -> int:
        """How many combinations the data tell."""
        return sum(bool(np.isfinite(one.error)) for one in self.combinations)


def relative_jacobian(
    J: Float[np.ndarray, "n p"],
    dphysical: Float[np.ndarray, "p p"],
    scales: Float[np.ndarray, " p"],
) -> Float[np.ndarray, "n p"]:
    """Derivative of residuals by relative changes of physical values.

    **Arguments:**

    - `J`: derivative of the residuals by the unconstrained coordinates of the parameters.
    - `dphysical`: derivative of their physical values by the same coordinates.
    - `scales`: the physical values; where one may be zero, its standard scale.

    **Returns:** the derivative. Directions in which no physical value moves, as at a bound,
    count as without effect.

    **Raises:** `ValueError` for a scale that is zero or not finite.
    """
    scales = np.asarray(scales, np.float64)
    if bad := [at for at, scale in enumerate(scales) if not (np.isfinite(scale) and scale)]:
        raise ValueError(
            f"scales[{bad[0]}] = {scales[bad[0]]}: a relative change needs a scale. Give a "
            "standard scale for a parameter whose value may be zero."
        )
    relative = dphysical / scales[:, None]
    lengths = column_lengths(relative)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return (J / lengths) @ np.linalg.pinv(relative / lengths, rcond=1e-13)


def directions(
    names: Sequence[str],
    relative_jacobian: Float[np.ndarray, "n p"],
    nuisance: Float[np.ndarray, "n q"] | None = None,
    *,
    variance: float | int = 1.0,
    scales: Float[np.ndarray, " p"] | None = None,
    additive: Bool[np.ndarray, " p"] | None = None,
    rtol: float = 1e-9,
) -> Directions:
    """Eigen-directions of the information about the parameters, in relative units.

    Nuisance unknowns, such as initial states, are eliminated: the columns of the parameters are
    projected onto the complement of those of the nuisance unknowns.

    **Arguments:**

    - `names`: of the parameters.
    - `relative_jacobian`: derivative of the weighted residuals by relative changes of the
        parameters, as from [`relative_jacobian`][]. Rows of priors belong to it.
    - `nuisance`: derivative by the nuisance unknowns, in any units; default: there are none.
    - `variance`: of the weighted residuals.
    - `scales`: what a relative unit of each parameter is: its value or its standard scale; for
        words about sums. Default: not said.
    - `additive`: true for parameters that may be zero, whose relative unit is a standard scale:
        products with them mean nothing. Default: none.
    - `rtol`: as for `information`.

    **Returns:** the [`Directions`][].

    **Raises:** `ValueError` if the number of names is not that of the columns, or if entries are
    not finite.

    Source: S. Vajda, H. Rabitz, E. Walter & Y. Lecourtier, *Qualitative and quantitative
    identifiability analysis of nonlinear chemical kinetic models*.
    """
    J = np.asarray(relative_jacobian, np.float64)
    check_finite("relative_jacobian", J)
    count = J.shape[1]
    if len(names) != count:
        raise ValueError(f"there are {len(names)} names, and {count} columns.")
    scales = np.full(count, np.nan) if scales is None else np.asarray(scales, np.float64)
    additive = np.zeros(count, bool) if additive is None else additive
    lengths = column_lengths(J)
    # Relative changes are of order one.
    left = eliminated(J, lengths, nuisance, rtol)
    found = information(left, lengths, rtol, of_order_one=np.ones(count, bool))

    null = unscaled(sparse_basis(found.right_vectors[found.rank :], found.rounding), found.scale)
    errors, weights = eigen_directions(np.sqrt(variance) * found.factor, null)
    told = [
        Combination(float(error), row, combination_words(names, row, scales, additive)[0])
        for error, row in zip(errors, map(oriented, weights))
    ]
    untold = [
        Combination(np.inf, row, combination_words(names, row, scales, additive, exact=True)[0])
        for row in map(oriented, null)
    ]
    with np.errstate(divide="ignore"):
        alone = np.sqrt(variance) / lengths
    return Directions(tuple(names), (*untold, *told), alone, scales, additive)


def unidentifiable_words(found: Directions, limit: float | int = 0.5) -> tuple[str, ...]:
    """What the data do not tell, in sentences: one for each separate cause.

    Each names the parameters that the data do not tell, or only to a relative error above
    `limit`, and the combinations of these that are known instead.

    **Arguments:**

    - `found`: a [`jaxspark.fit.Directions`][], for instance `fit.uncertainty.directions`.
    - `limit`: relative standard error above which a parameter is not known.

    **Returns:** sentences such as `"mass and stiffness only through stiffness / mass"`, without
    capital letter and full stop; none if the data tell everything.
    """
    told = [one for one in found.combinations if np.isfinite(one.error)]
    null = _rows(found, [one for one in found.combinations if not np.isfinite(one.error)])
    weak = _rows(found, [one for one in told if one.error > limit])
    factor = _rows(found, told).T * np.array([one.error for one in told])
    sentences = []
    for rows, at in components(null):
        known = [_words(found, row)[0] for row in _perpendicular(null[rows], at)]
        sentences.append(_untold(found, at, known))
    # Of directions that are no symmetries, entries below a tenth are not worth a name.
    basis = sparse_basis(weak, 0.1)
    for rows, at in components(basis):
        known = [_words(found, row) for row in _perpendicular(basis[rows], at)]
        errors = [_error(stated, factor, null) for _, stated in known]
        if len(at) == 1 or max(errors, default=np.inf) > limit:
            sentences += [_badly_known(found, row, factor, limit) for row in basis[rows]]
            continue
        single = [f"{found.names[i]} (to {_amount(found, int(i), factor)})" for i in at]
        better = [f"{words} (to {percent(error)})" for (words, _), error in zip(known, errors)]
        sentences.append(f"{listed(single)} well only through {listed(better)}")
    return tuple(sentences)


def _rows(found: Directions, of: list[Combination]) -> Float[np.ndarray, "k p"]:
    return np.array([one.weights for one in of]).reshape(len(of), len(found.names))


def _words(found: Directions, row: np.ndarray) -> tuple[str, np.ndarray]:
    return combination_words(found.names, row, found.scales, found.additive)


def _perpendicular(vectors: Float[np.ndarray, "k p"], at: np.ndarray) -> Float[np.ndarray, "c p"]:
    """A sparse basis of the combinations of some parameters that do not change."""
    short = complement(vectors[:, at], 1e-9)
    basis = np.zeros((len(short), vectors.shape[1]))
    # What the last parameters are to the first ones: stiffness / mass.
    for number, row in enumerate(short):
        basis[number, at] = -oriented(-row) if _balanced(row) else oriented(row)
    return basis


def _balanced(row: np.ndarray) -> bool:
    return bool(np.sum(row > 0) == np.sum(row < 0))


def _error(weights: np.ndarray, factor: np.ndarray, null: np.ndarray) -> float:
    """Relative error of a combination; infinite if it changes along a null direction."""
    if np.abs(null @ weights).max(initial=0.0) > 1e-6 * np.linalg.norm(weights):
        return np.inf
    return float(np.linalg.norm(factor.T @ weights))


def _untold(found: Directions, at: np.ndarray, known: list[str]) -> str:
    names = listed([found.names[i] for i in at])
    if known:
        return f"{names} only through {listed(known)}"
    if np.isinf(found.alone[at[0]]):
        return f"{names} has no effect on the measurements"
    return f"{names} cannot be told from the initial states"


def _badly_known(found: Directions, row: np.ndarray, factor: np.ndarray, limit: float) -> str:
    words, stated = _words(found, oriented(row))
    at = np.flatnonzero(stated)
    if len(at) > 1:
        return f"{words} only to {percent(float(np.linalg.norm(factor.T @ stated)))}"
    amount = _amount(found, int(at[0]), factor)
    if found.alone[at[0]] > limit:
        return f"{words} has hardly any effect on the measurements: it is known to {amount} only"
    return f"{words} only to {amount}"


def _amount(found: Directions, at: int, factor: np.ndarray) -> str:
    """The relative error of a parameter; of its standard scale if it may be zero.

    Many times that scale is an error as such: a share of it would tell nothing.
    """
    error = float(np.linalg.norm(factor[at]))
    if not found.additive[at]:
        return percent(error)
    scale = found.scales[at]
    if not np.isfinite(scale):
        return f"{percent(error)} of its scale"
    if error > 2:
        return f"+- {error * scale:.2g} (typical: {scale:g})"
    return f"{percent(error)} of {scale:g}"
