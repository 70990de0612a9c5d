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

from .._blocks import Structure
from .._custom_types import Args, FloatScalar, Function, State
from .._jax_internals import with_gathers_summed
from ._check import check_functions, constraint_shapes
from ._constrained import AbstractConstrainedSystem
from ._elongated import Elongated
from ._jacobian import value_and_jacobian
from ._mechanical import MechanicalSystem, Momentum
from ._multibody import MultibodySystem
from ._multibody_blocks import multibody_blocks, multibody_structure
from ._multibody_check import check_multibody
from ._structured import AbstractStructuredSystem
from ._with_blocks import found_blocks, innermost, WithBlocks


Vector = Float[Array, " n"]
Unravel = Callable[[Array], Any]


class FlatSystem(eqx.Module):
    """A constrained system as functions of flat vectors; `args` are bound.

    `v` and `p` are `None` where they are the identity, `g` and `r`, `k` and `reaction` where
    there is no such constraint. Systems that declare their block structure have it as
    `structure`, and `blocks(t, y, z)` for its `BlockValues`; `unread` ones have one that cannot
    be read, and are solved with dense matrices. Constraints of `redundant` ones may depend on each
    other. Structured systems have `accelerations` and their `balance`. Sizes are static. `ideal`
    systems have no constraint forces but the default ones, which are linear in the multipliers. Of
    `kinetic` ones `p_z` is a mass matrix that was given as such.
    """

    v: Function | None
    p: Function | None
    f: Function
    r: Function | None
    g: Function | None
    k: Function | None
    reaction: Function | None
    friction: Function | None
    ny: int = eqx.field(static=True)
    nz: int = eqx.field(static=True)
    nlam: int = eqx.field(static=True)
    npsi: int = eqx.field(static=True)
    ideal: bool = eqx.field(static=True)
    unravel_y: Unravel = eqx.field(static=True)
    unravel_z: Unravel = eqx.field(static=True)
    unravel_lam: Unravel = eqx.field(static=True)
    unravel_psi: Unravel = eqx.field(static=True)
    structure: Structure | None = eqx.field(static=True, default=None)
    unread: bool = eqx.field(static=True, default=False)
    redundant: bool = eqx.field(static=True, default=False)
    blocks: Function | None = None
    kinetic: bool = eqx.field(static=True, default=False)
    accelerations: Function | None = None
    balance: Function | None = None

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

    def mass(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, "nz nz"] | None:
        """The mass matrix `p_z`; `None` where it is the identity."""
        if self.p is None:
            return None
        if isinstance(self.p, Momentum):
            return self.p.mass(t, y)
        return value_and_jacobian(lambda z: self.momentum(t, y, z), z)[1]

    def holonomic(self, t: FloatScalar, y: Float[Array, " ny"]) -> Float[Array, " nlam"]:
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
        self,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        lam: Float[Array, " nlam"],
    ) -> Float[Array, " nz"]:
        """`r(t, y, lam) + friction(t, y, z, lam)`, zero if there is no holonomic constraint."""
        if self.r is None:
            return jnp.zeros(self.nz, y.dtype)
        ideal = self.r(t, y, lam)
        return ideal if self.friction is None else ideal + self.friction(t, y, z, lam)

    def reaction_force(
        self,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        psi: Float[Array, " npsi"],
    ) -> Float[Array, " nz"]:
        """`reaction(t, y, z, psi)`, zero if there is no nonholonomic constraint."""
        if self.reaction is None:
            return jnp.zeros(self.nz, y.dtype)
        return self.reaction(t, y, z, psi)

    def force(
        self,
        t: FloatScalar,
        y: Float[Array, " ny"],
        z: Float[Array, " nz"],
        lam: Float[Array, " nlam"],
        psi: Float[Array, " npsi"],
    ) -> Float[Array, " nz"]:
        """All that changes the momentum, `f + r + friction + reaction`."""
        constraints = self.constraint_force(t, y, z, lam) + self.reaction_force(t, y, z, psi)
        return self.f(t, y, z) + constraints


def _ravel(tree: Any, dtype: np.dtype) -> Vector:
    leaves = [jnp.asarray(leaf, dtype).reshape(-1) for leaf in jax.tree.leaves(tree)]
    return jnp.concatenate(leaves) if leaves else jnp.zeros(0, dtype)


def _ideal_force(
    g: Function, v: Function, nz: int, dtype: np.dtype
) -> Callable[[FloatScalar, Array, Array], Array]:
    """`-(g_y v_z)^T lam`, of a `v` that is affine in `z`."""

    def r(t, y, lam):
        def rate(z):
            return jax.jvp(lambda y: g(t, y), (y,), (v(t, y, z),))[1]

        return -jax.vjp(rate, jnp.zeros(nz, dtype))[1](lam)[0]

    return r


def _ideal_reaction(k: Function) -> Callable[[FloatScalar, Array, Array, Array], Array]:
    """`-k_z^T psi`: Chetaev's rule."""

    def reaction(t, y, z, psi):
        return -jax.vjp(lambda z: k(t, y, z), z)[1](psi)[0]

    return reaction


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
    if not isinstance(system, AbstractConstrainedSystem):
        raise TypeError(f"system must be a jaxspark system; got {system!r}.")
    flat_y, unravel_y = jax.flatten_util.ravel_pytree(y)
    flat_z, unravel_z = jax.flatten_util.ravel_pytree(z)
    dtype = flat_y.dtype
    if flat_z.dtype != dtype:
        raise TypeError(f"y has dtype {dtype}, but z has dtype {flat_z.dtype}.")
    args = system.prepared(args)
    if isinstance(system, MultibodySystem):
        check_multibody(system, t, y, z, args)
    zero_lam, zero_psi = constraint_shapes(system, t, y, z, args)
    check_functions(system, t, y, z, zero_lam, zero_psi, args)
    lam, unravel_lam = jax.flatten_util.ravel_pytree(zero_lam)
    psi, unravel_psi = jax.flatten_util.ravel_pytree(zero_psi)

    def flat(function, *unravels):
        def on_vectors(t, *vectors):
            pairs = zip(unravels, vectors, strict=True)
            return _ravel(function(t, *[undo(x) for undo, x in pairs], args), dtype)

        return with_gathers_summed(on_vectors)

    close: Any = eqx.filter_closure_convert
    state = (unravel_y, unravel_z)
    v = (lambda t, y, z: z) if system.v is None else flat(system.v, *state)
    g = r = k = p = reaction = friction = None
    if isinstance(system, MechanicalSystem) and type(system).p is MechanicalSystem.p:
        shape = (flat_z.size, flat_z.size)
        own = flat(system.mass, unravel_y)
        p = Momentum(close(lambda t, y: own(t, y).reshape(shape), t, flat_y))
    elif system.p is not None:
        p = close(flat(system.p, *state), t, flat_y, flat_z)
    if system.g is not None and lam.size:
        flat_g = flat(system.g, unravel_y)
        g = close(flat_g, t, flat_y)
        force = _ideal_force(flat_g, v, flat_z.size, dtype)
        if system.r is not None:
            force = flat(system.r, unravel_y, unravel_lam)
        r = close(force, t, flat_y, lam)
        if system.friction is not None:
            friction = close(flat(system.friction, *state, unravel_lam), t, flat_y, flat_z, lam)
    if system.k is not None and psi.size:
        flat_k = flat(system.k, *state)
        k = close(flat_k, t, flat_y, flat_z)
        force = _ideal_reaction(flat_k)
        if system.reaction is not None:
            force = flat(system.reaction, *state, unravel_psi)
        reaction = close(force, t, flat_y, flat_z, psi)
    structure = blocks = found = None
    if isinstance(system, MultibodySystem):
        structure = multibody_structure(system, t, y, z, args)

        def of_vectors(t, y, z):
            return multibody_blocks(system, t, unravel_y(y), unravel_z(z), args)

        blocks = close(of_vectors, t, flat_y, flat_z)
    elif isinstance(system, WithBlocks):
        found = found_blocks(system, t, y, z, args)
        if found is not None:
            structure, blocks = found[0], close(found[1], t, flat_y, flat_z)
    accelerations = balance = None
    if isinstance(system, AbstractStructuredSystem):
        own: Any = system
        on, like = jnp.ones((), dtype), jnp.zeros(lam.size + psi.size, dtype)
        accelerations = close(
            lambda t, y, z, on: own.accelerations(t, y, z, on, args), t, flat_y, flat_z, on
        )
        balance = close(
            lambda t, y, z, u, mu, on: own.balance(t, y, z, u, mu, on, args),
            t, flat_y, flat_z, flat_z, like, on,
        )  # fmt: skip
    flat_system = FlatSystem(
        v=None if system.v is None else close(v, t, flat_y, flat_z),
        p=p,
        f=close(flat(system.f, *state), t, flat_y, flat_z),
        r=r,
        g=g,
        k=k,
        reaction=reaction,
        friction=friction,
        ny=flat_y.size,
        nz=flat_z.size,
        nlam=lam.size,
        npsi=psi.size,
        ideal=system.r is None and system.reaction is None and system.friction is None,
        unravel_y=unravel_y,
        unravel_z=unravel_z,
        unravel_lam=unravel_lam,
        unravel_psi=unravel_psi,
        structure=structure,
        blocks=blocks,
        unread=isinstance(system, WithBlocks) and structure is None,
        redundant=isinstance(system, WithBlocks) and system.redundant,
        kinetic=isinstance(innermost(system), (MechanicalSystem, MultibodySystem))
        and not isinstance(system, Elongated),
        accelerations=accelerations,
        balance=balance,
    )
    return flat_system, flat_y, flat_z
