"""A root found elsewhere, made differentiable to second order in every context.

`jax.lax.custom_root` gives the derivatives of a root from the linearised equations. Two
facts shape what it is given here.

1. Reverse mode of `jax.lax.scan` drops the rule and keeps the code of `solve`, so that second
   derivatives differentiate that code. An iteration in `solve` that hides its derivative
   would give silently wrong Hessians inside a scan. So `solve` attaches to the given root
   the derivatives of two exact Newton corrections (see `attach_derivative`): they cost
   nothing, not even tracing, unless second derivatives are asked for, and are right to second
   order of the root, hence to third order of what is computed from a differentiated scan.
2. Under `jax.checkpoint` code inside `custom_root` runs again in the backward pass, whatever
   the policy. So the iteration is outside, and what it found carries a name that
   policies can save.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

from .._jax_internals import attach_derivative


T = TypeVar("T")
P = TypeVar("P")

CHECKPOINT_NAME = "jaxspark_root"


def differentiable_root(
    residual: Callable[[T, P], T],
    parameters: P,
    root: T,
    linear_solve: Callable[[Callable[[T], T], T, T, P], T],
) -> T:
    """`root` with the derivatives that the implicit function theorem gives it.

    **Arguments:**

    - `residual`: `residual(x, parameters)` vanishes at `root`; closes over nothing that is
        differentiated or vmapped.
    - `parameters`: a PyTree with all that it depends on besides; the result is differentiated
        with respect to the arrays in it.
    - `root`: the root, found by any means; its own derivative is not used.
    - `linear_solve`: `linear_solve(matvec, rhs, root, parameters)` solves with the Jacobian
        at `root`; closes over nothing either.

    **Returns:** the root; jit, vmap, jvp, vjp and their compositions work.
    """
    root = jax.lax.stop_gradient(root)
    root = jax.tree.map(lambda leaf: checkpoint_name(leaf, CHECKPOINT_NAME), root)

    def correction(x: T, parameters: P) -> T:
        value, matvec = jax.linearize(lambda x: residual(x, parameters), x)
        rhs = jax.tree.map(lambda a: a - jax.lax.stop_gradient(a), value)
        return linear_solve(matvec, rhs, x, parameters)

    def attach(x: T) -> T:
        return attach_derivative(correction, x, parameters)

    solution = jax.lax.custom_root(
        lambda x: residual(x, parameters),
        root,
        solve=lambda _, x: attach(attach(x)),
        tangent_solve=lambda matvec, rhs: linear_solve(matvec, rhs, root, parameters),
    )
    return jax.tree.map(jnp.asarray, solution)
