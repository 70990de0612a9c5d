r"""Accelerations and projections: one saddle-point problem for all that a step evaluates.

An *evaluation* solves, at a state `x = (y, z)`,

    [M  C^T] [u]     [a (f - pdot)            ]        M = p_z,  C = [gdot; k]_z,
    [C   0 ] [mu]  = [-a bdot - w b - q [g; 0]]        b = [gdot; k],

with `pdot`, `bdot` the derivatives of `p(t, y, z)` and `b(t, y, z)` along `(1, v, 0)`, and gives
the increment `(a v + q v_z u, (a + w) u)`. The three weights choose its kind:

- `a = 1`: the derivatives of `y` and `z`, and the multipliers `mu`,
- `q = 1`: a Newton step of the positions onto `g = 0`, in the metric of the mass matrix,
- `w = 1`: the same of the velocities onto `gdot = 0`, `k = 0`.

So stages and projections are one program, which stands once in the loop over them.

Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46), for the
accelerations; E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, IV.4 (4.4), in
the metric of the mass matrix, for the projections.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._kkt import saddle_in_loops
from .._system import FlatSystem


Weights: TypeAlias = tuple[FloatScalar, FloatScalar, FloatScalar]
Parameters: TypeAlias = Any


Solve: TypeAlias = Callable[[Any, Any, Any], tuple[Any, Any]]


class Matrix(NamedTuple):
    """What an evaluation needs of the system at a state.

    - `M`, `C`: shapes `(nz, nz)` and `(m, nz)`; `M` is `None` where it is the identity.
    - `b`: `[gdot; k]`.
    - `v`: the derivative of the coordinates, and `v_z`, its Jacobian, or `None` if `v = z`.
    """

    M: Float[Array, "nz nz"] | None
    C: Float[Array, "m nz"]
    b: Float[Array, " m"]
    v: Float[Array, " ny"]
    v_z: Float[Array, "ny nz"] | None


class Evaluation(NamedTuple):
    """The increment, and `(u, mu)`.

    - `regular`: whether the matrix is; `finite`: whether all that the system gave is.
    """

    increment: Float[Array, " n"]
    solution: Float[Array, " n2"]
    regular: Bool[Array, ""]
    finite: Bool[Array, ""]


class Field:
    """The evaluations of a system with ideal constraints, and their derivatives.

    **Arguments:**

    - `static`: the flat system without its arrays, which come as `parameters`: a pair, those that
        are differentiated and the others.
    - `solve`: `(M, C, rhs) -> (solution, regular)` of the saddle-point problem, with right-hand
        sides in columns.
    """

    def __init__(self, static: FlatSystem, solve: Solve = saddle_in_loops):
        self.static, self.solve = static, solve
        self.ny, self.nz, self.nlam = static.ny, static.nz, static.nlam
        self.m, self.n = static.nlam + static.npsi, static.ny + static.nz

    def system(self, parameters: Parameters) -> FlatSystem:
        """The flat system with its arrays."""
        return eqx.combine(*parameters, self.static)

    def split(self, x: Float[Array, " n"]) -> tuple[Float[Array, " ny"], Float[Array, " nz"]]:
        """`y` and `z`."""
        return x[: self.ny], x[self.ny :]

    def constraints(self, system: FlatSystem, t: Any, y: Any, z: Any) -> tuple[Any, Any]:
        """`[gdot; k]` and `v`."""
        v = system.velocity(t, y, z)
        rows = []
        if system.g is not None:
            rows.append(jax.jvp(system.g, (t, y), (jnp.ones_like(t), v))[1])
        if system.k is not None:
            rows.append(system.k(t, y, z))
        return (jnp.concatenate(rows) if rows else jnp.zeros(0, y.dtype)), v

    def positions(self, system: FlatSystem, t: Any, y: Any) -> Float[Array, " m"]:
        """`[g; 0]`."""
        return jnp.concatenate([system.holonomic(t, y), jnp.zeros(system.npsi, y.dtype)])

    def matrix(self, system: FlatSystem, t: Any, y: Any, z: Any) -> Matrix:
        """All derivatives with respect to `z`, by one linearisation."""

        def of_velocities(z):
            b, v = self.constraints(system, t, y, z)
            momentum = None if system.p is None else system.p(t, y, z)
            return b, (v if system.v is not None else None), momentum, v

        (b, _, _, v), along = jax.linearize(of_velocities, z)
        C, v_z, M, _ = jax.vmap(along, out_axes=1)(jnp.eye(self.nz, dtype=z.dtype))
        return Matrix(M, C, b, v, v_z)

    def evaluate(
        self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"], weights: Weights
    ) -> Evaluation:
        """The evaluation of these weights."""
        a, q, w = weights
        system = self.system(parameters)
        y, z = self.split(x)
        at = self.matrix(system, t, y, z)
        rhs = a * system.f(t, y, z)
        along = (jnp.ones_like(t), at.v)
        if system.p is not None:
            momentum = system.p
            rhs = rhs - a * jax.jvp(lambda t, y: momentum(t, y, z), (t, y), along)[1]
        rates = jax.jvp(lambda t, y: self.constraints(system, t, y, z)[0], (t, y), along)[1]
        wrong = a * rates + w * at.b + q * self.positions(system, t, y)
        rhs = jnp.concatenate([rhs, -wrong])
        solution, regular = self.solve(at.M, at.C, rhs[:, None])
        u = solution[: self.nz, 0]
        moved = a * at.v + q * times(at.v_z, u)
        increment = jnp.concatenate([moved, (a + w) * u])
        finite = jnp.isfinite(jnp.sum(rhs) + jnp.sum(at.C) + jnp.sum(at.v))
        if at.M is not None:
            finite = finite & jnp.isfinite(jnp.sum(at.M))
        return Evaluation(increment, solution[:, 0], regular, finite)

    def residuals(
        self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, " nlam"], Float[Array, " nlam"], Float[Array, " npsi"]]:
        """`g`, `gdot` and `k`."""
        system = self.system(parameters)
        y, z = self.split(x)
        b, _ = self.constraints(system, t, y, z)
        return system.holonomic(t, y), b[: self.nlam], b[self.nlam :]


def times(v_z: Float[Array, "ny nz"] | None, u: Float[Array, " nz"]) -> Float[Array, " ny"]:
    """`v_z u`."""
    return u if v_z is None else jnp.sum(v_z * u[None, :], 1)


def transposed_times(v_z: Any, y: Float[Array, " ny"]) -> Float[Array, " nz"]:
    """`v_z^T y`."""
    return y if v_z is None else jnp.sum(v_z * y[:, None], 0)
