"""Whether the constraints of a system of many blocks are independent."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import AcyclicNullSpace, automatic, BlockMatrix, Pattern, weakest


INVERSE_ITERATIONS = 6


def weakest_combination(
    pattern: Pattern, B: Float[Array, "m 2 q"]
) -> tuple[Float[Array, ""], Float[Array, " m"]]:
    """The smallest singular value of `B`, and the combination of its rows that belongs to it.

    By inverse iteration with `B B^T + shift^2 I`. The shift is an unknown of its own for each
    row, in one of the blocks that it touches, so that it is again a system of these blocks.

    **Arguments:**

    - `pattern`: the structure.
    - `B`: the rows, of norm 1. Values below 1e-10 (in double precision) count as zero.

    Source: G. Golub & C. Van Loan, *Matrix Computations*, 4th edition, section 8.2.2.
    """
    m, dtype = pattern.num_rows, B.dtype
    shift = weakest(dtype)
    side = np.where(pattern.rows[:, 0] >= 0, 0, 1)
    owner = pattern.rows[np.arange(m), side]
    sizes, place = pattern.sizes.copy(), np.zeros(m, int)
    for row, block in enumerate(owner):
        place[row] = sizes[block]
        sizes[block] += 1
    larger = Pattern(sizes, pattern.rows, labels=pattern.labels)
    wide = jnp.pad(B, [(0, 0), (0, 0), (0, larger.width - pattern.width)])
    wide = wide.at[np.arange(m), side, place].set(shift)
    K = jnp.broadcast_to(jnp.eye(larger.width, dtype=dtype), (len(sizes), *[larger.width] * 2))
    solver = automatic(larger)[0] or AcyclicNullSpace(max_cluster=larger.size)
    factors = solver.factor_blocks(larger, BlockMatrix(K, wide, diagonal=True))
    nothing = jnp.zeros((len(sizes), larger.width, 1), dtype)

    def body(_, carry):
        direction, _ = carry
        _, lam = solver.solve_blocks(larger, factors, nothing, -direction[:, None])
        size = jnp.sqrt(jnp.sum(lam * lam))
        return lam[:, 0] / size, size

    start = jnp.asarray(np.random.default_rng(0).normal(size=m), dtype)
    start = start / jnp.sqrt(jnp.sum(start * start))
    direction, size = jax.lax.fori_loop(0, INVERSE_ITERATIONS, body, (start, jnp.ones((), dtype)))
    return jnp.sqrt(jnp.maximum(1 / size - shift**2, 0)), direction
