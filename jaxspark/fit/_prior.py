"""What is known of a parameter beforehand."""

import abc
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._transforms import as_float64, like


class AbstractPrior(eqx.Module):
    """What is known of physical values beforehand, each independent of the others.

    A subclass defines both functions, entry by entry, as JAX functions of values in their unit.
    """

    @abc.abstractmethod
    def residual(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """How many standard deviations a value is off: `-log p = residual^2 / 2 + const`."""

    @abc.abstractmethod
    def log_density(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """Logarithm of the probability density, entry by entry."""


class Normal(AbstractPrior):
    """A normal distribution.

    **Arguments:**

    - `mean`, `std`: in the unit of the parameter; one for all entries, or one each.

    **Raises:** `ValueError` unless all are finite and `std` is positive.
    """

    mean: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)
    std: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)

    def __check_init__(self):
        if not np.isfinite(self.mean).all():
            raise ValueError(f"Normal: the mean is {self.mean}, not finite.")
        if not (np.isfinite(self.std).all() and (self.std > 0).all()):
            raise ValueError(f"Normal: the standard deviation is {self.std}; it must be positive.")

    def residual(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return (value - like(self.mean, value)) / like(self.std, value)

    def log_density(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        scale = jnp.log(like(self.std, value)) + 0.5 * math.log(2 * math.pi)
        return -0.5 * self.residual(value) ** 2 - scale


class LogNormal(AbstractPrior):
    """A normal distribution of the logarithm: known up to a factor.

    The density is that of `log value`, which is normal, not that of `value`: the value most
    probable by the prior alone is then the median, and `-log p = residual^2 / 2 + const`. (The
    density of the value itself is this one divided by the value.)

    **Arguments:**

    - `median`: positive, in the unit of the parameter; one for all entries, or one each.
    - `factor`: above 1; with 68 % probability the value is between `median / factor` and
        `median * factor`.

    **Raises:** `ValueError` unless all are finite, `median > 0` and `factor > 1`.
    """

    median: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)
    factor: Float[np.ndarray, "..."] = eqx.field(converter=as_float64)

    def __check_init__(self):
        if not (np.isfinite(self.median).all() and (self.median > 0).all()):
            raise ValueError(f"LogNormal: the median is {self.median}; it must be positive.")
        if not (np.isfinite(self.factor).all() and (self.factor > 1).all()):
            raise ValueError(
                f"LogNormal: the factor is {self.factor}; it must be above 1, for instance 1.1 "
                "for a value known to about 10 %."
            )

    def residual(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        return jnp.log(value / like(self.median, value)) / jnp.log(like(self.factor, value))

    def log_density(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        scale = jnp.log(jnp.log(like(self.factor, value))) + 0.5 * math.log(2 * math.pi)
        return -0.5 * self.residual(value) ** 2 - scale


class PriorOn(eqx.Module):
    """A prior on some of the physical values of a parameter.

    - `prior`: its numbers as vectors, one for each of these values.
    - `where`: the first of the values, and the one after the last.
    """

    prior: AbstractPrior
    where: tuple[int, int] = eqx.field(static=True)

    def residual(self, values: Float[Array, " n"]) -> Float[Array, " m"]:
        return self.prior.residual(values[slice(*self.where)])

    def log_density(self, values: Float[Array, " n"]) -> Float[Array, " m"]:
        return self.prior.log_density(values[slice(*self.where)])


def prior_on(
    prior: Any,
    shape: tuple[int, ...],
    where: tuple[int, int],
    lower: Float[np.ndarray, " n"],
    what: str,
    entries: tuple[np.ndarray, ...] | None = None,
) -> PriorOn:
    """A prior, checked against the values that it is about.

    **Arguments:**

    - `shape`: of the values as the user sees them; `where`: the first of them in the vector and
        the one after the last.
    - `lower`: bounds of the whole vector.
    - `what`: the name for errors.
    - `entries`: which entries of an array of `shape` are the values; `None` for all.

    **Raises:** `TypeError` if it is no prior; `ValueError` if its numbers do not have that
    shape, or if a `LogNormal` is about values which may be negative.
    """
    if not isinstance(prior, AbstractPrior):
        raise TypeError(f"{what}: the prior is {prior!r}; it must be a Normal or a LogNormal.")
    if isinstance(prior, LogNormal) and (lower[slice(*where)] < 0).any():
        raise ValueError(
            f"{what}: a LogNormal prior needs values which cannot be negative. Use fit.positive "
            "or a lower bound of at least 0, or a Normal prior."
        )

    def vector(number: np.ndarray) -> np.ndarray:
        if number.shape not in ((), shape):
            raise ValueError(
                f"{what}: the prior has numbers of shape {number.shape}; the values have shape "
                f"{shape}. Give one number for all, or one for each."
            )
        full = np.broadcast_to(number, shape)
        return (full.ravel() if entries is None else full[entries]).copy()

    return PriorOn(jax.tree.map(vector, prior), where)
