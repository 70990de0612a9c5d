"""What the accelerations of a step lack at its ends."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..._custom_types import FloatScalar
from ..._jax_internals import mix
from ..._step import ModifiedJacobian, Stages
from ..._system import FlatSystem
from ._expansion import Expansion


def free_parts(
    flat: FlatSystem,
    expansion: Expansion,
    jacobian: ModifiedJacobian,
    t0: FloatScalar,
    start: tuple[Float[Array, " ny"], Float[Array, " nz"]],
    h: FloatScalar,
    stages: Stages,
    known: Float[Array, "m nz"],
) -> tuple[Float[Array, "j nz"], Float[Array, "i nz"]]:
    r"""The parts of accelerations that holonomic constraints leave free.

    The true accelerations at an end solve the index-1 equations

        p_z z' = f + r + reaction - p_t - p_y v,    d^2 g / dt^2 = 0,    k_z z' = -k_t - k_y v.

    At the polynomial's `z'` and the multipliers of the stages, continued to the end, their
    residual `(r_p, r_k)` gives the defect `x`, `h` times what is missing, by one solution with
    the matrix of Newton's iteration, `K2 (x, ., .) = h (r_p, 0, r_k)`. Of any acceleration `d`
    the free part is likewise that of `K2 (x, ., .) = (p_z d, 0, k_z d)`.

    Holonomic constraints determine what is normal to them, for they hold at the end of the step,
    and there velocities of the stages are as inaccurate as rounding errors of `y` divided by
    `h`. Nonholonomic constraints determine no position: what is normal to them counts.

    **Arguments:**

    - `known`: from `expansion.rows`: some `h a_k`, and `h z'` of the polynomial at both ends.

    **Returns:** the free parts of those `h a_k`, and the defects at the start and, unless the
    method collocates there, at the end.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46), and
    W. H. Enright, *Continuous numerical methods for ODEs with defect control*, J. Comput. Appl.
    Math. 125 (2000), for the defect; J. Yen & L. Petzold, *An efficient Newton-type iteration for
    the numerical solution of highly oscillatory constrained multibody dynamic systems*, equation
    (2.27), for the free part.
    """
    nz, nlam, npsi = flat.nz, flat.nlam, flat.npsi
    coefficients, slopes = known[:-2], known[-2:] / h
    states = Stages(
        jnp.stack([start[0], stages.y[-1]]),
        jnp.stack([start[1], stages.z[-1]]),
        jnp.stack([stages.lam[0], stages.lam[-1]]),
        mix(expansion.psi, stages.psi) if npsi else jnp.zeros((2, 0), h.dtype),
    )
    ends = 1 if expansion.collocates_end else 2
    times = jnp.stack([t0, t0 + h])
    operands = jax.tree.map(lambda x: x[:ends], (times, states, slopes))
    rows = h * jax.vmap(lambda *x: _residual(flat, *x))(*operands)
    if nlam == 0:
        return coefficients, jacobian.solve_rows(rows, stages)[:, :nz]
    directions = [jacobian.p_z.times(coefficients), jnp.zeros((len(coefficients), nlam), h.dtype)]
    if npsi:
        t1, y1, z1 = t0 + h, stages.y[-1], stages.z[-1]
        along = jax.linearize(lambda z: flat.nonholonomic(t1, y1, z), z1)[1]
        directions.append(jax.vmap(along)(coefficients))
    rows = jnp.concatenate([jnp.concatenate(directions, 1), rows])
    solved = jacobian.solve_rows(rows, stages)[:, :nz]
    return solved[:-ends], solved[-ends:]


def _residual(
    flat: FlatSystem, t: FloatScalar, at: Stages, zdot: Float[Array, " nz"]
) -> Float[Array, " n2"]:
    """`(r_p, 0, r_k)` of the index-1 equations."""
    y, z = at.y, at.z

    def differentiated(t, y, z):
        p = flat.momentum(t, y, z)
        return p if flat.k is None else jnp.concatenate([p, flat.nonholonomic(t, y, z)])

    direction = (jnp.ones_like(t), flat.velocity(t, y, z), zdot)
    rate = jax.jvp(differentiated, (t, y, z), direction)[1]
    force = flat.force(t, y, z, at.lam, at.psi)
    none = jnp.zeros(flat.nlam, force.dtype)
    return jnp.concatenate([force - rate[: flat.nz], none, -rate[flat.nz :]])
