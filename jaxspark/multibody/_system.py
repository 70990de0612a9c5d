"""A mechanism's equations in joint coordinates, as a system for all solvers."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar
from .._system import AbstractStructuredSystem, Accelerations
from ._articulated import Articulated, FEWEST
from ._closure import Loops
from ._dynamics import in_ground, momentum, needed, projected
from ._forces import Forces
from ._friction import Frictions
from ._kinematics import down, Places, places, Rates, rates, transforms, transport, velocity
from ._reactions import of_cut_joints
from ._rows import Moving, Rows
from ._tables import Tables, tables_of
from ._tree import Tree


class TreeSystem(AbstractStructuredSystem):
    r"""Rigid bodies in the coordinates of a spanning tree, with loops as constraints.

        q' = v(q, z),   M(q) z' = h(t, q, z) - C^T (lam, psi),   0 = g(t, q),   0 = k(t, q, z)

    Made by [`jaxspark.multibody.Mechanism`][]. `args` are the mechanism's parameters, to which
    others may be added for forces of one's own.

    - `tree`, `loops`, `rolling`, `forces`, `dry`: what it consists of. `loops` are all holonomic
        constraints, `rolling` all nonholonomic ones, `dry` is friction in joints.

    Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, chapters 5, 6 and 8.
    """

    tree: Tree = eqx.field(static=True)
    loops: Loops = eqx.field(static=True)
    rolling: Rows = eqx.field(static=True)
    forces: Forces = eqx.field(static=True)
    dry: Frictions = eqx.field(static=True)

    def prepared(self, args: Args) -> Tables:
        """All that is constant while the mechanism moves."""
        return args if isinstance(args, Tables) else _tables(self.tree, self.loops, args)

    @property
    def v(self) -> Any:
        """The derivatives of the coordinates; `None` if they are the velocities."""
        return self._v if len(self.tree.turned) or self.forces.size else None

    def _v(self, t, y, z, args):
        moved = velocity(self.tree, y, z)
        if not self.forces.size:
            return moved
        args = args.args if isinstance(args, Tables) else args
        return jnp.concatenate([moved, self.forces.rates(t, y, z, args)])

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
        tables = self.prepared(args)
        return self.loops.positions(t, tables, transforms(self.tree, tables, y), y)

    @property
    def k(self) -> Any:
        """Rolling and the like; `None` if there is none."""
        return self._k if self.rolling.names else None

    def _k(self, t, y, z, args):
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        moving = Moving(y, z, rates(self.tree, at.S, z).V)
        return jnp.concatenate(self.rolling.rates(t, tables, at, moving))

    @property
    def r(self) -> None:
        """The constraint forces are ideal."""

    @property
    def reaction(self) -> None:
        """There is none."""

    @property
    def friction(self) -> Any:
        """That of joints; `None` if there is none."""
        return self._friction if self.dry.elements else None

    def _friction(self, t, y, z, lam, args):
        del t
        tree, tables = self.tree, self.prepared(args)
        at = places(tree, tables, y)
        V = down(tree, at.S * z[:, None, None])
        of_cut = of_cut_joints(self.loops, tables, at, self.loops.of_all(lam))
        links = jnp.zeros((tree.n + 1, 3, 4), y.dtype)
        wrenches = self.dry.wrenches(tables, at.T, V, of_cut)
        for number, W in zip(self.dry.at, wrenches, strict=True):
            parent, child = self.dry.ends(number)
            links = links.at[tree.link_of[child]].add(W).at[tree.link_of[parent]].add(-W)
        return projected(tree, at.S, links[:-1])

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
        masses = Articulated(at.S, P, tables.armature, self.tree)
        held = self._held(t, y, z, jnp.zeros_like(z), moving, at, on, tables)
        return Accelerations(masses.matrix(), h, *held, masses if self.tree.nz >= FEWEST else None)

    def _held(
        self, t, y: Array, z: Array, u: Array, of: Rates, at: Places, on: Any, tables: Tables
    ) -> tuple[Array, Array, Array]:
        """`C`, `b` and `C u + c` of all constraints."""
        both, size = [], len(self.rolling.names)
        if not self.loops.count and not size:
            return jnp.zeros((0, z.size), z.dtype), jnp.zeros(0, z.dtype), jnp.zeros(0, z.dtype)
        # Motions `of` links are times `on`.
        own = bool(self.loops.others.names or size)
        moving = Moving(y, z, down(self.tree, at.S * z[:, None, None]) if own else of.V)
        if self.loops.count:
            both.append(self.loops.equations(t, on, tables, at, of, moving, u))
        if size:
            rolling = self.rolling.equations(t, on, tables, at, of.A, moving, u)
            both.append(tuple(map(jnp.concatenate, rolling)))
        C, b, c = zip(*both, strict=True)
        return jnp.concatenate(C), jnp.concatenate(b), jnp.concatenate(c)

    def balance(
        self,
        t: FloatScalar,
        y: Array,
        z: Array,
        u: Array,
        mu: Float[Array, " m"],
        on: FloatScalar,
        args: Any,
    ) -> tuple[Array, Array, Array]:
        """The residuals, by inverse dynamics."""
        tables = self.prepared(args)
        at = places(self.tree, tables, y)
        P = in_ground(at, tables)
        moving = rates(self.tree, at.S, on * z, u)
        missing = tables.armature * u
        missing = missing - self._applied(t, y, z, tables, at, moving, P, on)
        C, b, held = self._held(t, y, z, u, moving, at, on, tables)
        return missing + jnp.sum(C * mu[:, None], 0), held, b


# One program, also for those who call solvers outside of `jax.jit`.
_tables = jax.jit(tables_of, static_argnums=(0, 1))


def products_of(V: Array, P: Array) -> Array:
    """The momenta of links."""
    return jnp.sum(V[:-1, :, :, None] * P[:, None, :, :], 2)
