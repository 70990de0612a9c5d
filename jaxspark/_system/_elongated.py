"""Stiff potentials as coordinates of their own."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .._custom_types import Args, Function, RealScalarLike, State
from ._check import as_state
from ._constrained import AbstractConstrainedSystem, Part, require_callable


class Elongated(AbstractConstrainedSystem):
    r"""A system whose stiff springs are coordinates, held to what they measure by constraints.

    Springs with the elongations `eta(t, y)`, stiffness `k` and damping `d` get the coordinates
    `e` and the constraints `eta(t, y) - e = 0`; their forces `-k e - d e'` act on `e` alone,
    which has no mass. The mechanics are the same. But the forces are linear and along
    coordinates, so that Newton's iteration does not see their geometry, and an elongation of
    size `1 / k` does not drown in the rounding error of a length.

    States are the pairs `(y, e)` and `(z, e')`, which [`jaxspark.stiff.elongate`][] makes.
    Multipliers of the holonomic constraints are the pair of those of `g` and the springs' tensions
    `k e + d e'`; only these, if there is no `g`. Such systems are for methods of any type but
    Lobatto IIIA-IIIB, which need a regular mass matrix; [`jaxspark.GGL`][] damps what is stiff.

    The springs act on `z` by `-(eta_y v_z)^T (k e + d e')`, which is their force where `z` are
    velocities. Tensions are less accurate than positions by one or two orders of the method.

    **Arguments:**

    - `system`: the system without the springs.
    - `eta`: `eta(t, y, args)`, the elongations (m or rad), an array, zero where they are
        relaxed.
    - `stiffness`: `k` (N/m or N m/rad), a number, an array shaped like the elongations, or a
        function of `args`.
    - `damping`: `d`, likewise (N s/m or N m s/rad). Default: none.

    **Raises:** `TypeError` if `system` is not a constrained system or `eta` not a function.

    ??? cite "Reference"
        J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
        highly oscillatory constrained multibody dynamic systems*, section 4.
    """

    system: AbstractConstrainedSystem
    eta: Function
    stiffness: Any
    damping: Any = 0.0

    def __check_init__(self):
        if not isinstance(self.system, AbstractConstrainedSystem):
            raise TypeError(f"system must be a jaxspark system; got {self.system!r}.")
        require_callable("eta", self.eta, optional=False)

    @property
    def v(self) -> Function | None:
        """The velocity of the system, and `e'`."""
        own = self.system.v
        return own and (lambda t, y, z, args: (own(t, y[0], z[0], args), z[1]))

    @property
    def p(self) -> Function:
        """The momenta of the system; springs have none."""
        own = self.system.p

        def momentum(t, y, z, args):
            return (z[0] if own is None else own(t, y[0], z[0], args)), jnp.zeros_like(z[1])

        return momentum

    def f(self, t: Any, y: State, z: State, args: Args) -> State:
        """The forces of the system, and `-k e - d e'`."""
        k = _value("stiffness", self.stiffness, args, y[1])
        d = _value("damping", self.damping, args, y[1])
        return self.system.f(t, y[0], z[0], args), -k * y[1] - d * z[1]

    @property
    def g(self) -> Function:
        """The constraints of the system, and `eta(t, y) - e`."""
        own = self.system.g

        def holonomic(t, y, args):
            _require_pair("y", y)
            springs = jnp.asarray(self.eta(t, y[0], args)) - y[1]
            return springs if own is None else (own(t, y[0], args), springs)

        return holonomic

    @property
    def r(self) -> Function | None:
        """The holonomic constraint forces, where those of the system are not ideal."""
        own = self.system.r
        if own is None:
            return None

        def force(t, y, lam, args):
            forces = own(t, y[0], lam[0], args)
            zeros = jax.tree.map(jnp.zeros_like, forces)

            def rate(z):
                direction = z if self.system.v is None else self.system.v(t, y[0], z, args)
                return jax.jvp(lambda y: self.eta(t, y, args), (y[0],), (direction,))[1]

            pulled = jax.vjp(rate, zeros)[1](lam[1])[0]
            return jax.tree.map(jnp.subtract, forces, pulled), lam[1]

        return force

    @property
    def k(self) -> Function | None:
        """The nonholonomic constraints of the system."""
        own = self.system.k
        return own and (lambda t, y, z, args: own(t, y[0], z[0], args))

    @property
    def reaction(self) -> Function | None:
        """The nonholonomic constraint forces of the system."""
        own = self.system.reaction
        if own is None:
            return None
        return lambda t, y, z, psi, args: (own(t, y[0], z[0], psi, args), jnp.zeros_like(z[1]))

    @property
    def friction(self) -> Function | None:
        """The friction of the system."""
        own = self.system.friction
        if own is None:
            return None
        return lambda t, y, z, lam, args: (own(t, y[0], z[0], lam[0], args), jnp.zeros_like(z[1]))

    def stored(self, e: Array, args: Args) -> Array:
        """The energy of the springs, `k e^2 / 2` (J)."""
        return jnp.sum(_value("stiffness", self.stiffness, args, e) * e**2) / 2

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The functions of the system, and the elongations, and what they should return."""
        springs = Part("eta", self.eta, (y[0],), y[1], "the elongations e of the state (y, e)")
        own = lam if self.system.g is None else lam[0]
        return (*self.system.parts(y[0], z[0], own, psi), springs)


def _value(name: str, x: Any, args: Args, e: Array) -> Array:
    value = jnp.asarray(x(args) if callable(x) else x, e.dtype)
    if value.shape not in ((), e.shape):
        raise ValueError(f"{name} has shape {value.shape}, but the elongations {e.shape}.")
    return value


def _require_pair(name: str, state: State) -> None:
    if not isinstance(state, (tuple, list)) or len(state) != 2:
        raise TypeError(
            f"The states of jaxspark.stiff.Elongated are the pairs (y, e) and (z, e'), which "
            f"jaxspark.stiff.elongate makes; {name} is {type(state).__name__}."
        )


def elongate(
    system: Elongated, t: RealScalarLike, y: State, z: State, args: Args = None
) -> tuple[State, State]:
    """The state of a system with springs, from that of the system without.

    **Arguments:**

    - `system`: a [`jaxspark.stiff.Elongated`][] system.
    - `t`: the time (s).
    - `y`, `z`: coordinates and velocities of `system.system`, the system without springs.
    - `args`: passed to the system's functions.

    **Returns:** the pairs `(y, e)` and `(z, e')`, with `e = eta(t, y)` and `e'` its rate.

    **Raises:** `TypeError` if `system` is not a [`jaxspark.stiff.Elongated`][].

    Source: J. Yen & L. Petzold, as for [`jaxspark.stiff.Elongated`][].
    """
    if not isinstance(system, Elongated):
        raise TypeError(f"system must be jaxspark.stiff.Elongated(...); got {system!r}.")
    y, z = as_state("y", y), as_state("z", z)
    t = jnp.asarray(t, jnp.result_type(*jax.tree.leaves(y)))
    own = system.system.v
    rate = z if own is None else own(t, y, z, args)
    e, edot = jax.jvp(
        lambda t, y: jnp.asarray(system.eta(t, y, args)), (t, y), (jnp.ones_like(t), rate)
    )
    return (y, e), (z, edot)
