"""The accepted steps, as the integration records them."""

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int


class Rows(eqx.Module):
    """The accepted steps, with all that their derivatives need; without leading axes, one of them.

    - `x`: the unknowns at the end of each; the first row is the start.
    - `t`, `h`, `k`: their times, sizes and orders.
    - `refreshed`: whether the matrix was made anew for the step; then
    - `ahead`, `k_matrix`: how far from the step's start, and with a prediction of which order.
    """

    x: Float[Array, "*rows unknowns"]
    t: Float[Array, "*rows"]
    h: Float[Array, "*rows"]
    k: Int[Array, "*rows"]
    refreshed: Bool[Array, "*rows"]
    ahead: Float[Array, "*rows"]
    k_matrix: Int[Array, "*rows"]
