r"""Rows of constraints that are given by functions, with first and second derivatives.

With the transforms `X_i` of the bodies, `X_i' = V_i X_i`, a holonomic constraint `phi(t, X) = 0`
has the rate `b = phi_t + phi_X X'`, and a nonholonomic one is `b(t, X, V) = 0` itself. Of both

    C_d = sum_i b_{V_i} S_d    over the bodies that velocity `d` moves,
    b' = b_t + b_X X' + b_V V'.

The functions are small, so that they are differentiated; the kinematics of the mechanism is not.

Source: E. J. Haug, *Computer Aided Kinematics and Dynamics of Mechanical Systems*, section 9.2, for
time-dependent constraints; J. I. Neimark & N. A. Fufaev, *Dynamics of Nonholonomic Systems*,
chapter III.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._constraint import array, Constraint
from ._joints import GROUND
from ._kinematics import Places, products
from ._rotations import quaternion_rate
from ._tables import Tables
from ._tree import Tree


class Moving(NamedTuple):
    """Coordinates and velocities, and the motions of links at these, the last the ground."""

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    V: Float[Array, "n1 3 4"]

    def still(self) -> "Moving":
        """The same without motion."""
        return Moving(self.y, jnp.zeros_like(self.z), jnp.zeros_like(self.V))


class Rows:
    """The rows of one kind of all constraints.

    **Arguments:**

    - `tree`: of the mechanism.
    - `constraints`: all of its; those with rows of this kind are used.
    - `holonomic`: which kind.
    - `args`: the mechanism's parameters, to find how many rows there are.

    **Attributes:**

    - `of_rows`: the constraint of each row; `names`: their names.

    **Raises:** `ValueError` if a constraint names a body or joint that is not there.
    """

    def __init__(self, tree: Tree, constraints: Sequence[Constraint], holonomic: bool, args: Any):
        self.tree, self.holonomic = tree, holonomic
        self.constraints = [
            x for x in constraints if (x.holonomic if holonomic else x.nonholonomic)
        ]
        self.numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {GROUND: -1}
        self.at = [self._indices(x) for x in self.constraints]
        moves = tree.moves
        self.moved = [
            None if x.joint else np.stack([moves[tree.link_of[k]] for k in at])
            for x, at in zip(self.constraints, self.at, strict=True)
        ]
        self.of_rows: list[Constraint] = []
        for x in self.constraints:
            self.of_rows += [x] * self._count(x, args)
        self.names = [x.name for x in self.of_rows]

    def _indices(self, of: Constraint) -> Any:
        """Numbers of bodies, or the places of a joint's coordinates and velocities."""
        tree = self.tree
        if of.joint is None:
            for name in of.bodies:
                if name not in self.numbers:
                    raise ValueError(
                        f"{of!r} is for {name!r}, which is none of the bodies; there are "
                        f"{sorted(self.numbers)}."
                    )
            return [self.numbers[name] for name in of.bodies]
        links = [k for k, x in enumerate(tree.links) if tree.joints[x.joint].name == of.joint]
        if not links:
            raise ValueError(
                f"{of!r} is for joint {of.joint!r}, which has no coordinates: there is no such "
                "joint, or it closes a loop, as those with a JointFriction do."
            )
        links.sort(key=lambda k: tree.links[k].element)
        kinds = {"axis": (1, 1), "ball": (4, 3), "free": (7, 6)}
        y = [tree.y_at[k] + np.arange(kinds[tree.links[k].kind][0]) for k in links]
        z = [tree.z_at[k] + np.arange(kinds[tree.links[k].kind][1]) for k in links]
        return np.concatenate(y), np.concatenate(z)

    def _count(self, of: Constraint, args: Any) -> int:
        like = array(0.0)
        if of.joint is None:
            at = tuple(jnp.eye(4, dtype=like.dtype) for _ in of.bodies)
            motion = tuple(jnp.zeros((3, 4), like.dtype) for _ in of.bodies)
        else:
            of_y, of_z = self._indices(of)
            at, motion = jnp.ones(len(of_y), like.dtype), jnp.zeros(len(of_z), like.dtype)
        own = args["constraints"].get(of.name, {})
        out = jax.eval_shape(
            lambda at, motion: (
                of.positions(like, at, own, args)
                if self.holonomic
                else of.rates(like, at, motion, own, args)
            ),
            at, motion,
        )  # fmt: skip
        if len(out.shape) != 1:
            raise ValueError(f"{of!r} must give a vector; its shape is {out.shape}.")
        return out.shape[0]

    def _own(self, of: Constraint, tables: Tables) -> Any:
        return tables.args["constraints"].get(of.name, {})

    def _at(self, number: int, tables: Tables, T: Array, y: Array) -> Any:
        at = self.at[number]
        if self.constraints[number].joint is not None:
            return y[at[0]]
        link_of = self.tree.link_of
        return tuple(products(T[link_of[k]], tables.frames[k]) for k in at)

    def _motion(self, number: int, V: Array, z: Array) -> Any:
        at = self.at[number]
        if self.constraints[number].joint is not None:
            return z[at[1]]
        return tuple(V[self.tree.link_of[k]] for k in at)

    def _drift(self, number: int, at: Any, motion: Any) -> Any:
        """The derivative of the transforms or coordinates."""
        joint = self.constraints[number].joint
        if joint is None:
            zero = jnp.zeros((1, 4), at[0].dtype)
            return tuple(
                jnp.concatenate([products(V[:, :3], X[:3]) + V[:, 3:] * X[3:], zero])
                for V, X in zip(motion, at, strict=True)
            )
        return joint_rate(at, motion)

    def _function(self, number: int, tables: Tables) -> Any:
        """`b(t, X, V)`."""
        of = self.constraints[number]
        own, args = self._own(of, tables), tables.args
        if not self.holonomic:
            return lambda t, at, motion: of.rates(t, at, motion, own, args)

        def rate(t, at, motion):
            along = (jnp.ones_like(t), self._drift(number, at, motion))
            return jax.jvp(lambda t, at: of.positions(t, at, own, args), (t, at), along)[1]

        return rate

    def positions(self, t: Array, tables: Tables, T: Array, y: Array) -> list[Array]:
        """What is zero of positions."""
        t = jnp.asarray(t, y.dtype)
        return [
            x.positions(t, self._at(k, tables, T, y), self._own(x, tables), tables.args)
            for k, x in enumerate(self.constraints)
        ]

    def rates(self, t: Array, tables: Tables, places: Places, moving: Moving) -> list[Array]:
        """`b`."""
        t = jnp.asarray(t, moving.y.dtype)
        return [
            self._function(k, tables)(
                t, self._at(k, tables, places.T, moving.y), self._motion(k, moving.V, moving.z)
            )
            for k in range(len(self.constraints))
        ]

    def jacobian(
        self, t: Array, tables: Tables, places: Places, moving: Moving
    ) -> list[Float[Array, "rows nz"]]:
        """`C`."""
        out, t = [], jnp.asarray(t, moving.y.dtype)
        for k in range(len(self.constraints)):
            at = self._at(k, tables, places.T, moving.y)
            function = self._function(k, tables)
            motion = self._motion(k, moving.V, moving.z)
            J = jax.jacrev(lambda motion, f=function, at=at: f(t, at, motion))(motion)
            out.append(self._rows(k, places, J))
        return out

    def equations(
        self, t: Array, on: Any, tables: Tables, places: Places, A: Array, moving: Moving, u: Array
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """`C`, `b` and `b'` with the derivatives `A` of motions at accelerations `u`.

        Of `b'` the rest is times `on`. All three are of one linearisation.
        """
        every, t = [], jnp.asarray(t, moving.y.dtype)
        for k in range(len(self.constraints)):
            at = self._at(k, tables, places.T, moving.y)
            motion = self._motion(k, moving.V, moving.z)
            b, linear = jax.linearize(self._function(k, tables), t, at, motion)
            drift = jax.tree.map(lambda x: on * x, self._drift(k, at, motion))
            change = linear(on * jnp.ones_like(t), drift, self._motion(k, A, u))
            back = jax.linear_transpose(linear, t, at, motion)
            slopes = jax.vmap(back)(jnp.eye(b.size, dtype=b.dtype))[2]
            every.append((self._rows(k, places, slopes), b, change))
        C, b, c = zip(*every, strict=True)
        return list(C), list(b), list(c)

    def _rows(self, number: int, places: Places, slopes: Any) -> Float[Array, "rows nz"]:
        """Rows of `C`, from the derivatives by motions or by a joint's velocities."""
        moved = self.moved[number]
        if moved is None:
            rows = jnp.zeros((slopes.shape[0], self.tree.nz), slopes.dtype)
            return rows.at[:, self.at[number][1]].set(slopes)
        parts = [
            jnp.asarray(mask, J.dtype)[None, :]
            * jnp.sum(J.reshape(-1, 1, 12) * places.S.reshape(1, -1, 12), 2)
            for mask, J in zip(moved, slopes, strict=True)
        ]
        return sum(parts[1:], parts[0])

    def wrenches(
        self, t: Array, tables: Tables, T: Array, moving: Moving, mu: Array
    ) -> list[tuple[int, Float[Array, "3 4"]]]:
        """What multipliers do to the bodies of constraints between bodies, with their numbers."""
        out, begin = [], 0
        for k, of in enumerate(self.constraints):
            at = self._at(k, tables, T, moving.y)
            function = self._function(k, tables)
            value, back = jax.vjp(
                lambda motion, f=function, at=at: f(t, at, motion),
                self._motion(k, moving.V, moving.z),
            )
            (slopes,) = back(mu[begin : begin + value.size])
            begin += value.size
            if of.joint is None:
                numbers = (self.numbers[name] for name in of.bodies)
                out += [(number, -slope) for number, slope in zip(numbers, slopes, strict=True)]
        return out


def joint_rate(y: Array, z: Array) -> Array:
    """The derivative of a joint's coordinates, which end with a quaternion if they are more."""
    if y.size == z.size:
        return z
    shifts = y.size - 4
    return jnp.concatenate([z[:shifts], quaternion_rate(y[shifts:], z[shifts:])])
