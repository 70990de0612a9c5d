"""Block-tridiagonal systems, from one end to the other and back."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._small import inverse, product, transpose


class Sweep(eqx.Module):
    """The factors of a symmetric block-tridiagonal matrix.

    - `inverse`: the inverse pivots.
    - `W`: the block before each of them on the left, times the inverse pivot before it.
    """

    inverse: Float[Array, "n r r"]
    W: Float[Array, "n r r"]


def path_order(count: int, edges: np.ndarray) -> np.ndarray | None:
    """The nodes of a graph along its paths; `None` if it has branches or cycles."""
    near: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        near[a].append(int(b))
        near[b].append(int(a))
    if any(len(x) > 2 for x in near):
        return None
    order: list[int] = []
    seen = np.zeros(count, bool)
    for start in range(count):
        if seen[start] or len(near[start]) > 1:
            continue
        node: int | None = start
        while node is not None:
            seen[node] = True
            order.append(node)
            node = next((x for x in near[node] if not seen[x]), None)
    return np.array(order, int) if len(order) == count else None


def factor_sweep(
    D: Float[Array, "n r r"], L: Float[Array, "n r r"]
) -> tuple[Sweep, Float[Array, ""]]:
    """Eliminate one block after the other.

    **Arguments:**

    - `D`: the diagonal.
    - `L`: the block left of each of them; zero for the first of each path.

    **Returns:** the factors, and the smallest pivot in units of the diagonal.

    Source: G. Golub & C. Van Loan, *Matrix Computations*, 4th edition, section 4.5.1.
    """
    r = D.shape[1]

    def body(before, at):
        D, L = at
        pivot = D - product(product(L, before), transpose(L))
        inverted = _invert(pivot)
        return inverted, inverted

    _, inverted = jax.lax.scan(body, jnp.zeros((r, r), D.dtype), (D, L))
    before = jnp.concatenate([jnp.zeros((1, r, r), D.dtype), inverted[:-1]])
    started = jnp.diagonal(D, axis1=1, axis2=2)
    left = jnp.diagonal(inverted, axis1=1, axis2=2)
    smallest = 1 / jnp.max(jnp.abs(started * left), initial=1)
    return Sweep(inverted, product(L, before)), jnp.where(jnp.isfinite(smallest), smallest, 0)


def solve_sweep(factors: Sweep, b: Float[Array, "n r k"]) -> Float[Array, "n r k"]:
    """Forward and back."""

    def forward(before, at):
        b, W = at
        x = b - product(W, before)
        return x, x

    start = jnp.zeros_like(b[0])
    _, y = jax.lax.scan(forward, start, (b, factors.W))
    y = product(factors.inverse, y)
    after = jnp.concatenate([transpose(factors.W[1:]), jnp.zeros_like(factors.W[:1])])

    def backward(later, at):
        y, W = at
        x = y - product(W, later)
        return x, x

    return jax.lax.scan(backward, start, (y, after), reverse=True)[1]


def _invert(a: Float[Array, "r r"]) -> Float[Array, "r r"]:
    """The inverse of one definite matrix."""
    if a.shape[0] != 2:
        inverted, good = inverse(a)
        return jnp.where(good, inverted, jnp.inf)
    determinant = a[0, 0] * a[1, 1] - a[0, 1] * a[1, 0]
    adjugate = jnp.stack([a[1, 1], -a[0, 1], -a[1, 0], a[0, 0]]).reshape(2, 2)
    return adjugate / determinant
