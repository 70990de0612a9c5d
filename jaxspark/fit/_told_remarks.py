"""What records can tell at all, where a model starts: no influence, what only combinations tell."""

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from ._covariance import RTOL
from ._evaluate import assembled_alone, Evaluation
from ._null import components, sparse_basis
from ._problem import Problem
from ._remarks import Remark


# Of errors of integration: the relative change of a motion that its steps leave.
LEAST = 1e-6


def told_remarks(
    problem: Problem, u: Float[Array, " p"], found: Evaluation
) -> tuple[list[Remark], int]:
    """Doubts about what the data tell, and how many combinations of parameters they do tell."""
    shared, count = problem.shared, problem.shared.size
    if count == 0:
        return [], 0
    A = np.asarray(assembled_alone(problem, found)[0], float)
    slopes = np.asarray(jax.jacfwd(shared.physical)(u[:count]), float)
    vectors, rank = untold(A, count, RTOL[np.dtype(problem.data.ts.dtype).name])
    if not len(vectors):
        return [], rank
    moved = vectors @ slopes.T
    values = np.abs(np.asarray(shared.physical(u[:count])))
    basis = sparse_basis(moved / np.where(values > 0, values, 1)[None, :], 1e-4)
    lengths = np.linalg.norm(A[:, :count], axis=0)
    silent = np.linalg.norm(slopes / np.where(lengths > 0, np.inf, 1)[None, :], axis=1) > 0
    return list(_named(basis, shared.names, silent)), rank


def untold(
    A: Float[np.ndarray, "m p"], count: int, rtol: float, least: float = LEAST
) -> tuple[Float[np.ndarray, "k q"], int]:
    """Directions of the first `count` unknowns that change no row, the others following; the rank.

    **Arguments:**

    - `A`: weighted Jacobian of all unknowns.
    - `rtol`: of its rounding errors; `least`: of errors of integration, which tell what the motion
        does not: smaller singular values of columns of unit length are none.
    """
    own, rest = A[:, :count], A[:, count:]
    sizes = np.linalg.norm(own, axis=0)
    sizes = np.where(sizes > 0, sizes, 1)
    own = own / sizes[None, :]
    if rest.shape[1]:
        lengths = np.linalg.norm(rest, axis=0)
        left, s, _ = np.linalg.svd(
            rest / np.where(lengths > 0, lengths, 1)[None, :], full_matrices=False
        )
        span = left[:, s > rtol * s.max(initial=0)]
        own = own - span @ (span.T @ own)
    _, s, right = np.linalg.svd(own, full_matrices=True)
    s = np.pad(s, (0, count - s.size))
    # Columns have unit length before the starts are taken out: what these take is not told.
    told = s > max(10 * rtol, least)
    vectors = right[~told] / sizes[None, :]
    return vectors, int(told.sum())


def _named(
    basis: Float[np.ndarray, "k q"], names: tuple[str, ...], silent: np.ndarray
) -> Iterator[Remark]:
    for rows, columns in components(basis):
        among = [names[k] for k in columns]
        if len(columns) == 1 and not silent[columns[0]]:
            yield Remark(
                "wrong", among[0],
                "what it changes, starts that are not known change as well, to the precision of "
                "the steps.",
                "Hold it (fit.fixed), tell where records start, or give longer records.", "told",
            )  # fmt: skip
            continue
        if len(columns) == 1:
            yield Remark(
                "wrong", among[0], "it has no influence on what is measured.",
                "Hold it (fit.fixed), or measure something that depends on it.", "told",
            )  # fmt: skip
            continue
        # The parameters whose values fix all of these directions, the largest pivots first.
        factors: Any = scipy.linalg.qr(basis[np.ix_(rows, columns)], mode="r", pivoting=True)
        hold = [among[k] for k in factors[1][: len(rows)]]
        number = "one combination" if len(rows) == 1 else f"{len(rows)} combinations"
        if len(rows) == 1:
            cure = f"Hold one of {', '.join(among)}, or measure a force, torque or mass."
        else:
            cure = (
                f"Hold {len(rows)} of them that are independent, for instance {', '.join(hold)}, "
                "or measure a force, torque or mass; fit.base_parameters names what is told."
            )
        yield Remark(
            "wrong", ", ".join(among), f"the data do not tell {number} of these.", cure, "told"
        )
