"""Systems given by their Lagrangian: every derivative comes from automatic differentiation."""

from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import Function, State
from ._constrained import Part, require_callable
from ._mechanism import AbstractMechanism, add


class LagrangianSystem(AbstractMechanism):
    r"""A Lagrangian system with holonomic and nonholonomic constraints.

        d/dt L_v = L_q + force + friction + nonideal - g_q^T lam - k_v^T psi,   q' = v
        0 = g(t, q),   0 = k(t, q, v)

    **Arguments:**

    - `lagrangian`: `L(t, q, v, args)`, a scalar (J). `q` and `v` are arrays or PyTrees of
        arrays, structured alike.
    - `holonomic`: `g(t, q, args)`, the holonomic constraints, an array or a PyTree of arrays; they
        may depend on time.
    - `nonholonomic`: `k(t, q, v, args)`, the nonholonomic constraints, likewise; they may be
        nonlinear in `v` (Chetaev's rule is used).
    - `force`: `force(t, q, v, args)`, the generalised forces that have no potential,
        structured as `q` (N, N m).
    - `nonideal`: `nonideal(t, q, v, psi, args)`, a force that depends on the multipliers of
        the nonholonomic constraints, dry friction for instance, structured as `q`.
    - `friction`: `friction(t, q, v, lam, args)`, the same for the multipliers of the holonomic
        constraints. Only for [`jaxspark.Lobatto`][] and [`jaxspark.GGL`][]; for other methods
        such a constraint can be given at the velocity level, as a nonholonomic one.

    All but `lagrangian` are `None` by default: there is no such constraint or force.

    **Raises:** `TypeError` if an argument is not a function, `ValueError` if `nonideal` is
    given without `nonholonomic`, or `friction` without `holonomic`.

    ??? cite "Reference"
        L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
        systems*, equations (2.1), (3.1c) and section 3.3.
    """

    lagrangian: Function
    holonomic: Function | None = None
    nonholonomic: Function | None = None
    force: Function | None = None
    nonideal: Function | None = None
    friction: Function | None = None

    def __check_init__(self):
        require_callable("lagrangian", self.lagrangian, optional=False)

    def p(self, t, y, z, args):
        """The momenta `L_v`."""
        return jax.grad(self.lagrangian, 2)(t, y, z, args)

    def f(self, t, y, z, args):
        """`L_q + force`."""
        conservative = jax.grad(self.lagrangian, 1)(t, y, z, args)
        return conservative if self.force is None else add(conservative, self.force(t, y, z, args))

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The Lagrangian and the forces, and what they should return."""
        number = jnp.zeros((), jnp.result_type(*jax.tree.leaves(y)))
        own = Part("lagrangian", self.lagrangian, (y, z), number, "a number")
        return (own, *self.forces(y, z, lam, psi))
