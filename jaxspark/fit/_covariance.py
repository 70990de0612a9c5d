"""Covariance of estimates from the Jacobian of weighted residuals."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ._intervals import intervals as intervals, intervals_in as intervals_in
from ._null import rounding, sparse_basis, unscaled


# Well above the relative errors of Jacobians.
RTOL = {"float64": 1e-9, "float32": 1e-4}
# Cosines up to this are rounding errors.
SMALLEST_COSINE = 1e-6
# A direction counts as null if its singular value is below `COLLINEAR` times the largest, and its
# standard error above `BEYOND` in coordinates of order one: what integration errors tell of it.
COLLINEAR, BEYOND = 1e-5, 10.0


@dataclass(frozen=True)
class Information:
    """What the data tell about the `p` unknowns `u` of a fit, as factors.

    It is `fit.uncertainty.information`, for a [`jaxspark.fit.Fit`][]. With `J` the derivative of
    the weighted residuals by the unknowns, its columns divided by `scale`,
    `J = Q diag(singular_values) right_vectors`. The first `rank` directions are identified.

    - `singular_values`: largest first, those of null directions last; shape `(p,)`.
    - `right_vectors`: as rows, orthonormal, in scaled unknowns `scale * u`; shape `(p, p)`.
    - `scale`: lengths of the columns of `J`; shape `(p,)`.
    - `rank`: how many directions the data tell.
    - `null`: as rows, unit vectors of `u` along which the residuals do not change; shape
        `(p - rank, p)`. They are sparse: those of separate causes have separate entries.
    - `rtol`: the tolerance of singular values, relative to the largest.
    """

    singular_values: Float[np.ndarray, " p"]
    right_vectors: Float[np.ndarray, "p p"]
    scale: Float[np.ndarray, " p"]
    rank: int
    null: Float[np.ndarray, "k p"]
    rtol: float = 1e-9

    @property
    def factor(self) -> Float[np.ndarray, "p rank"]:
        """The matrix `F`, shape `(p, rank)`, such that `F F^T` is the covariance for variance 1."""
        kept = self.right_vectors[: self.rank] / self.singular_values[: self.rank, None]
        return (kept / self.scale).T

    @property
    def rounding(self) -> float:
        """Entries below this of unit vectors of scaled null directions may be rounding errors."""
        return rounding(self.singular_values, self.rank, self.rtol)

    def covariance(self, variance: float | int = 1.0) -> Float[np.ndarray, "p p"]:
        """`variance` times the pseudo-inverse of the information, over identified directions.

        The pseudo-inverse is that of scaled unknowns, scaled back. Variances of unknowns that
        take part in a null direction are infinite in truth: see `identifiable` of
        [`jaxspark.fit.Uncertainty`][].

        **Arguments:**

        - `variance`: that of the weighted residuals.

        **Returns:** the covariance, shape `(p, p)`.
        """
        return variance * (self.factor @ self.factor.T)


def information(
    J: Float[np.ndarray, "n p"],
    scale: Float[np.ndarray, " p"] | None = None,
    rtol: float = 1e-9,
    of_order_one: Bool[np.ndarray, " p"] | None = None,
) -> Information:
    """What the data tell about the unknowns, from singular values.

    `J^T J` is never formed: it would square the condition number. Columns are scaled to unit
    length first, so that units of the unknowns do not matter. Priors are further rows of `J`.

    **Arguments:**

    - `J`: derivative of the weighted residuals by the unknowns.
    - `scale`: lengths to divide the columns by, positive; default: their own. Larger ones than
        their own mark columns of which a part was eliminated.
    - `rtol`: directions with singular values below `rtol` times the largest (or below `rtol`, if
        that is less than 1) are null directions, and so are columns of zeros. It should be well
        above the relative error of `J`: 1e-9 suits derivatives in double precision, 1e-4
        those in single precision.
    - `of_order_one`: which unknowns are of order one, as logarithms are. Directions that are told
        by no more than integration errors, to many times one, are null directions then, too.
        Default: none.

    **Returns:** the [`Information`][].

    **Raises:** `ValueError` for entries that are not finite.
    """
    J = np.asarray(J, np.float64)
    check_finite("J", J)
    count = J.shape[1]
    scale = column_lengths(J) if scale is None else np.asarray(scale, np.float64)
    smallest = scale[scale > 0].min(initial=np.inf)
    scale = np.where(scale > 0, scale, smallest if np.isfinite(smallest) else 1.0)
    if not count:
        empty = np.zeros((0, 0))
        return Information(np.zeros(0), empty, scale, 0, empty, rtol)
    triangle = np.zeros((count, count))
    rows = np.array(np.linalg.qr(J / scale, mode="r"))
    triangle[: rows.shape[0]] = rows
    _, singular, right = np.linalg.svd(triangle)
    largest = max(float(singular[0]), 1.0)
    told = singular > rtol * largest
    if of_order_one is not None:
        moved = np.linalg.norm(right / scale * of_order_one, axis=1)
        told &= (singular > COLLINEAR * largest) | (moved <= BEYOND * singular)
    order = np.argsort(~told, kind="stable")
    singular, right, rank = singular[order], right[order], int(np.sum(told))
    null = unscaled(sparse_basis(right[rank:], rounding(singular, rank, rtol)), scale)
    return Information(singular, right, scale, rank, null, rtol)


def column_lengths(J: Float[np.ndarray, "n p"]) -> Float[np.ndarray, " p"]:
    """Euclidean lengths of columns, without overflow."""
    largest = np.abs(J).max(axis=0, initial=0.0)
    return largest * np.linalg.norm(J / np.where(largest > 0, largest, 1.0), axis=0)


def unidentifiable(
    found: Information,
    dphysical: Float[np.ndarray, "m p"] | None = None,
) -> Bool[np.ndarray, " m"]:
    """Which unknowns take part in a null direction, by more than rounding.

    By the cosine of the angle, in scaled unknowns, between the gradient of a quantity and the null
    directions. Where these are known less precisely, since the next singular value is small, the
    threshold is higher.

    **Arguments:**

    - `found`: what the data tell about the unknowns.
    - `dphysical`: derivative by the unknowns of the quantities asked about; default: the unknowns
        themselves.

    **Returns:** true where the data do not tell the quantity.
    """
    null = found.right_vectors[found.rank :]
    tolerance = max(SMALLEST_COSINE, found.rounding)
    if dphysical is None:
        return np.linalg.norm(null, axis=0) > tolerance
    gradients = dphysical / found.scale
    largest = np.abs(gradients).max(axis=1, keepdims=True, initial=0.0)
    gradients = gradients / np.where(largest > 0, largest, 1.0)
    along = np.linalg.norm(gradients @ null.T, axis=1)
    return along > tolerance * np.linalg.norm(gradients, axis=1)


def delta(
    covariance: Float[np.ndarray, "p p"], dphysical: Float[np.ndarray, "m p"]
) -> Float[np.ndarray, "m m"]:
    """Covariance of physical quantities, to first order.

    **Arguments:**

    - `covariance`: of the unknowns.
    - `dphysical`: derivative of the quantities by the unknowns.

    **Returns:** the covariance of the quantities.
    """
    product = dphysical @ covariance @ dphysical.T
    return (product + product.T) / 2


def correlation(covariance: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    """Correlation matrix of a covariance; NaN beside the diagonal where a variance is zero."""
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    errors = np.where(errors > 0, errors, np.nan)
    matrix = np.clip(covariance / errors[:, None] / errors[None, :], -1.0, 1.0)
    np.fill_diagonal(matrix, 1.0)
    return matrix


def check_finite(name: str, values: np.ndarray) -> None:
    """Raise a `ValueError` that names the first entry that is not finite."""
    bad = ~np.isfinite(values)
    if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(
            f"{name} has {int(bad.sum())} entries that are not finite, first {name}{list(at)} = "
            f"{values[at]}. Leave out missing samples before."
        )
