"""A measured input as a function of time."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.interpolate
from jax import lax
from jaxtyping import Array, ArrayLike, Float, Int, Real

from ._check import check_times, DataError, in_memory


class Signal(eqx.Module):
    r"""A measured input as a piecewise polynomial in time.

    In piece $i$ it is $\sum_j c_{j i} (t - t_i)^{m - j}$. Called with a time, traced or not, it
    can be differentiated as often as wanted with respect to the time and the coefficients.
    Before the first and after the last sample it holds the value there, with zero derivatives.

    Made by `Signal.previous`, `Signal.linear` and `Signal.cubic`. A prescribed motion in a
    holonomic constraint needs `Signal.cubic`: the velocity constraint has its first derivative
    and the multipliers its second, so that the velocity must be continuous. `Signal.linear`
    suits forces, and `Signal.previous` the commands of digital controllers.

    Signals of one kind with equally many samples, all evenly sampled or none, have one
    structure: they can be stacked, and mapped over by `jax.vmap`.

    - `times`: those of the samples (s), shape `(n,)`.
    - `coefficients`: those of the pieces, of the highest power first; shape
        `(order, pieces, *shape)`.
    - `kind`: `"previous"`, `"linear"` or `"cubic"`.
    - `uniform`: whether the samples are so even that arithmetic finds the piece, not a search.
    """

    times: Float[Array, " n"]
    coefficients: Float[Array, "order pieces *shape"]
    kind: str = eqx.field(static=True)
    uniform: bool = eqx.field(static=True)

    @staticmethod
    def previous(times: Any, values: Any, *, uniform: bool | None = None) -> "Signal":
        """Every sample is held until the next (zero-order hold).

        **Arguments:**

        - `times`: those of the samples (s), strictly increasing, at least 2; shape `(n,)`.
        - `values`: the samples; shape `(n, *shape)`.
        - `uniform`: `False` to search for the piece even if the samples are evenly spaced, so that
            evenly and unevenly sampled signals can be stacked. Default: it follows from the times.

        **Returns:** a [`jaxspark.fit.Signal`][].

        **Raises:** `DataError` for times that do not increase, and samples that are not finite
        or not as many as the times.
        """
        times, values = _samples(times, values)
        return _signal("previous", times, values[None], uniform)

    @staticmethod
    def linear(times: Any, values: Any, *, uniform: bool | None = None) -> "Signal":
        """Straight lines from sample to sample: continuous, but their derivative is not.

        **Arguments:**

        - `times`, `values`, `uniform`: as in `Signal.previous`.

        **Returns:** a [`jaxspark.fit.Signal`][].

        **Raises:** `DataError` as `Signal.previous`.
        """
        times, values = _samples(times, values)
        steps = np.diff(times).reshape(-1, *(1,) * (values.ndim - 1))
        slopes = np.diff(values, axis=0) / steps
        return _signal("linear", times, np.stack([slopes, values[:-1]]), uniform)

    @staticmethod
    def cubic(times: Any, values: Any, *, uniform: bool | None = None) -> "Signal":
        """The cubic spline with two continuous derivatives and not-a-knot ends.

        **Arguments:**

        - `times`, `values`, `uniform`: as in `Signal.previous`.

        **Returns:** a [`jaxspark.fit.Signal`][].

        **Raises:** `DataError` as `Signal.previous`.

        Source: C. de Boor, *A Practical Guide to Splines*, chapter IV; the coefficients are
        those of `scipy.interpolate.CubicSpline`.
        """
        times, values = _samples(times, values)
        spline = scipy.interpolate.CubicSpline(times, values, axis=0, bc_type="not-a-knot")
        return _signal("cubic", times, spline.c, uniform)

    def __call__(self, t: Real[ArrayLike, "..."]) -> Float[Array, " *shape"]:
        """The value at a time, held before the first and after the last sample.

        **Arguments:**

        - `t`: the time (s), a scalar; for several times use `jax.vmap`.

        **Returns:** the value, of shape `shape`, in the precision of `t`.

        **Raises:** `ValueError` if `t` is not a scalar.
        """
        t = jnp.asarray(t)
        if t.ndim:
            raise ValueError(
                f"A signal is called with one time, not an array of shape {t.shape}. Use "
                "`jax.vmap(signal)(times)`."
            )
        if not jnp.issubdtype(t.dtype, jnp.floating):
            t = t.astype(self.times.dtype)
        times = self.times.astype(t.dtype)
        # Not `jnp.clip`: at the first time the derivative is that of the first piece.
        inside = (times[0] <= t) & (t <= times[-1])
        t = jnp.where(inside, t, jnp.clip(lax.stop_gradient(t), times[0], times[-1]))
        piece = self._piece(times, lax.stop_gradient(t))
        elapsed = t - times[piece]
        highest, *lower = self.coefficients[:, piece].astype(t.dtype)
        value = highest
        for coefficient in lower:
            value = value * elapsed + coefficient
        return value

    def _piece(self, times: Float[Array, " n"], t: Float[Array, ""]) -> Int[Array, ""]:
        """The last piece that begins at this time or before."""
        last = self.coefficients.shape[1] - 1
        if not self.uniform:
            after = jnp.searchsorted(times, t, side="right")
            return jnp.clip(after - 1, 0, last)
        mean = (times[-1] - times[0]) / (times.size - 1)
        guess = jnp.floor((t - times[0]) / mean).astype(int)
        guess = jnp.clip(guess, 0, times.size - 1)
        # The time is in the piece guessed or one beside it, by rounding and by uneven samples.
        below = (t < times[guess]).astype(guess.dtype)
        above = (t >= times[jnp.minimum(guess + 1, times.size - 1)]).astype(guess.dtype)
        return jnp.clip(guess - below + above, 0, last)


def _samples(
    times: Any, values: Any
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n *shape"]]:
    source = in_memory("signal")
    times = np.array(times, dtype=np.float64)
    values = np.array(values, dtype=np.float64)
    if times.ndim != 1 or values.shape[:1] != times.shape:
        raise DataError(
            f"signal: times have the shape {times.shape}, values {values.shape}; they must be "
            "(n,) and (n, ...)."
        )
    check_times(source, "time", times)
    wrong = np.argwhere(~np.isfinite(values))
    if wrong.size:
        place = tuple(int(index) for index in wrong[0])
        raise DataError(
            f"{source.at(place[0])}: the value is {float(values[place])}, not a finite number. "
            "Remove the sample: a signal interpolates over it."
        )
    return times, values


def _signal(
    kind: str,
    times: Float[np.ndarray, " n"],
    coefficients: Float[np.ndarray, "order pieces *shape"],
    uniform: bool | None,
) -> Signal:
    if uniform is None:
        # Up to a quarter of an interval the piece is found from that which arithmetic guesses.
        even = np.linspace(times[0], times[-1], times.size)
        mean = (times[-1] - times[0]) / (times.size - 1)
        uniform = bool(np.max(np.abs(times - even)) < 0.25 * mean)
    dtype = jnp.asarray(0.0).dtype
    return Signal(jnp.asarray(times, dtype), jnp.asarray(coefficients, dtype), kind, uniform)
