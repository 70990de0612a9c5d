"""The full Jacobian of the stage equations, dense."""

from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._implicit import stop_gradient
from .._jax_internals import mix
from .._kkt import lu_factors, singular_threshold
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._linearized import linearized_residual
from ._stages import Stages


class FullJacobian(eqx.Module):
    r"""The Jacobian of the stage equations, factorised; solves like the modified one.

    Where velocities are unknowns, positions are eliminated: with `dY = r_y + h (alpha (x) I) dZ`
    the other equations, of derivatives `B_y` by the positions and `B` by the other unknowns `x`,
    are

        (B + B_y h (alpha (x) I)) dx = r_x - B_y r_y

    - `factors`: of the matrix, rows and columns scaled: multipliers have columns of order `h`.
    - `by_positions`: `B_y`; `None` where nothing is eliminated.
    - `h`: the step size.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, equations (4)-(7) and the beginning of section 2.2.
    """

    factors: Any
    by_positions: Float[Array, "no ny"] | None
    h: FloatScalar
    tableau: SparkTableau = eqx.field(static=True)

    def regular(self) -> Bool[Array, ""]:
        """Whether the matrix is nonsingular to working precision."""
        size, dtype = self.factors.lu.shape[0], self.factors.lu.dtype
        return self.factors.smallest_pivot() > singular_threshold(size, dtype)

    def only_if(self, good: Bool[Array, ""]) -> "FullJacobian":
        """Itself, or zeros, which are finite, in place of the factors of a failed step."""
        return jax.tree.map(lambda x: jnp.where(good, x, jnp.zeros_like(x)), self)

    def solve(self, rhs: Stages) -> Stages:
        """Apply the inverse; linear in `rhs`."""
        if self.by_positions is None:
            flat, unravel = jax.flatten_util.ravel_pytree(rhs)
            return unravel(self.factors.solve(flat[None, :])[0])
        flat, unravel = jax.flatten_util.ravel_pytree((rhs.z, rhs.lam, rhs.psi))
        known = self.by_positions @ rhs.y.reshape(-1)
        Z, lam, psi = unravel(self.factors.solve((flat - known)[None, :])[0])
        Y = rhs.y + self.h * mix(self.tableau.alpha, Z[:-1])
        return Stages(Y, Z, lam, psi)

    def solve_transposed(self, rhs: Stages) -> Stages:
        """Apply the inverse of the transpose: the same operations in reverse order."""
        if self.by_positions is None:
            flat, unravel = jax.flatten_util.ravel_pytree(rhs)
            return unravel(self.factors.solve_transposed(flat[None, :])[0])
        back = self.h * mix(self.tableau.alpha.T, rhs.y)
        Z = rhs.z + jnp.concatenate([back, jnp.zeros_like(rhs.z[-1:])])
        flat, unravel = jax.flatten_util.ravel_pytree((Z, rhs.lam, rhs.psi))
        found = self.factors.solve_transposed(flat[None, :])[0]
        known = (found @ self.by_positions).reshape(rhs.y.shape)
        return Stages(rhs.y - known, *unravel(found))


def full_jacobian(
    system: FlatSystem,
    tableau: SparkTableau,
    t0: FloatScalar,
    y0: Float[Array, " ny"],
    h: FloatScalar,
    stages: Stages,
) -> FullJacobian:
    """Make and factorise it at the stages. No gradient flows through it.

    **Arguments:** as for `linearized_residual`.
    """
    system, t0, y0, h, stages = stop_gradient((system, t0, y0, h, stages))
    derivative = linearized_residual(system, tableau, t0, y0, h, stages)
    flat, unravel = jax.flatten_util.ravel_pytree(stages)
    units = jax.vmap(unravel)(jnp.eye(flat.size, dtype=flat.dtype))
    columns = jax.vmap(derivative)(units)
    matrix = jax.vmap(lambda x: jax.flatten_util.ravel_pytree(x)[0])(columns).T
    if system.v is not None:
        return FullJacobian(lu_factors(matrix), None, h, tableau)
    number = stages.y.size
    below = matrix[number:]
    by_positions, rest = below[:, :number], below[:, number:]
    inner = stages.z[:-1].size
    integrated = np.kron(tableau.alpha, np.eye(system.ny))
    added = h * by_positions @ jnp.asarray(integrated, h.dtype)
    reduced = rest.at[:, :inner].add(added)
    return FullJacobian(lu_factors(reduced), by_positions, h, tableau)
