"""Whether the constraints of a system of many blocks are independent."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import AcyclicNullSpace, automatic, BlockMatrix, multiply, Pattern


INVERSE_ITERATIONS = 12


def weakest_combination(
    pattern: Pattern, B: Float[Array, "m 2 q"]
) -> tuple[Float[Array, ""], Float[Array, " m"]]:
    """The smallest singular value of `B`, and the combination of its rows that belongs to it.

    By inverse iteration with `B B^T + shift^2 I`. The shift is an unknown of its own for each
    row, in one of the blocks that it touches, so that it is again a system of these blocks.

    **Arguments:**

    - `pattern`: the structure.
    - `B`: the rows, of norm 1.

    Source: G. Golub & C. Van Loan, *Matrix Computations*, 4th edition, section 8.2.2.
    """
    m, dtype = pattern.num_rows, B.dtype
    # Its square must survive rounding; it decides nothing but how fast the iteration is.
    shift = float(jnp.finfo(dtype).eps) ** 0.25
    sizes, place, side = pattern.sizes.copy(), np.zeros(m, int), np.zeros(m, int)
    for row, (a, b) in enumerate(pattern.rows):
        # The block with fewer, so that a hub does not get the shifts of all its spokes.
        side[row] = int(a < 0 or (b >= 0 and sizes[b] < sizes[a]))
        block = pattern.rows[row, side[row]]
        place[row] = sizes[block]
        sizes[block] += 1
    larger = Pattern(sizes, pattern.rows, labels=pattern.labels)
    wide = jnp.pad(B, [(0, 0), (0, 0), (0, larger.width - pattern.width)])
    wide = wide.at[np.arange(m), side, place].set(shift)
    K = jnp.broadcast_to(jnp.eye(larger.width, dtype=dtype), (len(sizes), *[larger.width] * 2))
    solver = automatic(larger)[0] or AcyclicNullSpace(max_cluster=larger.size)
    factors = solver.factor_blocks(larger, BlockMatrix(K, wide, diagonal=True))
    nothing = jnp.zeros((len(sizes), larger.width, 1), dtype)

    def body(_, direction):
        _, lam = solver.solve_blocks(larger, factors, nothing, -direction[:, None])
        return lam[:, 0] / jnp.sqrt(jnp.sum(lam * lam))

    start = jnp.asarray(np.random.default_rng(0).normal(size=m), dtype)
    direction = jax.lax.fori_loop(0, INVERSE_ITERATIONS, body, start)
    unknowns = jnp.zeros((pattern.num_blocks, pattern.width, 1), dtype)
    masses = jnp.zeros((pattern.num_blocks, *[pattern.width] * 2), dtype)
    along, _ = multiply(pattern, BlockMatrix(masses, B), unknowns, direction[:, None])
    return jnp.sqrt(jnp.sum(along * along)), direction
