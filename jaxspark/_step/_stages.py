"""The unknowns of one step."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Stages(eqx.Module):
    """The unknowns of one step; residuals of the stage equations have the same shapes.

    - `y`: `Y_1..Y_s` and `y_1`; as a residual, equation (4).
    - `z`: `Z_1..Z_s` and `z_1`; equation (5).
    - `lam`: `Lambda_0..Lambda_s`; equation (6).
    - `psi`: `Psi_1..Psi_s`; equation (7).

    Stage multipliers are of low order: never the solution (see
    [`jaxspark.multipliers`][]).
    """

    y: Float[Array, "s+1 ny"]
    z: Float[Array, "s+1 nz"]
    lam: Float[Array, "s+1 nlam"]
    psi: Float[Array, "s npsi"]


def mix(coefficients: np.ndarray, values: Float[Array, "n d"]) -> Float[Array, "m d"]:
    """`coefficients @ values` for a small static matrix, written out elementwise.

    It fuses with its neighbours, also under `jax.vmap`, where a small matrix product would
    be a kernel of its own. Zero coefficients cost nothing.
    """
    zero = jnp.zeros(values.shape[1:], values.dtype)
    rows = []
    for row in coefficients:
        terms = [
            jnp.asarray(a, values.dtype) * values[j] for j, a in enumerate(row) if a != 0
        ]
        rows.append(sum(terms[1:], terms[0]) if terms else zero)
    return jnp.stack(rows)
