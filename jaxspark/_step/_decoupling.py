"""The modified Jacobian of the stage equations and its inverse, by two small matrices."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._implicit import stop_gradient
from .._jax_internals import mix
from .._kkt import AbstractLinearSolver, AbstractMap
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._stages import Stages


class ModifiedJacobian(eqx.Module):
    r"""The inverse of the modified Jacobian, factorised.

        [ I (x) I   -h alpha (x) v_z     0                          0                       ]
        [    0       Q (x) p_z          -h Q alpha_tilde (x) r_lam  -h Q alpha_psi (x) f_psi ]
        [    0       P (x) g_y v_z       0                          0                       ]
        [    0       Q_tilde (x) k_z     0                          0                       ]

    The last row of `Q` annihilates `alpha_psi`, and `Q_tilde alpha_psi = I`. So with `dz = (Q
    (x) I) dZ` and the impulses `dlam = h (P alpha_tilde (x) I) dLambda` and `dpsi = h dPsi` it
    falls apart:

    - With `s + 1` holonomic conditions (Gauss, Radau IIA) `P` is `Q`, and there are `s`
        systems with K2 and one with K3.
    - With `s` of them (Lobatto) `P` is `Q_tilde`. After the `s` systems with K2 there is one
        with `p_z` alone, into which the impulses enter by the row `coupling`.

    The paper leaves out the block `-h alpha (x) v_z`; kept, it costs one small product and
    removes the largest neglected term.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, section 2.2.
    """

    factors: Any
    p_z: AbstractMap
    v_z: AbstractMap | None
    r_lam: AbstractMap | None
    h: FloatScalar
    linear_solver: AbstractLinearSolver
    tableau: SparkTableau = eqx.field(static=True)

    def regular(self) -> Bool[Array, ""]:
        """Whether K2 and K3 are nonsingular to working precision."""
        return self.linear_solver.regular(self.factors)

    @property
    def mass(self) -> FloatScalar:
        """The largest entry of the mass matrix."""
        return self.p_z.largest()

    def solve_rows(self, rows2: Float[Array, "m n2"], like: Stages) -> Float[Array, "m n2"]:
        """Solve with K2 alone.

        **Arguments:**

        - `rows2`: right-hand sides `(momentum, holonomic, nonholonomic)`.
        - `like`: stages, of which only the shapes matter.
        """
        last = like.z.shape[1] + (like.lam.shape[1] if like.lam.shape[0] > like.psi.shape[0] else 0)
        return self._apply(self.linear_solver.solve, rows2, rows2[:0, :last])[0]

    def only_if(self, good: Bool[Array, ""]) -> "ModifiedJacobian":
        """Itself, or zeros, which are finite, in place of the factors of a failed step."""
        return jax.tree.map(lambda x: jnp.where(good, x, jnp.zeros_like(x)), self)

    def solve(self, rhs: Stages) -> Stages:
        """Apply the inverse; linear in `rhs`."""
        tableau, h = self.tableau, self.h
        rows2, rows3 = _split(rhs)
        solve, coupling = self.linear_solver.solve, tableau.decoupling.coupling
        if self.r_lam is None or coupling is None:
            x2, x3 = self._apply(solve, rows2, rows3)
        else:
            x2, _ = self._apply(solve, rows2, rows3[:0])
            impulse = mix(coupling[None, :], _join(x2, rows3, rhs)[1])[0]
            _, x3 = self._apply(solve, rows2[:0], rows3 + self.r_lam.times(impulse[None, :]))
        dz, dlam, dpsi = _join(x2, x3, rhs)
        Z = mix(tableau.decoupling.Q_inverse, dz)
        V = Z[:-1]
        if self.v_z is not None:
            V = self.v_z.times(V)
        Y = rhs.y + h * mix(tableau.alpha, V)
        lam = mix(tableau.decoupling.lam_recovery, dlam) / h
        return Stages(Y, Z, lam, dpsi / h)

    def _apply(self, solve, rows2: Array, rows3: Array) -> tuple[Array, Array]:
        """Solve with K2 and K3, kept apart from the products before and after.

        Every entry of a solution needs every entry of the right-hand side: fused with what
        computes them, they would be computed again each time.
        """
        barrier = jax.lax.optimization_barrier
        return barrier(solve(self.factors, *barrier((rows2, rows3))))

    def solve_transposed(self, rhs: Stages) -> Stages:
        """Apply the inverse of the transpose: the same operations in reverse order."""
        tableau, h = self.tableau, self.h
        V = h * mix(tableau.alpha.T, rhs.y)
        if self.v_z is not None:
            V = self.v_z.transposed_times(V)
        Z = rhs.z + jnp.concatenate([V, jnp.zeros_like(rhs.z[-1:])])
        unmixed = Stages(
            rhs.y,
            mix(tableau.decoupling.Q_inverse.T, Z),
            mix(tableau.decoupling.lam_recovery.T, rhs.lam) / h,
            rhs.psi / h,
        )
        rows2, rows3 = _split(unmixed)
        solve, coupling = self.linear_solver.solve_transposed, tableau.decoupling.coupling
        if self.r_lam is None or coupling is None:
            x2, x3 = self._apply(solve, rows2, rows3)
        else:
            _, x3 = self._apply(solve, rows2[:0], rows3)
            impulse = self.r_lam.transposed_times(x3)
            lam = unmixed.lam + mix(coupling[:, None], impulse)
            rows2, _ = _split(Stages(unmixed.y, unmixed.z, lam, unmixed.psi))
            x2, _ = self._apply(solve, rows2, rows3[:0])
        return Stages(rhs.y, *_join(x2, x3, rhs))


def _split(x: Stages) -> tuple[Float[Array, "s n2"], Float[Array, "1 n3"]]:
    """The `s` vectors for K2, and the last one, with a multiplier or without."""
    s = x.psi.shape[0]
    rows2 = jnp.concatenate([x.z[:s], x.lam[:s], x.psi], 1)
    last = [x.z[s:], x.lam[s:]] if x.lam.shape[0] > s else [x.z[s:]]
    return rows2, jnp.concatenate(last, 1)


def _join(
    x2: Float[Array, "s n2"], x3: Float[Array, "1 n3"], like: Stages
) -> tuple[Float[Array, "s1 nz"], Float[Array, "m1 nlam"], Float[Array, "s npsi"]]:
    """The inverse of `_split`."""
    nz, nlam = like.z.shape[1], like.lam.shape[1]
    z = jnp.concatenate([x2[:, :nz], x3[:, :nz]])
    lam = x2[:, nz : nz + nlam]
    if like.lam.shape[0] > x2.shape[0]:
        lam = jnp.concatenate([lam, x3[:, nz:]])
    return z, lam, x2[:, nz + nlam :]


def modified_jacobian(
    system: FlatSystem,
    tableau: SparkTableau,
    linear_solver: AbstractLinearSolver,
    t0: FloatScalar,
    h: FloatScalar,
    stages: Stages,
) -> ModifiedJacobian:
    """Factorise the modified Jacobian at the middle of the step, found from its stages.

    The middle, rather than the start that the paper suggests, halves the distance to the
    stages and with it the contraction rate. No gradient flows through it: a preconditioner
    changes the way to the solution, not the solution.
    """
    system, t0, h, stages = stop_gradient((system, t0, h, stages))
    weights = jnp.asarray(tableau.b, h.dtype)[:, None]
    y, z = jnp.sum(weights * stages.y[:-1], 0), jnp.sum(weights * stages.z[:-1], 0)
    lam, psi = jnp.mean(stages.lam, 0), jnp.mean(stages.psi, 0)
    bordered = tableau.constraint_nodes > tableau.stages
    blocks = linear_solver.blocks(system, t0 + h / 2, y, z, lam, psi, bordered)
    factors = linear_solver.factor(blocks)
    coupled = tableau.decoupling.coupling is not None and system.nlam > 0
    push = blocks.push if coupled else None
    return ModifiedJacobian(
        factors, blocks.mass, blocks.kinematics, push, h, linear_solver, tableau
    )
