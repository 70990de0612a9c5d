"""What mechanical systems share, however their inertia is given."""

from typing import Any, TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp

from .._custom_types import Function, State
from ._constrained import AbstractConstrainedSystem, Part, require_callable, require_holonomic


def add(*trees):
    """The sum of equally structured PyTrees."""
    return jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *trees)


class AbstractMechanism(AbstractConstrainedSystem):
    """Coordinates `q` with `q' = v`, constraints, and forces that depend on their multipliers."""

    if TYPE_CHECKING:
        # Seen as fields, they would be arguments of every subclass to a type checker.
        @property
        def force(self) -> Function | None: ...
        @property
        def holonomic(self) -> Function | None: ...
        @property
        def nonholonomic(self) -> Function | None: ...
        @property
        def nonideal(self) -> Function | None: ...
    else:
        force: eqx.AbstractVar[Function | None]
        holonomic: eqx.AbstractVar[Function | None]
        nonholonomic: eqx.AbstractVar[Function | None]
        nonideal: eqx.AbstractVar[Function | None]

    def __check_init__(self):
        for name in ("force", "holonomic", "nonholonomic", "nonideal", "friction"):
            require_callable(name, getattr(self, name))
        require_holonomic("friction(t, q, v, lam, args)", self.friction, self.holonomic)
        if self.nonideal is not None and self.nonholonomic is None:
            raise ValueError(
                "nonideal(t, q, v, psi, args) depends on the multipliers psi of "
                "nonholonomic constraints, and there are none."
            )

    @property
    def v(self) -> None:
        """Velocities are the derivatives of the coordinates: `v = z`."""

    @property
    def r(self) -> None:
        """The part of the holonomic constraint forces that is ideal: `r = -g_q^T lam`."""

    @property
    def g(self) -> Function | None:
        """The holonomic constraints."""
        return self.holonomic

    @property
    def k(self) -> Function | None:
        """The nonholonomic constraints."""
        return self.nonholonomic

    @property
    def reaction(self) -> Function | None:
        """`nonideal - k_v^T psi`; without `nonideal`, the ideal reaction is the default.

        Source: L. O. Jay, *Lagrange-d'Alembert SPARK integrators for nonholonomic Lagrangian
        systems*, equation (3.1c), Chetaev's rule, and section 3.3.
        """
        k, nonideal = self.nonholonomic, self.nonideal
        if k is None or nonideal is None:
            return None

        def reaction(t, q, v, psi, args):
            _, transposed = jax.vjp(lambda w: k(t, q, w, args), v)
            ideal = jax.tree.map(jnp.negative, transposed(psi)[0])
            return add(nonideal(t, q, v, psi, args), ideal)

        return reaction

    def forces(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The forces that the user gave, for `parts`."""
        parts = (
            Part("force", self.force, (y, z), z, "z"),
            Part("nonideal", self.nonideal, (y, z, psi), z, "z"),
            Part("friction", self.friction, (y, z, lam), z, "z"),
        )
        return tuple(part for part in parts if part.function is not None)
