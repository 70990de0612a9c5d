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

from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._consistent import flat_residuals
from .._custom_types import FloatScalar
from .._kkt import BlockLinearSolver, saddle_in_loops
from .._system import FlatSystem, value_and_jacobian
from ._saddle import AbstractSaddle, BlockSaddle, DenseSaddle, Eliminate


Weights: TypeAlias = tuple[FloatScalar, FloatScalar, FloatScalar]
Parameters: TypeAlias = Any


class Linearised(eqx.Module):
    """What an evaluation needs of the system at a state.

    - `b`: `[gdot; k]`.
    - `v`: the derivative of the coordinates.
    - `saddle`: the derivatives with respect to `z`.
    """

    b: Float[Array, " m"]
    v: Float[Array, " ny"]
    saddle: AbstractSaddle


class Evaluation(NamedTuple):
    """The increment, and `(u, mu)`.

    - `at`: what it needed of the system.
    - `regular`: whether the matrix is; `finite`: whether all that the system gave is.
    """

    at: Linearised
    increment: Float[Array, " n"]
    solution: Float[Array, " n2"]
    regular: Bool[Array, ""]
    finite: Bool[Array, ""]


class Field:
    """The evaluations of a system with ideal constraints, and their derivatives.

    **Arguments:**

    - `static`: the flat system without its arrays, which come as `parameters`: a pair, those that
        are differentiated and the others.
    - `eliminate`: how the saddle-point problem is solved.
    """

    def __init__(self, static: FlatSystem, eliminate: Eliminate = saddle_in_loops):
        self.static, self.eliminate = static, eliminate
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

    def linearised(self, system: FlatSystem, t: Any, y: Any, z: Any) -> Linearised:
        """All derivatives with respect to `z`."""

        def of_velocities(z):
            b, v = self.constraints(system, t, y, z)
            # The derivative of the identity is not needed.
            return b, (v if system.v is not None else None)

        (b, _), (C, v_z) = value_and_jacobian(of_velocities, z)
        v = system.velocity(t, y, z)
        return Linearised(b, v, DenseSaddle(system.mass(t, y, z), C, v_z, self.eliminate))

    def evaluate(
        self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"], weights: Weights
    ) -> Evaluation:
        """The evaluation of these weights."""
        a, q, w = weights
        system = self.system(parameters)
        y, z = self.split(x)
        at = self.linearised(system, t, y, z)
        rhs = a * system.f(t, y, z)
        along = (jnp.ones_like(t), at.v)
        if system.p is not None:
            momentum = system.p
            rhs = rhs - a * jax.jvp(lambda t, y: momentum(t, y, z), (t, y), along)[1]
        rates = jax.jvp(lambda t, y: self.constraints(system, t, y, z)[0], (t, y), along)[1]
        wrong = a * rates + w * at.b + q * self.positions(system, t, y)
        rhs = jnp.concatenate([rhs, -wrong])
        solution, regular = at.saddle.solve(rhs)
        u = solution[: self.nz]
        moved = a * at.v + q * at.saddle.along(u)
        increment = jnp.concatenate([moved, (a + w) * u])
        finite = jnp.isfinite(jnp.sum(rhs) + jnp.sum(at.v)) & at.saddle.finite
        return Evaluation(at, increment, solution, regular, finite)

    def residuals(
        self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, " nlam"], Float[Array, " nlam"], Float[Array, " npsi"]]:
        """`g`, `gdot` and `k`."""
        return flat_residuals(self.system(parameters), t, *self.split(x))


class BlockField(Field):
    """The same for a system of many blocks.

    **Arguments:**

    - `static`: as for `Field`.
    - `solver`: for the blocks of the system.
    """

    def __init__(self, static: FlatSystem, solver: BlockLinearSolver):
        super().__init__(static)
        self.solver = solver

    def linearised(self, system: FlatSystem, t: Any, y: Any, z: Any) -> Linearised:
        """The blocks, factorised."""
        b, v = self.constraints(system, t, y, z)
        saddle = self.solver.saddle(system, t, y, z)
        return Linearised(b, v, BlockSaddle(saddle, self.nz))
