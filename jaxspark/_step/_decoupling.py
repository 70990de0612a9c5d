"""The modified Jacobian of the stage equations and its inverse, by two small matrices."""

from typing import Any

import equinox as eqx

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._custom_types import FloatScalar
from .._implicit import stop_gradient
from .._kkt import AbstractLinearSolver, kkt_blocks
from .._system import FlatSystem
from .._tableau import SparkTableau
from ._stages import mix, Stages


class ModifiedJacobian(eqx.Module):
    r"""The inverse of the modified Jacobian, factorised.

        [ I (x) I   -h alpha (x) v_z     0                          0                       ]
        [    0       Q (x) p_z          -h Q alpha_tilde (x) r_lam  -h Q alpha_hat (x) f_psi ]
        [    0       Q (x) g_y v_z       0                          0                       ]
        [    0       Q_tilde (x) k_z     0                          0                       ]

    With `dz = (Q (x) I) dZ` and the impulses `dlam = h (Q alpha_tilde (x) I) dLambda` and
    `dpsi = h (Q_tilde alpha_hat (x) I) dPsi`, it falls apart into `s` systems with K2 and one
    with K3. The paper leaves out the block `-h alpha (x) v_z`; kept, it costs one small
    product and removes the largest neglected term.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, section 2.2.
    """

    factors: Any
    mass: FloatScalar
    v_z: Float[Array, "ny nz"] | None
    h: FloatScalar
    linear_solver: AbstractLinearSolver
    tableau: SparkTableau = eqx.field(static=True)

    def regular(self) -> Bool[Array, ""]:
        """Whether K2 and K3 are nonsingular to working precision."""
        return self.linear_solver.regular(self.factors)

    def solve(self, rhs: Stages) -> Stages:
        """Apply the inverse; linear in `rhs`."""
        tableau, h = self.tableau, self.h
        s, nz, nlam = tableau.stages, rhs.z.shape[1], rhs.lam.shape[1]
        rhs2 = jnp.concatenate([rhs.z[:s], rhs.lam[:s], rhs.psi], 1)
        rhs3 = jnp.concatenate([rhs.z[s], rhs.lam[s]])
        x2, x3 = self.linear_solver.solve(self.factors, rhs2, rhs3)
        dz = jnp.concatenate([x2[:, :nz], x3[None, :nz]])
        dlam = jnp.concatenate([x2[:, nz : nz + nlam], x3[None, nz:]])
        dpsi = x2[:, nz + nlam :]

        Z = mix(tableau.Q_inverse, dz)
        V = Z[:s]
        if self.v_z is not None:
            V = jnp.sum(self.v_z[None, :, :] * V[:, None, :], 2)
        Y = rhs.y + h * mix(tableau.alpha, V)
        lam = mix(tableau.lam_recovery, dlam) / h
        psi = mix(tableau.psi_recovery, dpsi) / h
        return Stages(Y, Z, lam, psi)


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
    blocks = kkt_blocks(system, t0 + h / 2, y, z, lam, psi)
    factors = linear_solver.factor(blocks)
    mass = jnp.max(jnp.abs(blocks.p_z), initial=0)
    return ModifiedJacobian(factors, mass, blocks.v_z, h, linear_solver, tableau)
