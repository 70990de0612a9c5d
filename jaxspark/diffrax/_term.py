"""The constrained system as a term that diffrax passes to its solvers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from diffrax import AbstractTerm
from jaxtyping import Array, Float

from .._consistent import flat_multipliers
from .._custom_types import Args, FloatScalar, State
from .._system import AbstractConstrainedSystem, as_args, as_state, FlatSystem, flatten


class Point(eqx.Module):
    """A state of a constrained system: all that a step needs to know.

    - `system`, `args`: as the user gave them, Python floats in `args` as arrays.
    - `t`: the time, in the user's direction even where diffrax runs it backward.
    - `y`, `z`: coordinates and velocities.
    """

    system: AbstractConstrainedSystem
    args: Args
    t: FloatScalar
    y: State
    z: State

    def flat(self) -> tuple[FlatSystem, Float[Array, " n"]]:
        """The system as functions of vectors, bound to its args; the state as a vector."""
        flat, y, z = flatten(self.system, self.t, self.y, self.z, self.args)
        return flat, jnp.concatenate([y, z])


class ConstrainedTerm(AbstractTerm):
    """A constrained system as a term of `diffrax.diffeqsolve`, for states `(y, z)`.

    With [`jaxspark.diffrax.DiffraxSolver`][] as the solver:

        diffrax.diffeqsolve(
            ConstrainedTerm(system), DiffraxSolver(jaxspark.Gauss(3)),
            t0, t1, None, (y0, z0), args, stepsize_controller=diffrax.PIDController(rtol, atol),
        )

    **Arguments:**

    - `system`: the constrained system.
    """

    system: AbstractConstrainedSystem

    def vf(self, t: Any, y: Any, args: Args) -> Point:
        """The system with its args at a state, from which a solver makes what it needs.

        **Raises:** `ValueError` if the state is not a pair `(y, z)`.
        """
        if not isinstance(y, (tuple, list)) or len(y) != 2:
            raise ValueError(f"The state must be the pair (y, z); got {type(y).__name__}.")
        return point(self.system, t, y[0], y[1], args)

    def contr(self, t0: Any, t1: Any, **kwargs) -> Any:
        """The step size, signed."""
        del kwargs
        return t1 - t0

    def prod(self, vf: Point, control: Any) -> Any:
        """The derivative `(y', z')` of the underlying ODE times the step size."""
        return jax.tree.map(lambda x: x * control, derivative(vf))


def point(system: AbstractConstrainedSystem, t: Any, y: Any, z: Any, args: Args) -> Point:
    """A state of a constrained system, checked."""
    y, z = as_state("y", y), as_state("z", z)
    dtype = jnp.result_type(*jax.tree.leaves(y))
    return Point(system, as_args(args, dtype), jnp.asarray(t, dtype), y, z)


def pair(flat: FlatSystem, x: Float[Array, " n"]) -> tuple[State, State]:
    """The state `(y, z)`, or something as its derivative, of a vector."""
    return flat.unravel_y(x[: flat.ny]), flat.unravel_z(x[flat.ny :])


# Compiled: diffrax traces a step many times, this but once.
@eqx.filter_jit
def derivative(at: Point) -> tuple[State, State]:
    """`(y', z')` of the underlying ODE."""
    flat, x = at.flat()
    y, z = x[: flat.ny], x[flat.ny :]
    zdot = flat_multipliers(flat, at.t, y, z)[0]
    return pair(flat, jnp.concatenate([flat.velocity(at.t, y, z), zdot]))
