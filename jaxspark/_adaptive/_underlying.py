"""The underlying ODE: the derivatives of the constraints solved for the accelerations."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from .._consistent import flat_multipliers
from .._custom_types import Args, RealScalarLike
from .._system import AbstractConstrainedSystem, as_args, as_state, flatten


def underlying_ode(
    system: AbstractConstrainedSystem,
) -> Callable[[RealScalarLike, Any, Args], tuple[Any, Any]]:
    r"""The vector field `(t, (y, z), args) -> (y', z')` of the underlying ODE.

    The constraints, differentiated until the accelerations appear, are solved for these and
    for the multipliers. The field is for `diffrax.ODETerm`. Along its solutions the constraints
    drift; explicit methods of [`jaxspark.solve`][] project every step and do not drift.

    **Arguments:**

    - `system`: the constrained system.

    **Returns:** a function of `t`, a state `(y, z)` and `args`, which returns `(y', z')`,
    structured as the state. It is NaN where the accelerations are not determined.
    ([`jaxspark.multipliers`][] finds the multipliers.)

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """

    def vector_field(t, state, args):
        y, z = (as_state(name, part) for name, part in zip("yz", state, strict=True))
        dtype = jnp.result_type(*jax.tree.leaves(y))
        t = jnp.asarray(t, dtype)
        flat, flat_y, flat_z = flatten(system, t, y, z, as_args(args, dtype))
        zdot = flat_multipliers(flat, t, flat_y, flat_z)[0]
        return flat.unravel_y(flat.velocity(t, flat_y, flat_z)), flat.unravel_z(zdot)

    return vector_field
