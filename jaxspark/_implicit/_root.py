"""A root found elsewhere, made differentiable to second order in every context.

`jax.lax.custom_root` gives the derivatives of a root from the linearised equations. Two
facts shape what it is given here.

1. Reverse mode of `jax.lax.scan` drops the rule and keeps the code of `solve`, so that second
   derivatives differentiate that code. An iteration in `solve` that hides its derivative
   would give silently wrong Hessians inside a scan. So `solve` attaches to the given root
   the derivatives of two exact Newton corrections (see `tangent_only`): they cost nothing
   unless second derivatives are asked for, and are right to second order of the root,
   hence to third order of what is computed from a differentiated scan.
2. Under `jax.checkpoint` code inside `custom_root` runs again in the backward pass, whatever
   the policy. So the iteration is outside, and what it found carries a name that
   policies can save.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from ._tangent_only import tangent_only


T = TypeVar("T")

CHECKPOINT_NAME = "jaxspark_root"


def differentiable_root(
    residual: Callable[[T], T],
    root: T,
    linear_solve: Callable[[Callable[[T], T], T, T], T],
) -> T:
    """`root` with the derivatives that the implicit function theorem gives it.

    **Arguments:**

    - `residual`: a function that vanishes at `root`; may close over traced values, with
        respect to all of which the result is differentiated.
    - `root`: the root, found by any means; its own derivative is not used.
    - `linear_solve`: `linear_solve(matvec, rhs, root)` solves with the Jacobian at `root`.

    **Returns:** the root; jit, vmap, jvp, vjp and their compositions work.
    """
    root = jax.lax.stop_gradient(root)
    root = jax.tree.map(lambda leaf: checkpoint_name(leaf, CHECKPOINT_NAME), root)

    @jax.jit  # traced once, used twice
    def attach(x: Any) -> Any:
        value, matvec = jax.linearize(residual, x)
        rhs = jax.tree.map(lambda a: a - jax.lax.stop_gradient(a), value)
        correction = linear_solve(matvec, rhs, x)
        return jax.tree.map(lambda a, c: a - tangent_only(c), x, correction)

    solution = jax.lax.custom_root(
        residual,
        root,
        solve=lambda _, x: attach(attach(x)),
        tangent_solve=lambda matvec, rhs: linear_solve(matvec, rhs, root),
    )
    return jax.tree.map(jnp.asarray, solution)
