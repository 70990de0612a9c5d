"""Smooth one-to-one maps from unconstrained coordinates to physical values."""

import abc
from collections.abc import Sequence
from typing import Any, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float


Numbers: TypeAlias = ArrayLike | Sequence[Any]


def as_float64(value: Numbers) -> Float[np.ndarray, "..."]:
    """Numbers in double precision, whatever JAX's default is."""
    return np.array(value, np.float64)


def like(value: Numbers, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """`value` in the dtype and the shape of `u`."""
    return jnp.broadcast_to(jnp.asarray(value, u.dtype), u.shape)


class AbstractTransform(eqx.Module):
    """A smooth one-to-one map from coordinates without bounds to physical values.

    The coordinates `u` are dimensionless and of order one, so that one step length suits all of
    them. Results have the dtype of what is given.
    """

    @abc.abstractmethod
    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Physical values of unconstrained coordinates."""

    @abc.abstractmethod
    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Unconstrained coordinates of physical values; not finite for impossible ones."""

    @abc.abstractmethod
    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        """Below and above which values these coordinates never come; infinite where none."""


class Identity(AbstractTransform):
    """A number without bounds: `value = scale u`.

    **Arguments:**

    - `scale`: size of a typical value, in its unit; one for all entries, or one each.
    """

    scale: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)

    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return like(self.scale, u) * u

    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return value / like(self.scale, value)

    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        return like(-jnp.inf, u), like(jnp.inf, u)


class Positive(AbstractTransform):
    """A positive number: `value = scale exp(u)`.

    The exponential makes `u` the logarithm: a step in `u` is a relative change, whatever the
    unit, and its standard error a relative error. (A softplus would make steps absolute for
    large values and relative for small ones.)

    **Arguments:**

    - `scale`: value at `u = 0`, positive; one for all entries, or one each.
    """

    scale: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)

    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return like(self.scale, u) * jnp.exp(u)

    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.log(value / like(self.scale, value))

    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        return like(0.0, u), like(jnp.inf, u)


class Above(AbstractTransform):
    """A number above a bound: `value = lower + scale exp(u)`.

    **Arguments:**

    - `lower`: the bound.
    - `scale`: distance from the bound at `u = 0`, positive.
    """

    lower: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)
    scale: Float[np.ndarray, "..."] = eqx.field(converter=as_float64, default=1.0)

    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return like(self.lower, u) + like(self.scale, u) * jnp.exp(u)

    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.log((value - like(self.lower, value)) / like(self.scale, value))

    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        return like(self.lower, u), like(jnp.inf, u)


class Below(AbstractTransform):
    """A number below a bound: `value = upper - scale exp(-u)`, which increases with `u`.

    **Arguments:**

    - `upper`: the bound.
    - `scale`: distance from the bound at `u = 0`, positive.
    """

    upper: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)
    scale: Float[np.ndarray, "..."] = eqx.field(converter=as_float64, default=1.0)

    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return like(self.upper, u) - like(self.scale, u) * jnp.exp(-u)

    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return -jnp.log((like(self.upper, value) - value) / like(self.scale, value))

    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        return like(-jnp.inf, u), like(self.upper, u)


class Bounded(AbstractTransform):
    """A number between two bounds: `value = lower + (upper - lower) / (1 + exp(-u))`.

    **Arguments:**

    - `lower`, `upper`: the bounds, finite; `u = 0` is half way.
    """

    lower: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)
    upper: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)

    def forward(self, u: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        lower, upper = self.bounds(u)
        # A weighted mean: exact at either end, where `lower + (upper - lower) s` is not.
        return lower * jax.nn.sigmoid(-u) + upper * jax.nn.sigmoid(u)

    def inverse(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        lower, upper = self.bounds(value)
        return jnp.log((value - lower) / (upper - value))

    def bounds(
        self, u: Float[Array, "*shape"]
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        return like(self.lower, u), like(self.upper, u)
