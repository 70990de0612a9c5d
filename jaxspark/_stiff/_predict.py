"""Starting values for Newton's iteration: the state, or the last step's polynomials."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._jax_internals import mix
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._newton import Weights
from ._residual import GGLStages


# The last term of the polynomials of a smooth step, next to the whole change in the next one.
# Measured: at 0.3 more starts are refused than need be, and without a bound a stiff transient of
# Yen & Petzold's section 5.1 takes seven times the steps.
SMOOTH = 0.5


def start_stages(
    system: FlatSystem,
    stages: int,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    multipliers: tuple[Array, Array] | None = None,
) -> GGLStages:
    """The state itself at every stage, and multipliers 0 unless others are given."""
    none = jnp.zeros(system.nlam, y0.dtype)
    lam, psi = (none, jnp.zeros(system.npsi, y0.dtype)) if multipliers is None else multipliers
    return GGLStages(*(jnp.tile(x[None, :], (stages, 1)) for x in (y0, z0, lam, psi, none)))


def extrapolated_stages(
    coefficients: GGLCoefficients,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    before: tuple[Float[Array, " ny"], Float[Array, " nz"]],
    stages: GGLStages,
    ratio: FloatScalar,
    weights: Weights,
) -> tuple[Float[Array, "s ny"], Float[Array, "s nz"]]:
    """Coordinates and velocities at the stages, by the polynomials of the step before.

    Unless that was a stiff transient, of which polynomials are no guess: then the state itself.
    In a smooth motion the polynomials of the velocities differ little from those of one degree
    less, through the stages alone, next to the whole change that they foretell.

    **Arguments:**

    - `coefficients`: whose stages they are.
    - `y`, `z`: the state at the start of this step.
    - `before`: that at the start of the other.
    - `stages`: those of that step.
    - `ratio`: the size of this step over that of the other.
    - `weights`: by which velocities are compared.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8, on starting
    values for the Newton iteration; the test for a smooth motion is our own.
    """
    # A first stage at the start of a step is the start, or of low order.
    own = coefficients.c > 0
    nodes = np.append(coefficients.c[own], 0.0)
    at = 1 + ratio * jnp.asarray(coefficients.c, ratio.dtype)
    powers = jnp.stack([at**k for k in range(len(nodes))], 1)

    def continued(values, count):
        fit = np.linalg.inv(np.vander(nodes[:count], increasing=True))
        return powers[:, :count] @ mix(fit, values[:count])

    def size(change):
        return jnp.max(jnp.abs(change) / weights.z[None, :], initial=0)

    in_y, in_z = (
        jnp.concatenate([values[own], first[None, :]])
        for values, first in zip((stages.y, stages.z), before, strict=True)
    )
    expected, without = (continued(in_z, len(nodes) - k) for k in (0, 1))
    smooth = size(expected - without) <= SMOOTH * size(expected - z[None, :])
    return (
        jnp.where(smooth, continued(in_y, len(nodes)), y[None, :]),
        jnp.where(smooth, expected, z[None, :]),
    )
