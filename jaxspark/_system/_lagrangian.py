"""Systems given by their Lagrangian: every derivative comes from automatic differentiation."""

from typing import Any

import jax
import jax.numpy as jnp

from .._custom_types import Function, State
from ._constrained import (
    AbstractConstrainedSystem,
    Part,
    require_callable,
    require_holonomic,
)


def add(*trees):
    """The sum of equally structured PyTrees."""
    return jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *trees)


def nonideal_reaction(k: Function, nonideal: Function) -> Function:
    """`nonideal - k_v^T psi`, as a function of `(t, q, v, psi, args)`."""

    def reaction(t, q, v, psi, args):
        _, transposed = jax.vjp(lambda w: k(t, q, w, args), v)
        ideal = jax.tree.map(jnp.negative, transposed(psi)[0])
        return add(nonideal(t, q, v, psi, args), ideal)

    return reaction


def require_psi(nonideal: Function | None, nonholonomic: Function | None) -> None:
    """Raise `ValueError` if there is a nonideal force, but no multiplier for it."""
    if nonideal is not None and nonholonomic is None:
        raise ValueError(
            "nonideal(t, q, v, psi, args) depends on the multipliers psi of "
            "nonholonomic constraints, and there are none."
        )


class LagrangianSystem(AbstractConstrainedSystem):
    r"""A Lagrangian system with holonomic and nonholonomic constraints.

        d/dt L_v = L_q + force + friction + nonideal - g_q^T lam - k_v^T psi,   q' = v
        0 = g(t, q),   0 = k(t, q, v)

    **Arguments:**

    - `lagrangian`: `L(t, q, v, args)`, a scalar (J). `q` and `v` are arrays or PyTrees of
        arrays, structured alike.
    - `holonomic`: `g(t, q, args)`; may depend on time.
    - `nonholonomic`: `k(t, q, v, args)`; may be nonlinear in `v` (Chetaev's rule is used).
    - `force`: `force(t, q, v, args)`, the generalised forces that have no potential,
        structured as `q` (N, N m).
    - `nonideal`: `nonideal(t, q, v, psi, args)`, a force that depends on the multipliers of
        the nonholonomic constraints, dry friction for instance, structured as `q`.
    - `friction`: `friction(t, q, v, lam, args)`, the same for the multipliers of the holonomic
        constraints. Only for [`jaxspark.Lobatto`][]; for other methods such a constraint can be
        given at the velocity level, as a nonholonomic one.

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
        for name in ("holonomic", "nonholonomic", "force", "nonideal", "friction"):
            require_callable(name, getattr(self, name))
        require_holonomic("friction(t, q, v, lam, args)", self.friction, self.holonomic)
        require_psi(self.nonideal, self.nonholonomic)

    @property
    def v(self) -> None:
        """Velocities are the derivatives of the coordinates: `v = z`."""

    def p(self, t, y, z, args):
        """The momenta `L_v`."""
        return jax.grad(self.lagrangian, 2)(t, y, z, args)

    def f(self, t, y, z, args):
        """`L_q + force`."""
        conservative = jax.grad(self.lagrangian, 1)(t, y, z, args)
        return conservative if self.force is None else add(conservative, self.force(t, y, z, args))

    @property
    def reaction(self) -> Function | None:
        """`nonideal - k_v^T psi`; without `nonideal`, the ideal reaction is the default."""
        if self.nonideal is None or self.nonholonomic is None:
            return None
        return nonideal_reaction(self.nonholonomic, self.nonideal)

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The Lagrangian and the forces."""
        number = jnp.zeros((), jnp.result_type(*jax.tree.leaves(y)))
        parts = (
            Part("lagrangian", self.lagrangian, (y, z), number, "a number"),
            Part("force", self.force, (y, z), z, "z"),
            Part("nonideal", self.nonideal, (y, z, psi), z, "z"),
            Part("friction", self.friction, (y, z, lam), z, "z"),
        )
        return tuple(part for part in parts if part.function is not None)

    @property
    def r(self) -> None:
        """Holonomic constraints are ideal: `r = -g_q^T lam`."""

    @property
    def g(self) -> Function | None:
        return self.holonomic

    @property
    def k(self) -> Function | None:
        return self.nonholonomic
