"""Systems given by mass matrix and forces."""

from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar, Function, State
from ._constrained import Part, require_callable
from ._mechanism import AbstractMechanism, add


class Momentum(eqx.Module):
    """`p(t, y, z) = M z` of flat vectors.

    - `mass`: `M(t, y)`, by itself: as the derivative of `p` it would cost `n` times as much.
    """

    mass: Function

    def __call__(
        self, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
    ) -> Float[Array, " nz"]:
        return jnp.sum(self.mass(t, y) * z[None, :], 1)


class MechanicalSystem(AbstractMechanism):
    r"""Newton-Euler equations with a mass matrix that may depend on time and coordinates.

        q' = v,   M(t, q) v' = force + friction + nonideal - g_q^T lam - k_v^T psi
        0 = g(t, q),   0 = k(t, q, v)

    They are solved in momentum form, `p = M v` with `p' = M v' + (M_t + M_q[v]) v`, which
    keeps the order and the structure of the methods for a variable mass matrix.

    **Arguments:**

    - `mass`: `M(t, q, args)`, a symmetric matrix, shape `(n, n)`, acting on the flattened
        velocity (kg, kg m^2). It may be singular, as long as `K2` and `K3` are not
        (see [`jaxspark.ConstrainedSystem`][]), except for methods of Lobatto type.
    - `force`: `force(t, q, v, args)`, structured as `q`; all forces but those of the
        constraints, Coriolis and centrifugal ones among them (N, N m).
    - `holonomic`: `g(t, q, args)`, the holonomic constraints, an array or a PyTree of arrays.
        Default: none.
    - `nonholonomic`: `k(t, q, v, args)`, the nonholonomic constraints, likewise. Default: none.
    - `nonideal`: `nonideal(t, q, v, psi, args)`, a force that depends on the multipliers of
        the nonholonomic constraints, dry friction for instance, structured as `q`.
    - `friction`: `friction(t, q, v, lam, args)`, the same for the multipliers of the holonomic
        constraints. Only for [`jaxspark.Lobatto`][] and [`jaxspark.GGL`][].

    **Raises:** `TypeError` if an argument is not a function, `ValueError` if `nonideal` is
    given without `nonholonomic`, or `friction` without `holonomic`.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, equation (1), with `p = M v`.
    """

    mass: Function
    force: Function
    holonomic: Function | None = None
    nonholonomic: Function | None = None
    nonideal: Function | None = None
    friction: Function | None = None

    def __check_init__(self):
        require_callable("mass", self.mass, optional=False)
        require_callable("force", self.force, optional=False)

    def _momentum(self, t, q, v, args):
        flat, unravel = jax.flatten_util.ravel_pytree(v)
        matrix = self.mass(t, q, args)
        return unravel((matrix * flat[None, :]).sum(1))

    def p(self, t, y, z, args):
        """The momenta `M v`."""
        return self._momentum(t, y, z, args)

    def f(self, t, y, z, args):
        """`force + (M_t + M_q[v]) v`."""
        direction = (jnp.ones_like(t), z)
        _, transport = jax.jvp(lambda t, y: self._momentum(t, y, z, args), (t, y), direction)
        return add(self.force(t, y, z, args), transport)

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The mass matrix and the forces, and what they should return."""
        size = sum(leaf.size for leaf in jax.tree.leaves(z))
        matrix = jnp.zeros((size, size), jnp.result_type(*jax.tree.leaves(z)))
        words = "a matrix, one row for each velocity"
        own = Part("mass", self.mass, (y,), matrix, words)
        return (own, *self.forces(y, z, lam, psi))
