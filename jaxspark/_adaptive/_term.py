"""The constrained system as a term that diffrax passes to its solvers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractTerm
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten
from ._underlying import flat_underlying


class Bound(eqx.Module):
    """A system with its args at a state: all that a step needs to know.

    - `t`: the time, in the user's direction even where diffrax runs it backward.
    - `system`: as functions of vectors.
    - `y`, `z`: the state as vectors.
    """

    t: FloatScalar
    system: FlatSystem
    y: Float[Array, " ny"]
    z: Float[Array, " nz"]


class ConstrainedTerm(AbstractTerm):
    """A constrained system as a term of `diffrax.diffeqsolve`, for states `(y, z)`.

    With [`jaxspark.DiffraxSolver`][] as the solver:

        diffrax.diffeqsolve(
            jaxspark.ConstrainedTerm(system), jaxspark.DiffraxSolver(jaxspark.Gauss(3)),
            t0, t1, None, (y0, z0), args, stepsize_controller=diffrax.PIDController(rtol, atol),
        )

    **Arguments:**

    - `system`: the constrained system.
    """

    system: AbstractConstrainedSystem

    def vf(self, t: Any, y: Any, args: Args) -> Bound:
        """The system bound to its args, and the state as vectors."""
        coordinates, velocities = state_pair(y)
        return bound(self.system, t, coordinates, velocities, args)

    def contr(self, t0: Any, t1: Any, **kwargs) -> Any:
        """The step size, signed."""
        del kwargs
        return t1 - t0

    def prod(self, vf: Bound, control: Any) -> Any:
        """The derivative `(y', z')` of the underlying ODE times the step size."""
        zdot, _, _ = flat_underlying(vf.system, vf.t, vf.y, vf.z)
        ydot = vf.system.velocity(vf.t, vf.y, vf.z)
        return vf.system.unravel_y(ydot * control), vf.system.unravel_z(zdot * control)


def state_pair(state: Any) -> tuple[Any, Any]:
    """The state of diffrax as coordinates and velocities.

    **Raises:** `ValueError` if it is not a pair.
    """
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise ValueError(f"The state must be the pair (y, z); got {type(state).__name__}.")
    return state[0], state[1]


def bound(system: AbstractConstrainedSystem, t: Any, y: Any, z: Any, args: Args) -> Bound:
    """The system bound to its args, and the state as vectors."""
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    t = jnp.asarray(t, dtype)
    flat, flat_y, flat_z = flatten(system, t, y, z, as_args(args, dtype))
    return Bound(t, flat, flat_y, flat_z)
