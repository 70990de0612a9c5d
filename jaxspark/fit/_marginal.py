"""Information about some unknowns alone."""

import numpy as np
import scipy.linalg
from jaxtyping import Float

from ._covariance import information


def eliminated(
    J: Float[np.ndarray, "n p"],
    lengths: Float[np.ndarray, " p"],
    nuisance: Float[np.ndarray, "n q"] | None,
    rtol: float,
) -> Float[np.ndarray, "k p"]:
    """The columns without their parts along nuisance columns, up to a rotation of rows."""
    if nuisance is None or not nuisance.shape[1]:
        return J
    known = information(nuisance, rtol=rtol)
    unit = np.where(lengths > 0, lengths, 1.0)
    both = np.concatenate([nuisance / known.scale, J / unit], axis=1)
    triangle = np.linalg.qr(both, mode="r")
    first, rest = np.split(triangle, [nuisance.shape[1]], axis=1)
    kept = known.right_vectors[: known.rank] / known.singular_values[: known.rank, None]
    basis = np.linalg.qr(first @ kept.T)[0]
    # Twice is enough to be perpendicular up to rounding (Kahan & Parlett).
    for _ in range(2):
        rest = rest - basis @ (basis.T @ rest)
    return rest * unit


def eigen_directions(
    factor: Float[np.ndarray, "p rank"], null: Float[np.ndarray, "k p"]
) -> tuple[Float[np.ndarray, " rank"], Float[np.ndarray, "rank p"]]:
    """Errors along eigenvectors of `factor factor^T` without its part along `null`, worst first.

    By Jacobi's method, which is precise to the last digit for the well known too.
    """
    if not factor.shape[1]:
        return np.zeros(0), np.zeros((0, len(factor)))
    along = np.linalg.qr(null.T)[0]
    for _ in range(2 if len(null) else 0):
        factor = factor - along @ (along.T @ factor)
    # Options F, U, N: rows and columns of any scales, left vectors, no right vectors.
    (jacobi,) = scipy.linalg.get_lapack_funcs(("gejsv",), (factor,))
    errors, vectors, _, work, _, info = jacobi(factor, joba=2, jobu=0, jobv=3)
    if info:
        raise RuntimeError(f"the eigenvectors could not be found: gejsv says {info}.")
    return errors * (work[0] / work[1]), vectors.T
