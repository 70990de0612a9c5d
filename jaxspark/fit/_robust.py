"""Losses: of squares, and robust ones, which outliers do not govern."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


# So that the mean of `x^2 / (CORE^2 + x^2)` is a half for standard normal `x`.
CORE = 0.6120
# Powers of e that the noise of most samples may be below that of all, and how often these are
# halved.
MOST_POWERS, HALVINGS = 14.0, 40


class AbstractLoss(eqx.Module):
    """A loss of residuals in multiples of their standard deviation.

    A subclass defines `rho(s)` and its derivative `weight(s)`; `scale` has a default, which it may
    replace.
    """

    @abc.abstractmethod
    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """The loss, about `s`, as a function of the squared residual `s`."""

    @abc.abstractmethod
    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        """Its derivative by `s`: the weight of the squared residual."""

    def scale(
        self,
        difference: Float[Array, "n channels"],
        present: Bool[Array, "n channels"],
        share: Float[Array, ""],
    ) -> Float[Array, " channels"]:
        """The standard deviation of the noise of each channel, which outliers do not govern.

        Up to half of the samples may be far off, as for the median of absolute values, of which
        this is a smooth relative: the mean of `x^2 / (0.612^2 + x^2)` of residuals `x` in standard
        deviations is a half, as it is for normal noise. The solution is unique.

        **Arguments:**

        - `difference`: residuals in the unit of the channel, shape `(n, channels)`.
        - `present`: which of them count, shape `(n, channels)`.
        - `share`: the share of the degrees of freedom that the unknowns of a fit leave.

        **Returns:** one for each channel, in its unit, shape `(channels,)`.

        Source: P. J. Rousseeuw & V. J. Yohai, *Robust regression by means of S-estimators* (1984).
        """
        squares = jnp.where(present, difference**2, 0)
        counts = jnp.maximum(jnp.sum(present, 0).astype(squares.dtype), 1)
        # By Jensen's inequality it is not above this.
        top = jnp.sqrt(jnp.sum(squares, 0) / counts) / CORE
        relative = squares / jnp.where(top > 0, top, 1)[None, :] ** 2

        def halve(_, bounds):
            low, high = bounds
            middle = 0.5 * (low + high)
            core = (CORE * jnp.exp(middle)) ** 2
            mean = jnp.sum(relative / (core[None, :] + relative), 0) / counts
            return jnp.where(mean > 0.5, middle, low), jnp.where(mean > 0.5, high, middle)

        bounds = jnp.full_like(top, -MOST_POWERS), jnp.zeros_like(top)
        low, high = jax.lax.fori_loop(0, HALVINGS, halve, bounds)
        return top * jnp.exp(0.5 * (low + high)) / jnp.sqrt(share)


class Squares(AbstractLoss):
    """The squared residual: maximum likelihood for normal noise."""

    def rho(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return s

    def weight(self, s: Float[Array, "..."]) -> Float[Array, "..."]:
        return jnp.ones_like(s)

    def scale(
        self,
        difference: Float[Array, "n channels"],
        present: Bool[Array, "n channels"],
        share: Float[Array, ""],
    ) -> Float[Array, " channels"]:
        """The standard deviation of the noise of each channel: the root mean square.

        **Arguments:** as for `scale` of [`jaxspark.fit.AbstractLoss`][].

        **Returns:** one for each channel, in its unit, shape `(channels,)`.
        """
        squares = jnp.sum(jnp.where(present, difference**2, 0), 0)
        counts = jnp.maximum(jnp.sum(present, 0).astype(squares.dtype), 1)
        return jnp.sqrt(squares / (counts * share))


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
