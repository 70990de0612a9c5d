"""The unknowns of one step."""

import equinox as eqx
from jaxtyping import Array, Float


class Stages(eqx.Module):
    """The unknowns of one step; residuals of the stage equations have the same shapes.

    - `y`: `Y_1..Y_s` and `y_1`, shape `(s + 1, ny)`; as a residual, equation (4).
    - `z`: `Z_1..Z_s` and `z_1`, shape `(s + 1, nz)`; equation (5).
    - `lam`: the holonomic multipliers at the `m + 1` constraint nodes, shape `(m + 1, nlam)`,
        `m = s` (Gauss, Radau IIA) or `s - 1` (Lobatto); equation (6).
    - `psi`: `Psi_1..Psi_s`, shape `(s, npsi)`; equation (7).

    Multipliers of stages are of low order: take those of the solution from
    [`jaxspark.multipliers`][].
    """

    y: Float[Array, "s1 ny"]
    z: Float[Array, "s1 nz"]
    lam: Float[Array, "m1 nlam"]
    psi: Float[Array, "s npsi"]
