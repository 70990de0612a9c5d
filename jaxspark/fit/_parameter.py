"""A parameter: a leaf of what the user describes."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._forms import AbstractForm
from ._prior import PriorOn
from ._transforms import AbstractTransform


class Parameter(eqx.Module):
    """The specification of a parameter, as a leaf in the parameters of a [`jaxspark.fit.Model`][].

    Made by [`jaxspark.fit.real`][], [`jaxspark.fit.positive`][], [`jaxspark.fit.bounded`][],
    [`jaxspark.fit.fixed`][], [`jaxspark.fit.rigid_body`][], [`jaxspark.fit.planar_body`][] and
    [`jaxspark.fit.free`][].

    - `start`: its physical values as a vector, shape `(n,)`.
    - `form`: how this vector looks in the tree of parameters.
    - `transform`: from coordinates without bounds to this vector.
    - `priors`: what is known of it beforehand.
    - `per_trial`: whether each trial has its own.
    - `held`: whether it is held, not estimated.
    """

    start: Float[np.ndarray, " n"]
    form: AbstractForm
    transform: AbstractTransform
    priors: tuple[PriorOn, ...] = ()
    per_trial: bool = eqx.field(static=True, default=False)
    held: bool = eqx.field(static=True, default=False)

    @property
    def size(self) -> int:
        """Number of its physical values, which is that of its coordinates."""
        return self.start.shape[0]

    def prior_residuals(self, u: Float[Array, " n"]) -> Float[Array, " m"]:
        """Residuals of all priors at unconstrained coordinates."""
        values = self.transform.forward(u)
        empty = [jnp.zeros(0, u.dtype)]
        return jnp.concatenate(empty + [prior.residual(values) for prior in self.priors])

    def log_densities(self, u: Float[Array, " n"]) -> Float[Array, " m"]:
        """Logarithms of the densities of all priors at unconstrained coordinates."""
        values = self.transform.forward(u)
        empty = [jnp.zeros(0, u.dtype)]
        return jnp.concatenate(empty + [prior.log_density(values) for prior in self.priors])
