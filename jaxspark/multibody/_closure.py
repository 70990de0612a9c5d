r"""Loops: what holds at the joints that are cut, with first and second derivatives.

A row says of a point or direction `phi` of link `b` that, in the frame of link `a`, it has no
component along `eps` beyond that of `offset`:

    g = eps . (T_a^-1 T_b phi - phi_4 offset).

With the motions `D = V_b - V_a` its derivatives are, `e = R_a eps` and `x = T_b phi`,

    gdot = e . D x,    gddot = e . (A_b - A_a - V_a D + D V_b) x.

Rows in the frame of `a` do not feel what moves both links. Those of a planar loop in space that
say nothing are constant combinations of rows, and are taken out once.

Source: R. Featherstone, *Rigid Body Dynamics Algorithms*, section 8.1.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._constraint import array
from ._joints import aligned_rows, rows
from ._kinematics import Places, products, Rates
from ._rows import Moving, Rows
from ._tables import Tables
from ._tree import Tree


class Coupling:
    """Two coordinates of joints along axes that depend on each other, as those of gears.

        first = polynomial(second)

    **Arguments:**

    - `name`: by which its multiplier is known.
    - `first`, `second`: names of joints with one coordinate; without `second` the first is held.
    - `polynomial`: coefficients, that of the constant first. A gear of ratio `r` is `(0, r)`.

    **Raises:** `ValueError` for coefficients that are no vector.
    """

    def __init__(self, name: str, first: str, second: str | None = None, *, polynomial: Any = 0.0):
        self.name, self.first, self.second = name, first, second
        self.polynomial = np.atleast_1d(np.asarray(polynomial, float))
        if self.polynomial.ndim != 1 or not np.all(np.isfinite(self.polynomial)):
            raise ValueError(f"polynomial of {name!r} must be a vector of finite coefficients.")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"polynomial": array(self.polynomial)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.first!r}, {self.second!r})"


class Loops:
    """The rows of all loops and couplings.

    **Arguments:**

    - `tree`: of which joints are cut.
    - `couplings`: between coordinates; `others`: rows given by functions.
    - `kept`: combinations of rows that are kept, `(kept, rows)`; `None` keeps all.
    - `aligned`: whether there are rows that exclude opposite axes, for the search of positions.
    """

    def __init__(
        self,
        tree: Tree,
        couplings: Sequence[Coupling] = (),
        others: Rows | None = None,
        kept: np.ndarray | None = None,
        aligned: bool = False,
    ):
        self.tree, self.couplings, self.kept = tree, tuple(couplings), kept
        self.others = Rows(tree, (), True, {}) if others is None else others
        numbers = {body.name: number for number, body in enumerate(tree.bodies)} | {"ground": -1}
        self.rows, first, second, self.names = [], [], [], []
        for number in tree.loops:
            joint = tree.joints[number]
            for axis, other in (aligned_rows if aligned else rows)(joint):
                self.rows.append((number, numbers[joint.parent], numbers[joint.child], axis, other))
                for links, body in ((first, joint.parent), (second, joint.child)):
                    link = tree.link_of[numbers[body]]
                    links.append(tree.n if link < 0 else link)
                self.names.append(joint.name)
        self.first, self.second = np.array(first, int), np.array(second, int)
        # Products of an axis with itself are 1.
        self.targets = np.array([float(row[3] == row[4]) for row in self.rows])
        self.names += [coupling.name for coupling in couplings]
        self.names += self.others.names
        moves = np.concatenate([tree.moves[:-1], np.zeros((1, tree.nz))])
        self.relative = moves[self.second] - moves[self.first]
        self.at = [self._scalars(coupling) for coupling in couplings]

    @property
    def count(self) -> int:
        """How many rows there are, after combination."""
        return len(self.names) if self.kept is None else len(self.kept)

    def _scalars(self, coupling: Coupling) -> list[tuple[int, int]]:
        """Where the coordinates and velocities of its joints are."""
        tree, found = self.tree, []
        for name in (coupling.first, coupling.second):
            if name is None:
                continue
            links = [i for i, link in enumerate(tree.links) if tree.joints[link.joint].name == name]
            if len(links) != 1 or tree.links[links[0]].kind != "axis":
                raise ValueError(
                    f"{coupling!r} is for joints with one coordinate that no loop cuts; {name!r} "
                    "is none of these."
                )
            found.append((tree.y_at[links[0]], tree.z_at[links[0]]))
        return found

    def constants(self, P: Array, C: Array, axes: Array, frames: Array) -> tuple:
        """`eps`, `phi` and `offset` of the rows; see `Tables`."""
        dtype = frames.dtype
        if not self.rows:
            return jnp.zeros((0, 3), dtype), jnp.zeros((0, 4), dtype), jnp.zeros((0, 3), dtype)
        joint, a, b, axis = (np.array([row[k] for row in self.rows], int) for k in range(4))
        points = np.array([row[4] is None for row in self.rows])
        other = np.array([0 if row[4] is None else row[4] for row in self.rows], int)
        of_a = products(take(frames, a % len(frames)), take(P, joint))
        of_b = products(take(frames, b % len(frames)), take(C, joint))
        every = axes.reshape(-1, 3)
        eps = jnp.sum(of_a[:, :3, :3] * take(every, 3 * joint + axis)[:, None, :], 2)
        along = jnp.sum(of_b[:, :3, :3] * take(every, 3 * joint + other)[:, None, :], 2)
        phi = jnp.where(points[:, None], of_b[:, :, 3], jnp.pad(along, ((0, 0), (0, 1))))
        return eps, phi, of_a[:, :3, 3]

    def of_all(self, lam: Float[Array, " m"]) -> Float[Array, " rows"]:
        """Multipliers of all rows with the forces of those that are kept."""
        if self.kept is None:
            return lam
        return jnp.sum(jnp.asarray(self.kept, lam.dtype) * lam[:, None], 0)

    def _combined(self, values: Array) -> Array:
        if self.kept is None:
            return values
        kept = jnp.asarray(self.kept, values.dtype)
        if values.ndim == 1:
            return jnp.sum(kept * values[None, :], 1)
        return jnp.sum(kept[:, :, None] * values[None], 1)

    def _ends(self, tables: Tables, T: Array) -> tuple[Array, Array, Array]:
        """`e`, `x`, and the position of `a`."""
        A = take(T, self.first)
        e = jnp.sum(A[:, :3, :3] * tables.eps[:, None, :], 2)
        x = jnp.sum(take(T, self.second) * tables.phi[:, None, :], 2)
        return e, x, A[:, :3, 3]

    def positions(
        self, t: Any, tables: Tables, T: Array, y: Float[Array, " ny"]
    ) -> Float[Array, " m"]:
        """`g`."""
        e, x, origin = self._ends(tables, T)
        far = jnp.sum(e * (x[:, :3] - origin * x[:, 3:]), 1)
        own = jnp.sum(tables.eps * tables.offset, 1) * x[:, 3]
        parts = [
            far - own - jnp.asarray(self.targets, y.dtype),
            *self._coupled(tables, y, None, None),
        ]
        parts += self.others.positions(t, tables, T, y)
        return self._combined(jnp.concatenate(parts))

    def _coupled(self, tables: Tables, y: Array, z: Any, s: Any) -> list[Array]:
        """Residuals of couplings; with `z` their second derivatives, with `s` in place of `z'`."""
        out = []
        for coupling, at in zip(self.couplings, self.at, strict=True):
            p = _coefficients(coupling, tables, y.dtype)
            first, second = at[0], (at[1] if len(at) > 1 else None)
            x = jnp.zeros((), y.dtype) if second is None else y[second[0]]
            if z is None:
                value = y[first[0]] - _polynomial(p, x)
            else:
                value = s[first[1]]
                if second is not None:
                    slope, bend = _polynomial(_derivative(p), x), _polynomial(_derivative(p, 2), x)
                    value = value - slope * s[second[1]] - bend * z[second[1]] ** 2
            out.append(value[None])
        return out

    def jacobian(
        self, t: Any, tables: Tables, places: Places, moving: Moving
    ) -> Float[Array, "m nz"]:
        """`C`, with respect to velocities."""
        parts = [
            *self._own_jacobian(tables, places, moving.y),
            *self.others.jacobian(t, tables, places, moving),
        ]
        return self._combined(jnp.concatenate(parts))

    def _own_jacobian(self, tables: Tables, places: Places, y: Array) -> list[Array]:
        """That of joints and couplings."""
        e, x, _ = self._ends(tables, places.T)
        moved = jnp.sum(places.S[None] * x[:, None, None, :], 3)
        parts = [jnp.asarray(self.relative, y.dtype) * jnp.sum(moved * e[:, None, :], 2)]
        for coupling, at in zip(self.couplings, self.at, strict=True):
            row = jnp.zeros(self.tree.nz, y.dtype).at[at[0][1]].set(1)
            if len(at) > 1:
                p = _derivative(_coefficients(coupling, tables, y.dtype))
                row = row.at[at[1][1]].add(-_polynomial(p, y[at[1][0]]))
            parts.append(row[None])
        return parts

    def rates(
        self, t: Any, tables: Tables, places: Places, moving: Moving, C: Float[Array, "m nz"]
    ) -> Float[Array, " m"]:
        """`gdot`, with the Jacobian known."""
        along = jnp.sum(C * moving.z[None, :], 1)
        if not self.others.names:
            return along
        # Joints and couplings do not depend on time.
        parts = [jnp.zeros(len(self.rows) + len(self.couplings), C.dtype)]
        parts += self.others.rates(t, tables, places, moving.still())
        return along + self._combined(jnp.concatenate(parts))

    def equations(
        self,
        t: Any,
        on: Any,
        tables: Tables,
        places: Places,
        rates: Rates,
        moving: Moving,
        u: Array,
    ) -> tuple[Float[Array, "m nz"], Float[Array, " m"], Float[Array, " m"]]:
        """`C`, `gdot`, and `gddot` at accelerations `u`.

        Of `gddot` all but `C u` is times `on`, as `rates` are already.
        """
        own = jnp.concatenate(self._own_jacobian(tables, places, moving.y))
        e, x, _ = self._ends(tables, places.T)
        V_a, V_b = take(rates.V, self.first), take(rates.V, self.second)
        A_a, A_b = take(rates.A, self.first), take(rates.A, self.second)
        D = V_b - V_a
        E = A_b - A_a - products(V_a[:, :, :3], D) + products(D[:, :, :3], V_b)
        far = jnp.sum(e * jnp.sum(E * x[:, None, :], 2), 1)
        C, b, c = [own], [jnp.sum(own * moving.z[None, :], 1)], [far]
        c += self._coupled(tables, moving.y, on * moving.z, u)
        if self.others.names:
            found = self.others.equations(t, on, tables, places, rates.A, moving, u)
            C, b, c = C + found[0], b + found[1], c + found[2]
        C, b, c = (self._combined(jnp.concatenate(x)) for x in (C, b, c))
        return C, b, c


def _coefficients(coupling: Coupling, tables: Tables, dtype: Any) -> Array:
    own = tables.args["constraints"].get(coupling.name, coupling.parameters)
    return jnp.asarray(own["polynomial"], dtype)


def _derivative(p: Array, times: int = 1) -> Array:
    for _ in range(times):
        p = p[1:] * jnp.asarray(np.arange(1, p.size), p.dtype) if p.size > 1 else jnp.zeros_like(p)
    return p


def _polynomial(p: Array, x: Array) -> Array:
    """By Horner's rule, with the coefficient of the constant first."""
    value = jnp.zeros((), x.dtype)
    for k in reversed(range(p.size)):
        value = value * x + p[k]
    return value
