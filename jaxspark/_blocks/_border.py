"""A few rows that close long loops, as a border of the matrix without them."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import jax.scipy.linalg as jsl
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ._pattern import BlockMatrix, Pattern
from ._small import both_ends


Blocks = tuple[Float[Array, "nb q k"], Float[Array, "m k"]]


class Border(eqx.Module):
    """What rows of loops add to a factorisation without them.

    - `E`: these rows, for their two blocks.
    - `U`: the solution with the forces of these rows on the right, blocks and multipliers.
    - `lu`, `pivots`: `W = E U`, factorised.
    - `scale`: of the rows of `W`.
    - `regular`: whether `W` is.
    """

    E: Float[Array, "l 2 q"]
    U: Blocks
    lu: Float[Array, "l l"]
    pivots: Int[Array, " l"]
    scale: Float[Array, " l"]
    regular: Bool[Array, ""]


def factor_border(
    pattern: Pattern, rows: np.ndarray, matrix: BlockMatrix, solve: Callable[..., Blocks]
) -> Border:
    """Eliminate everything but the multipliers of the `rows` that close loops.

    **Arguments:**

    - `rows`: their numbers.
    - `solve`: solves without them.

    Source: M. Benzi, G. Golub & J. Liesen, *Numerical solution of saddle point problems*, Acta
    Numerica 14 (2005), section 5, with the border's rows in place of the constraints.
    """
    nb, q, m = pattern.num_blocks, pattern.width, pattern.num_rows
    count, dtype = len(rows), matrix.K.dtype
    E, forces = matrix.B[rows], matrix.forces[rows]
    place = jnp.asarray(np.arange(count))[:, None]
    pushes = jnp.zeros((nb + 1, q, count), dtype)
    # Index -1, the ground, is the last one, which is dropped.
    pushes = pushes.at[jnp.asarray(pattern.rows[rows]), :, place].add(forces)[:-1]
    U = solve(pushes, jnp.zeros((m, count), dtype))
    W = _ends(pattern, rows, E, U[0])
    size = jnp.max(jnp.abs(W), 1)
    scale = 1 / jnp.where(size > 0, size, 1)
    lu, pivots = jsl.lu_factor(scale[:, None] * W)
    smallest = jnp.min(jnp.abs(jnp.diagonal(lu)))
    regular = smallest > 8 * count * jnp.finfo(dtype).eps
    return Border(E, U, lu, pivots, scale, regular)


def solve_border(
    pattern: Pattern,
    rows: np.ndarray,
    border: Border,
    solve: Callable[..., Blocks],
    f: Float[Array, "nb q k"],
    g: Float[Array, "m k"],
) -> Blocks:
    """`x = x_0 - U mu` with `W mu = E x_0 - g`."""
    x, lam = solve(f, g)
    gap = _ends(pattern, rows, border.E, x) - g[rows]
    mu = jsl.lu_solve((border.lu, border.pivots), border.scale[:, None] * gap)
    x = x - jnp.tensordot(border.U[0], mu, 1)
    lam = lam - border.U[1] @ mu
    # The solution without these rows has zeros in their place.
    return x, lam.at[rows].add(mu)


def _ends(
    pattern: Pattern, rows: np.ndarray, E: Float[Array, "l 2 q"], x: Float[Array, "nb q k"]
) -> Float[Array, "l k"]:
    """`E x`."""
    x = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
    return both_ends(E, x[pattern.rows[rows]])
