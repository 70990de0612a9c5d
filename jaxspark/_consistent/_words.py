"""Constraint residuals and ranks in words, for errors."""

import jax.flatten_util
import numpy as np

from ._residuals import ConstraintRank, ConstraintResiduals


def describe(residuals: ConstraintResiduals, rank: ConstraintRank | None = None) -> str:
    """The worst constraint residual in words and, if deficient, the rank."""
    names = {
        "g": "holonomic constraint g",
        "gdot": "velocity of the holonomic constraint, g_t + g_y v,",
        "k": "nonholonomic constraint k",
    }
    worst, text = -1.0, "There are no constraints."
    for field, name in names.items():
        flat = np.abs(jax.flatten_util.ravel_pytree(getattr(residuals, field))[0])
        for index, value in enumerate(flat):
            if not value <= worst:
                worst = value if np.isfinite(value) else np.inf
                text = f"The largest residual is {value:.3e}, of the {name} number {index}."
    if rank is not None and int(rank.rank) < rank.size:
        text += " " + describe_rank(rank)
    return text


def describe_rank(rank: ConstraintRank) -> str:
    """The rank of the constraint Jacobian in words and, if deficient, which combination."""
    text = f"The constraint Jacobian has rank {int(rank.rank)} of {rank.size}"
    if int(rank.rank) == rank.size:
        return text + "."
    direction = np.asarray(jax.flatten_util.ravel_pytree(rank.null_direction)[0])
    return f"{text}; this combination of the constraints is redundant: {np.round(direction, 6)}."
