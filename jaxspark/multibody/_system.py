"""A mechanism's equations in joint coordinates, as a system for all solvers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar
from .._system import AbstractStructuredSystem, Accelerations
from ._closure import Loops
from ._dynamics import in_ground, mass, momentum, needed, projected
from ._forces import Forces
from ._kinematics import Places, places, Rates, rates, transforms, transport, velocity
from ._tables import Tables, tables_of
from ._tree import Tree


class TreeSystem(AbstractStructuredSystem):
    r"""Rigid bodies in the coordinates of a spanning tree, with loops as constraints.

        q' = v(q, z),   M(q) z' = h(t, q, z) - C(q)^T lam,   0 = g(q)

    Made by [`jaxspark.multibody.Mechanism`][]. `args` are the mechanism's parameters, to which
    others may be added for forces of one's own.

    - `tree`, `loops`, `forces`: what it consists of.

    Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, chapters 5, 6 and 8.
    """

    tree: Tree = eqx.field(static=True)
    loops: Loops = eqx.field(static=True)
    forces: Forces = eqx.field(static=True)

    def prepared(self, args: Args) -> Tables:
        """All that is constant while the mechanism moves."""
        return args if isinstance(args, Tables) else _tables(self.tree, self.loops, args)

    @property
    def v(self) -> Any:
        """The derivatives of the coordinates; `None` if they are the velocities."""
        return self._v if len(self.tree.turned) else None

    def _v(self, t, y, z, args):
        del t, args
        return velocity(self.tree, y, z)

    def p(self, t, y, z, args):
        """The momenta `M z`."""
        del t
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        V = rates(self.tree, at.S, z).V
        return momentum(self.tree, tables, at.S, in_ground(at, tables), V, z)

    def f(self, t, y, z, args):
        """The generalised forces, and the change of momenta along the motion.

        `d/dt (S^T H)`, with `H` the momenta of subtrees, is `S'^T H` and the forces' `S^T H'`.
        """
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        V = rates(self.tree, at.S, z).V
        P = in_ground(at, tables)
        change = projected(self.tree, transport(self.tree, at.S, V), products_of(V, P))
        one = jnp.ones((), y.dtype)
        still = Rates(jnp.zeros_like(V), jnp.zeros_like(V))
        return change + self._applied(t, y, z, tables, at, still, P, one)

    @property
    def g(self) -> Any:
        """The loops; `None` if there are none."""
        return self._g if self.loops.count else None

    def _g(self, t, y, args):
        del t
        tables = self.prepared(args)
        return self.loops.positions(tables, transforms(self.tree, tables, y), y)

    @property
    def k(self) -> None:
        """There are no nonholonomic constraints."""

    @property
    def r(self) -> None:
        """The constraint forces are ideal."""

    @property
    def reaction(self) -> None:
        """There is none."""

    @property
    def friction(self) -> None:
        """There is none."""

    def _applied(
        self, t, y, z, tables: Tables, at: Places, of: Rates, P: Array, on: Array
    ) -> Array:
        """Forces of all elements, with weight, less what the motions `of` links need.

        Both are wrenches on links, so that one sum along the tree serves them.
        """
        links = -needed(self.tree, tables, at, P, of, on)
        own, wrenches = self.forces.evaluated(t, y, z, tables, at)
        links = links + on * wrenches
        return projected(self.tree, at.S, links) + on * own

    def accelerations(
        self, t: FloatScalar, y: Array, z: Array, on: FloatScalar, args: Any
    ) -> Accelerations:
        """The equations; see the class."""
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        P = in_ground(at, tables)
        moving = rates(self.tree, at.S, on * z)
        h = self._applied(t, y, z, tables, at, moving, P, on)
        M = mass(self.tree, tables, at, P)
        if not self.loops.count:
            return Accelerations(M, h, jnp.zeros((0, z.size), z.dtype), jnp.zeros(0, z.dtype))
        C = self.loops.jacobian(tables, at, y)
        c = self.loops.accelerations(tables, at, moving, y, on * z, jnp.zeros_like(z))
        return Accelerations(M, h, C, c)

    def balance(
        self,
        t: FloatScalar,
        y: Array,
        z: Array,
        u: Array,
        s: Array,
        mu: Float[Array, " m"],
        on: FloatScalar,
        args: Any,
    ) -> tuple[Array, Array]:
        """The residuals, by inverse dynamics."""
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        P = in_ground(at, tables)
        moving = rates(self.tree, at.S, on * z, u)
        missing = tables.armature * u
        missing = missing - self._applied(t, y, z, tables, at, moving, P, on)
        if not self.loops.count:
            return missing, jnp.zeros(0, z.dtype)
        C = self.loops.jacobian(tables, at, y)
        held = self.loops.accelerations(tables, at, moving, y, on * z, u)
        return missing + jnp.sum(C * mu[:, None], 0), held + jnp.sum(C * (s - u)[None, :], 1)


# One program, also for those who call solvers outside of `jax.jit`.
_tables = jax.jit(tables_of, static_argnums=(0, 1))


def products_of(V: Array, P: Array) -> Array:
    """The momenta of links."""
    return jnp.sum(V[:-1, :, :, None] * P[:, None, :, :], 2)
