"""Momentum maps."""

from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar, Function, State
from .._system import (
    AbstractConstrainedSystem,
    as_args,
    check_like,
    flatten,
    over_times,
    require_callable,
)


def momentum_map(
    system: AbstractConstrainedSystem,
    generator: Function,
    t: Any,
    y: State,
    z: State,
    args: Args = None,
) -> Float[Array, "..."]:
    """The momentum along a symmetry, `p(t, y, z)` times its generator.

    It is conserved if the Lagrangian and the holonomic constraints are invariant under the
    flow of the generator, no other force acts along it, and the generator satisfies the
    nonholonomic constraints, `k_z generator = 0` (a horizontal symmetry). Otherwise it changes
    at the rate `-(k_z generator) psi`, even if the constraints are invariant.

    **Arguments:**

    - `system`: the constrained system.
    - `generator`: `generator(t, y, args)`, the velocities with which the symmetry moves the
        coordinates, structured as `z`. For instance `[1, 0]`, a translation, or `[-y, x]`, a
        rotation.
    - `t`, `y`, `z`: a time and a state; or a vector of times, and states with a leading axis,
        for instance `solution.ts, solution.ys, solution.zs`.
    - `args`: passed to the generator and the system's functions.

    **Returns:** a number, or a vector with one for each time.

    **Raises:** `TypeError` if the generator is not a function, `ValueError` if its values are not
    structured as `z`.

    Source: J. E. Marsden & M. West, *Discrete mechanics and variational integrators*, Acta
    Numerica 10 (2001), section 1.2; A. M. Bloch, *Nonholonomic Mechanics and Control*, section
    5.7.
    """
    require_callable("generator", generator, optional=False)

    def at(t, y, z):
        return _momentum_map(system, generator, t, y, z, as_args(args, t.dtype))

    return over_times(at, t, y, z)


@eqx.filter_jit
def _momentum_map(
    system: AbstractConstrainedSystem,
    generator: Function,
    t: FloatScalar,
    y: State,
    z: State,
    args: Args,
) -> FloatScalar:
    flat, flat_y, flat_z = flatten(system, t, y, z, args)
    direction = jax.tree.map(lambda x: jnp.asarray(x, t.dtype), generator(t, y, args))
    check_like("generator", direction, z, "z")
    along, _ = jax.flatten_util.ravel_pytree(direction)
    return jnp.sum(flat.momentum(t, flat_y, flat_z) * along)
