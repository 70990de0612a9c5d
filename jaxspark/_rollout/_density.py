"""Reversible variable steps: their density is integrated along with the motion."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar, Function, RealScalarLike
from .._system import FlatSystem, require_callable


class StepDensity(eqx.Module):
    r"""Steps of size about `h scale(t, y, args)`, chosen so that symmetric methods stay symmetric.

    They are for [`jaxspark.solve`][].

    A step size that depends on the last step's error destroys what a symmetric method owes to its
    symmetry, the bounded energy error above all. Here the density `rho` of the steps, about `1 /
    scale`, is a variable of its own:

        rho_{n+1/2} = rho_n + h/2 G(t_n, y_n, z_n),          t_{n+1} = t_n + h / rho_{n+1/2},
        rho_{n+1} = rho_{n+1/2} + h/2 G(t_{n+1}, y_{n+1}, z_{n+1}),     G = -(d/dt scale) / scale.

    Run backward from where it ended, the motion returns to where it started.

    **Arguments:**

    - `scale`: `scale(t, y, args)`, a positive scalar, the size of a step in units of `h`: for
        instance a power of the distance to a singularity.
    - `h`: the unit of the steps, of either sign. It must be given.
    - `number`: how many steps. It must be given.
    - `initial`: the density at the start, to continue or to reverse a motion from its
        `solution.step_density`. Default: `1 / scale(t0, y0, args)`.

    **Raises:** `TypeError` if `scale` is not callable. [`jaxspark.solve`][] raises `ValueError`
    without `h` or `number`.

    Source: E. Hairer & G. Soederlind, *Explicit, time reversible, adaptive step size control*,
    SIAM J. Sci. Comput. 26 (2005); E. Hairer, C. Lubich & G. Wanner, *Geometric Numerical
    Integration*, VIII.3.2 (integrating, reversible controllers).
    """

    scale: Function
    h: RealScalarLike | None = None
    number: int | None = eqx.field(static=True, default=None)
    initial: RealScalarLike | None = None

    def __check_init__(self):
        require_callable("scale", self.scale, optional=False)


class Clock(eqx.Module):
    """The time, what rounding took from it, and the density of the steps."""

    t: FloatScalar
    lost: FloatScalar
    rho: FloatScalar

    def after(self, size: FloatScalar, rho: FloatScalar) -> "Clock":
        """The clock after a step: times add up without accumulating rounding errors."""
        exact = size - self.lost
        t = self.t + exact
        return Clock(t, (t - self.t) - exact, rho)


Growth = Callable[[FloatScalar, Float[Array, " ny"], Float[Array, " nz"]], FloatScalar]


def start_clock(
    density: StepDensity, flat: FlatSystem, t0: FloatScalar, y: Float[Array, " ny"], args: Args
) -> Clock:
    """The clock before the first step."""
    if density.initial is None:
        rho = 1 / _scale(density, flat, args)(t0, y)
    else:
        rho = jnp.asarray(density.initial, t0.dtype)
    return Clock(t0, jnp.zeros_like(t0), rho)


def growth(density: StepDensity, flat: FlatSystem, args: Args) -> Growth:
    """`G(t, y, z)`, the derivative of the density by the number of steps times `h`."""
    scale = _scale(density, flat, args)

    def G(t, y, z):
        value, rate = jax.jvp(scale, (t, y), (jnp.ones_like(t), flat.velocity(t, y, z)))
        return -rate / value

    return G


def _scale(density: StepDensity, flat: FlatSystem, args: Args) -> Callable[[Any, Any], FloatScalar]:
    def scale(t, y):
        out = jnp.asarray(density.scale(t, flat.unravel_y(y), args), y.dtype)
        if out.shape != ():
            raise ValueError(f"scale(t, y, args) must return a scalar; got shape {out.shape}.")
        return out

    return scale
