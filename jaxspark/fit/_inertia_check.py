"""Whether given masses, centres and moments of inertia are those of a body."""

import numpy as np
from jaxtyping import Float

from ._transforms import as_float64, Numbers


def checked_body(
    what: str, mass: Numbers, centre: Numbers, inertia: Numbers, dimension: int
) -> tuple[Float[np.ndarray, ""], Float[np.ndarray, " d"], Float[np.ndarray, "..."]]:
    """Mass, centre and inertia in double precision, if a body with a volume has these.

    **Arguments:**

    - `what`: the name for errors.
    - `mass` (kg), `centre` (m), `inertia` about the centre of mass (kg m^2).
    - `dimension`: 3, or 2 for motion in a plane, where `inertia` is one number.

    **Raises:** `ValueError` for wrong shapes, numbers that are not finite, a mass that is not
    positive, a matrix that is not symmetric, or moments of inertia of no body.
    """
    shapes = {"mass": (), "centre": (dimension,), "inertia": (3, 3) if dimension == 3 else ()}
    numbers = [as_float64(number) for number in (mass, centre, inertia)]
    for number, (name, shape) in zip(numbers, shapes.items()):
        if number.shape != shape:
            raise ValueError(
                f"{what}: the {name} has shape {number.shape}; it must have shape {shape}."
            )
        if not np.isfinite(number).all():
            raise ValueError(f"{what}: the {name} is {number.tolist()}, not finite.")
    m, c, i = numbers
    if m <= 0:
        raise ValueError(f"{what}: the mass is {m:g} kg; it must be positive.")
    if dimension == 3:
        _check_matrix(what, i)
        i = 0.5 * (i + i.T)
    elif i <= 0:
        raise ValueError(f"{what}: the moment of inertia is {i:g} kg m^2; it must be positive.")
    return m, c, i


def _check_matrix(what: str, inertia: Float[np.ndarray, "3 3"]) -> None:
    if np.abs(inertia - inertia.T).max() > 1e-6 * np.abs(inertia).max():
        raise ValueError(f"{what}: the inertia {inertia.tolist()} is not a symmetric matrix.")
    moments = np.linalg.eigvalsh(inertia)
    listed = ", ".join(f"{moment:.6g}" for moment in moments)
    if moments[0] <= 0:
        raise ValueError(
            f"{what}: the principal moments of inertia are {listed} kg m^2; they must be positive."
        )
    a, b, c = moments
    gap = (a + b - c) / moments.sum()
    if gap < -1e-9:
        raise ValueError(
            f"{what}: no body has the principal moments of inertia {listed} kg m^2: they violate "
            f"the triangle inequality, {a:.6g} + {b:.6g} < {c:.6g}. The moments must be about "
            "the centre of mass, and each at most the sum of the others."
        )
    if gap < 1e-12:
        raise ValueError(
            f"{what}: the principal moments of inertia {listed} kg m^2 are those of a lamina "
            f"without thickness, {a:.6g} + {b:.6g} = {c:.6g}: the limit of what bodies can have. "
            "Give the body a small thickness; or use fit.planar_body if it moves in a plane."
        )
