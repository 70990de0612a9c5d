"""Whether the updates of an iteration are rounding errors of what it solves."""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ._lazily import lazily


T = TypeVar("T")

# Of the standard deviation of rounding errors: updates no larger than so many are nothing else.
ALLOWED = 8.0


def is_noise(
    update: Callable[[T], Any],
    size: Callable[[Any], Float[Array, ""]],
    x: T,
    last: T,
    asked: Bool[Array, ""],
) -> Bool[Array, ""]:
    """Whether the update at `x` is no larger than a few rounding errors.

    Short levers amplify rounding errors of the constraints, far from the origin above all, by
    factors that nobody knows. The second difference of updates, `u(x + d) - 2 u(x) + u(x - d)`,
    has nothing but noise in it, of variance `6 sigma^2`, if `d` is so small that the update is a
    linear function.

    **Arguments:**

    - `update`: of the iteration, as a function of where it is; a PyTree.
    - `size`: of an update.
    - `x`: where the iteration no longer makes progress.
    - `last`: its last change of `x`, which sets how far apart the points are: so small that the
        update is linear.
    - `asked`: only then anything is computed.

    ??? cite "Reference"
        J. J. Moré & S. M. Wild, *Estimating computational noise*, SIAM J. Sci. Comput. 33 (2011),
        section 3: `sigma_k^2 = (k!)^2 / (2k)! E[(Delta^k f)^2]`, with `k = 2`.
    """

    def small(x):
        def at(side):
            def moved(x, d):
                return x + side * 2 * signs(d) * d

            return update(jax.tree.map(moved, x, last))

        sides = jnp.asarray([-1.0, 0.0, 1.0], jax.tree.leaves(x)[0].dtype)
        updates = jax.lax.map(at, sides)
        difference = jax.tree.map(lambda u: u[0] - 2 * u[1] + u[2], updates)
        centre = jax.tree.map(lambda u: u[1], updates)
        noise = size(difference) / 6**0.5
        return size(centre) <= ALLOWED * noise

    return lazily(asked, small, x, jnp.asarray(False))


def signs(like: Array) -> Array:
    """Numbers between 1/2 and 1 of both signs, without a pattern, and always the same."""
    generator = np.random.default_rng(7)
    parts = generator.uniform(0.5, 1.0, like.shape) * generator.choice([-1.0, 1.0], like.shape)
    return jnp.asarray(parts, like.dtype)
