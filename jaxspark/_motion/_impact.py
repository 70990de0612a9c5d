"""Impacts: velocities that jump, consistently with all constraints."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .._consistent import mass_metric, nearest, velocity_constraints
from .._custom_types import Function, RealScalarLike
from .._kkt import inverse
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten


def impact(
    system: AbstractConstrainedSystem,
    gap: Function,
    restitution: RealScalarLike | Function,
) -> Callable[..., tuple[Any, Any]]:
    r"""Newton's law of impact: `gap' after = -restitution gap' before`, without friction.

    The impulse acts along the gradient of the gap, and the constraints answer with impulses of
    their own, so that they hold after the impact: of all velocities that satisfy the law and the
    constraints, the new one is the nearest in kinetic energy.

    **Arguments:**

    - `system`: the constrained system.
    - `gap`: `gap(t, y, args)`, the distance to the obstacle (m), a scalar.
    - `restitution`: the coefficient of restitution, between 0 (plastic) and 1 (elastic); or a
        function of `args` that returns it.

    **Returns:** a function `(t, y, z, args) -> (y, z)`, the `reset` of a [`jaxspark.Event`][]
    whose condition is the gap, falling. The velocity is NaN where the impact is not determined.

    Source: Ch. Glocker, *Set-Valued Force Laws*, Springer 2001 (Newton's impact law); its
    formulation as a projection, J. J. Moreau, *Unilateral contact and dry friction in finite
    freedom dynamics*, 1988.
    """

    def reset(t, y, z, args):
        y, z = as_state("y", y), as_state("z", z)
        dtype = jnp.result_type(*jax.tree.leaves(y))
        t, args = jnp.asarray(t, dtype), as_args(args, dtype)
        flat, y0, z0 = flatten(system, t, y, z, args)
        factor = restitution(args) if callable(restitution) else restitution
        factor = jnp.asarray(factor, dtype)

        def distance(t, y):
            return jnp.asarray(gap(t, flat.unravel_y(y), args), dtype).reshape(1)

        # With what it closes over as leaves, through which derivatives flow.
        distance = eqx.filter_closure_convert(distance, t, y0)

        def law(z, parameters):
            flat, t, y, before, factor, distance = parameters

            def approach(z):
                direction = (jnp.ones_like(t), flat.velocity(t, y, z))
                return jax.jvp(distance, (t, y), direction)[1]

            jump = approach(z) + factor * approach(before)
            return jnp.concatenate([velocity_constraints(flat, t, y, z), jump])

        parameters = (flat, t, y0, z0, factor, distance)
        metric = mass_metric(flat, dtype)
        size = flat.nlam + flat.npsi + 1
        after, good = nearest(law, parameters, lambda p: p[3], metric, size, inverse)
        return y, flat.unravel_z(jnp.where(good, after, jnp.nan))

    return reset
