"""The energy of a system."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar, Function, State
from .._system import (
    AbstractConstrainedSystem,
    as_args,
    check_like,
    Elongated,
    flatten,
    innermost,
    LagrangianSystem,
    over_times,
    require_callable,
    WithBlocks,
)


def energy(
    system: AbstractConstrainedSystem,
    t: Any,
    y: State,
    z: State,
    args: Args = None,
    *,
    potential: Function | None = None,
) -> Float[Array, "..."]:
    """The energy of a state, or of every state of a solution (J).

    It is `L_v v - L` for a [`jaxspark.LagrangianSystem`][]; for other systems `p(t, y, z) z / 2 +
    U(t, y)`, with momenta `p` that are linear in `z`. The energy of springs that are coordinates,
    of a [`jaxspark.stiff.Elongated`][], is added. The energy is conserved if nothing depends on
    time, no force but that of the potential acts, and the constraints do no work: ideal holonomic
    constraints, and ideal nonholonomic ones that are linear in the velocity.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`: a time and a state; or a vector of times, and states with a leading axis,
        for instance `solution.ts, solution.ys, solution.zs`.
    - `args`: passed to the system's functions.
    - `potential`: `U(t, y, args)`, the potential energy (J) of a system that has no Lagrangian,
        without that of springs that are coordinates; `y` are then the other coordinates alone.

    **Returns:** a number, or a vector with one for each time (J).

    **Raises:** `ValueError` if the potential is missing, not a number, or given with a Lagrangian;
    `TypeError` if it is not a function.

    Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
    systems*, equation (2.8).
    """
    if isinstance(innermost(system), LagrangianSystem):
        if potential is not None:
            raise ValueError("The potential energy is part of the Lagrangian: leave it out.")
    elif potential is None:
        raise ValueError(
            "This system is not given by a Lagrangian, so that its potential energy is not "
            "known: pass potential(t, y, args), zero if there is none."
        )
    require_callable("potential", potential)

    def at(t, y, z):
        return _energy(system, potential, t, y, z, as_args(args, t.dtype))

    return over_times(at, t, y, z)


@eqx.filter_jit
def _energy(
    system: AbstractConstrainedSystem,
    potential: Function | None,
    t: FloatScalar,
    y: State,
    z: State,
    args: Args,
) -> FloatScalar:
    if isinstance(system, WithBlocks):
        return _energy(system.system, potential, t, y, z, args)
    if isinstance(system, Elongated):
        own = _energy(system.system, potential, t, y[0], z[0], args)
        return own + system.stored(y[1], args)
    flat, flat_y, flat_z = flatten(system, t, y, z, args)
    momentum = jnp.sum(flat.momentum(t, flat_y, flat_z) * flat_z)
    if isinstance(system, LagrangianSystem):
        return momentum - jnp.asarray(system.lagrangian(t, y, z, args), t.dtype)
    assert potential is not None
    value = jnp.asarray(potential(t, y, args), t.dtype)
    check_like("potential", value, momentum, "a number")
    return 0.5 * momentum + value
