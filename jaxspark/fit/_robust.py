"""Losses: of squares, and robust ones, which outliers do not govern."""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float


class AbstractLoss(eqx.Module):
    """A loss of residuals in multiples of their standard deviation."""

    @abc.abstractmethod
    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """The loss, about `s`, as a function of the squared residual `s`."""

    @abc.abstractmethod
    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative by `s`: the weight of the squared residual."""

    def normal_share(self, dtype: Any) -> Float[Array, ""]:
        """The mean of `weight(s) s` for normal noise: what weights leave of its variance."""
        z = jnp.linspace(-9, 9, 1801, dtype=dtype)
        density = jnp.exp(-0.5 * z**2)
        return jnp.sum(density * self.weight(z**2) * z**2) / jnp.sum(density)


class Squares(AbstractLoss):
    """The squared residual: maximum likelihood for normal noise."""

    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return s

    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(s)


class Huber(AbstractLoss):
    """Squares near zero, and absolute values beyond a threshold.

    **Arguments:**

    - `threshold`: in standard deviations; 1.345 loses 5 % of efficiency for normal noise.

    Source: P. J. Huber, *Robust estimation of a location parameter*, Ann. Math. Stat. 35 (1964).
    """

    threshold: float = eqx.field(static=True, default=1.345)

    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        k = self.threshold
        far = s > k**2
        root = jnp.sqrt(jnp.where(far, s, 1.0))
        return jnp.where(far, 2 * k * root - k**2, s)

    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        far = s > self.threshold**2
        return jnp.where(far, self.threshold / jnp.sqrt(jnp.where(far, s, 1.0)), 1.0)


class Cauchy(AbstractLoss):
    """`k^2 log(1 + s / k^2)`: outliers lose all influence.

    **Arguments:**

    - `threshold`: `k`, in standard deviations; 2.385 loses 5 % of efficiency for normal noise.

    Source: P. W. Holland & R. E. Welsch, *Robust regression using iteratively reweighted
    least-squares*, Commun. Stat. A6 (1977).
    """

    threshold: float = eqx.field(static=True, default=2.385)

    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return self.threshold**2 * jnp.log1p(s / self.threshold**2)

    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return 1 / (1 + s / self.threshold**2)
