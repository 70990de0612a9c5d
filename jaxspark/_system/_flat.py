"""The system as functions of flat vectors, checked and traced once.

Users write functions of PyTrees; the solvers work on vectors. Here the two meet: sizes are
found with `jax.eval_shape`, every function is checked against what it should return, and
each is traced once to a closed jaxpr whose constants (args, arrays inside the system, and
whatever the functions close over) are explicit leaves, so that a solver can stop the
gradient through all of them.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import Args, FloatScalar, Function, State
from ._constrained import AbstractConstrainedSystem


Vector = Float[Array, " n"]
Unravel = Callable[[Array], Any]


class FlatSystem(eqx.Module):
    """A constrained system as functions of flat vectors; `args` are bound.

    `v` and `p` are `None` where they are the identity, `g`, `r` and `k` where there is no
    such constraint. Sizes are static.
    """

    v: Function | None
    p: Function | None
    f: Function
    r: Function | None
    g: Function | None
    k: Function | None
    ny: int = eqx.field(static=True)
    nz: int = eqx.field(static=True)
    nlam: int = eqx.field(static=True)
    npsi: int = eqx.field(static=True)
    unravel_y: Unravel = eqx.field(static=True)
    unravel_z: Unravel = eqx.field(static=True)
    unravel_lam: Unravel = eqx.field(static=True)
    unravel_psi: Unravel = eqx.field(static=True)

    def velocity(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, " ny"]:
        """`v(t, y, z)`."""
        return z if self.v is None else self.v(t, y, z)

    def momentum(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, " nz"]:
        """`p(t, y, z)`."""
        return z if self.p is None else self.p(t, y, z)

    def holonomic(
        self, t: FloatScalar, y: Float[Array, " ny"]
    ) -> Float[Array, " nlam"]:
        """`g(t, y)`, empty if there is none."""
        return jnp.zeros(0, y.dtype) if self.g is None else self.g(t, y)

    def holonomic_rate(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, " nlam"]:
        """`gdot = g_t + g_y v`, by one forward derivative."""
        if self.g is None:
            return jnp.zeros(0, y.dtype)
        direction = (jnp.ones_like(t), self.velocity(t, y, z))
        return jax.jvp(self.g, (t, y), direction)[1]

    def nonholonomic(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, " npsi"]:
        """`k(t, y, z)`, empty if there is none."""
        return jnp.zeros(0, y.dtype) if self.k is None else self.k(t, y, z)

    def constraint_force(
        self, t: FloatScalar, y: Float[Array, " ny"], lam: Float[Array, " nlam"]
    ) -> Float[Array, " nz"]:
        """`r(t, y, lam)`, zero if there is no holonomic constraint."""
        if self.r is None:
            return jnp.zeros(self.nz, y.dtype)
        return self.r(t, y, lam)


def as_state(name: str, state: State) -> State:
    """The state with array leaves, checked to be real floating point of one dtype."""
    leaves = jax.tree.leaves(state)
    if not leaves:
        raise ValueError(f"{name} has no array in it.")
    dtypes = {jnp.result_type(leaf) for leaf in leaves}
    for dtype in dtypes:
        if not jnp.issubdtype(dtype, jnp.floating):
            raise TypeError(
                f"{name} has dtype {dtype}; the state must be real floating point. For "
                f"instance jnp.asarray({name}, float)."
            )
    if len(dtypes) > 1:
        names = sorted(str(dtype) for dtype in dtypes)
        raise TypeError(f"{name} mixes the dtypes {', '.join(names)}; use one.")
    return jax.tree.map(jnp.asarray, state)


def _outputs(name: str, function: Function, *operands: Any) -> Any:
    """What `function` returns, by shape; an error inside it says which one it was."""
    try:
        return jax.eval_shape(function, *operands)
    except Exception as error:
        error.add_note(f"This happened while tracing the function {name} of the system.")
        raise


def _check_dtype(name: str, out: Any, dtype: np.dtype) -> None:
    for leaf in jax.tree.leaves(out):
        floating = jnp.issubdtype(leaf.dtype, jnp.floating)
        if floating and (leaf.weak_type or leaf.dtype == dtype):
            continue
        raise TypeError(
            f"{name} returns dtype {leaf.dtype}, but the state has dtype {dtype}. Build its "
            "constants with the dtype of its inputs."
        )


def _check_like(name: str, out: Any, like: Any, like_name: str) -> None:
    def shapes(tree):
        return jax.tree.map(lambda leaf: tuple(leaf.shape), tree)

    same_tree = jax.tree.structure(out) == jax.tree.structure(like)
    if not same_tree or shapes(out) != shapes(like):
        raise ValueError(
            f"{name} must return the structure and shapes of {like_name}, "
            f"{shapes(like)}; it returns {shapes(out)}."
        )


def _raveller(shape: Any, dtype: np.dtype) -> tuple[int, Unravel]:
    """Size and unravel function of a PyTree of the given shapes."""
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, dtype), shape)
    flat, unravel = jax.flatten_util.ravel_pytree(zeros)
    return flat.size, unravel


def _ravel(tree: Any, dtype: np.dtype) -> Vector:
    leaves = [jnp.asarray(leaf, dtype).reshape(-1) for leaf in jax.tree.leaves(tree)]
    return jnp.concatenate(leaves) if leaves else jnp.zeros(0, dtype)


def flatten(
    system: AbstractConstrainedSystem, t: FloatScalar, y: State, z: State, args: Args
) -> tuple[FlatSystem, Float[Array, " ny"], Float[Array, " nz"]]:
    """Check the system against a state and turn it into functions of vectors.

    **Arguments:**

    - `system`: the constrained system.
    - `t`, `y`, `z`, `args`: where it will be used; only shapes and dtypes matter.

    **Returns:** the flat system, and `y` and `z` as vectors.

    **Raises:** `TypeError` or `ValueError`, naming the function, if one of them returns a
    wrong structure, shape or dtype.
    """
    flat_y, unravel_y = jax.flatten_util.ravel_pytree(y)
    flat_z, unravel_z = jax.flatten_util.ravel_pytree(z)
    dtype = flat_y.dtype
    if flat_z.dtype != dtype:
        raise TypeError(f"y has dtype {dtype}, but z has dtype {flat_z.dtype}.")
    v, p, f, r, g, k = system.v, system.p, system.f, system.r, system.g, system.k

    lam = psi = np.zeros(0, dtype)
    if g is not None:
        lam = _outputs("g (holonomic)", lambda t, y: g(t, y, args), t, y)
        _check_dtype("g (holonomic)", lam, dtype)
    if k is not None:
        psi = _outputs("k (nonholonomic)", lambda t, y, z: k(t, y, z, args), t, y, z)
        _check_dtype("k (nonholonomic)", psi, dtype)
    nlam, unravel_lam = _raveller(lam, dtype)
    npsi, unravel_psi = _raveller(psi, dtype)
    zero_lam, zero_psi = unravel_lam(np.zeros(nlam, dtype)), unravel_psi(np.zeros(npsi, dtype))

    def check(name, out, like, like_name):
        _check_like(name, out, like, like_name)
        _check_dtype(name, out, dtype)

    if v is None:
        if flat_y.size != flat_z.size:
            raise ValueError(
                f"y has {flat_y.size} entries and z has {flat_z.size}; they can differ only "
                "if the system has a function v(t, y, z, args)."
            )
    else:
        check("v", _outputs("v", lambda *a: v(*a, args), t, y, z), y, "y")
    if p is not None:
        check("p (momentum)", _outputs("p (momentum)", lambda *a: p(*a, args), t, y, z), z, "z")
    check("f (forces)", _outputs("f (forces)", lambda *a: f(*a, args), t, y, z, zero_psi), z, "z")
    if r is not None:
        check("r", _outputs("r", lambda *a: r(*a, args), t, y, zero_lam), z, "z")

    def flat_g(t, y):
        return _ravel(g(t, unravel_y(y), args), dtype)

    def flat_v(t, y, z):
        return z if v is None else _ravel(v(t, unravel_y(y), unravel_z(z), args), dtype)

    def flat_r(t, y, lam):
        if r is not None:
            return _ravel(r(t, unravel_y(y), unravel_lam(lam), args), dtype)

        def rate(z):
            return jax.jvp(lambda y: flat_g(t, y), (y,), (flat_v(t, y, z),))[1]

        return -jax.vjp(rate, jnp.zeros(flat_z.size, dtype))[1](lam)[0]

    def flat_p(t, y, z):
        return _ravel(p(t, unravel_y(y), unravel_z(z), args), dtype)

    def flat_f(t, y, z, psi):
        return _ravel(f(t, unravel_y(y), unravel_z(z), unravel_psi(psi), args), dtype)

    def flat_k(t, y, z):
        return _ravel(k(t, unravel_y(y), unravel_z(z), args), dtype)

    at = (t, flat_y, flat_z)
    close = eqx.filter_closure_convert
    flat = FlatSystem(
        v=None if v is None else close(flat_v, *at),
        p=None if p is None else close(flat_p, *at),
        f=close(flat_f, *at, jnp.zeros(npsi, dtype)),
        r=None if nlam == 0 else close(flat_r, t, flat_y, jnp.zeros(nlam, dtype)),
        g=None if nlam == 0 else close(flat_g, t, flat_y),
        k=None if npsi == 0 else close(flat_k, *at),
        ny=flat_y.size,
        nz=flat_z.size,
        nlam=nlam,
        npsi=npsi,
        unravel_y=unravel_y,
        unravel_z=unravel_z,
        unravel_lam=unravel_lam,
        unravel_psi=unravel_psi,
    )
    return flat, flat_y, flat_z
