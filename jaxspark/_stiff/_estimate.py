"""The error of a stiff step, filtered, measured on independent coordinates."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from .._consistent import constraint_jacobian
from .._custom_types import FloatScalar
from .._implicit import lazily
from .._kkt import solve_augmented
from .._system import FlatSystem
from ._coefficients import GGLCoefficients
from ._independent import eliminate
from ._newton import Weights
from ._residual import drift, GGLStages


# The errors of all steps add up.
SAFETY = 2.0

Pair = tuple[Float[Array, " ny"], Float[Array, " nz"]]


def step_error(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t: FloatScalar,
    start: Pair,
    h: FloatScalar,
    stages: GGLStages,
    rates: Pair,
    end: Pair,
    weights: Weights,
    norm: str,
) -> Pair:
    r"""The error of a step, for a norm that is the root mean square over all entries.

    It is measured on the independent coordinates `y_X` and velocities `z_X`, the others being 0.
    With the filter `F` and the raw estimate `e` it is

        2 (F e)_y,    2 sqrt( (h (F e)_z)^2 + ((F F e)_z)^2 ),

    for the errors of all steps add up. The velocities of stiff oscillations, which the step damps,
    are known much less well than the coordinates, and a further filter leaves little of them. Of
    the slow motion it is `(F e)_y` and `h (F e)_z`. Where the error exceeds the tolerance all is
    filtered once more: that leaves of a stiff transient what the next steps will damp.

    **Arguments:**

    - `t`: the time at the end.
    - `start`, `end`: the states there.
    - `rates`: `(y', z')` at the start.
    - `weights`: in units of which the error is to be at most 1.
    - `norm`: see [`jaxspark.GGL`][].

    Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
    highly oscillatory constrained multibody dynamic systems*, equation (2.27), for the norm of the
    slow motion; E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.20),
    for the second filter. That velocities count in full is this project's, measured by
    `python -m benchmarks figures audit`: where a force jumps, steps in which they do not end with
    velocities that are wrong by the root of the tolerance.
    """
    free = free_entries(system, t, *end)
    total = sum(x.size for x in free)
    if norm == "positions":
        free = free[0], jnp.zeros_like(free[1])
    count = jnp.sum(jnp.concatenate(free)).astype(h.dtype)
    share = jnp.sqrt(total / jnp.maximum(count, 1))
    clean = error_filter(system, coefficients, t, h, stages)
    in_full = norm == "positions and velocities"
    units = SAFETY * share if in_full else share

    def measured(error: Pair, calmer: Pair) -> Pair:
        of_z = jnp.hypot(h * error[1], calmer[1]) if in_full else h * error[1]
        return units * jnp.where(free[0], error[0], 0), units * jnp.where(free[1], of_z, 0)

    def size(error: Pair) -> FloatScalar:
        parts = error[0] / weights.y, error[1] / weights.z
        return jnp.sqrt(sum(jnp.sum(x**2) for x in parts) / total)

    once = clean(raw_error(coefficients, *start, h, stages, rates))
    errors = (once, clean(once)) if in_full else (once, once)

    def again(errors):
        error, calmer = errors
        cleaned = clean(calmer if in_full else error)
        return calmer if in_full else cleaned, cleaned

    large = ~(size(measured(*errors)) <= 1)
    return measured(*lazily(large, again, errors, errors))


def free_entries(
    system: FlatSystem, t: FloatScalar, y: Float[Array, " ny"], z: Float[Array, " nz"]
) -> tuple[Bool[Array, " ny"], Bool[Array, " nz"]]:
    """Which coordinates and which velocities the constraints leave free."""
    velocities = eliminate(constraint_jacobian(system, t, y, z)).free
    if system.v is None and system.npsi == 0:
        return velocities, velocities
    G = jax.jacfwd(lambda y: system.holonomic(t, y))(y)
    return eliminate(G).free, velocities


def raw_error(
    coefficients: GGLCoefficients,
    y0: Float[Array, " ny"],
    z0: Float[Array, " nz"],
    h: FloatScalar,
    stages: GGLStages,
    rates: Pair,
) -> Pair:
    """The difference to the embedded method, which uses the derivatives at the start.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.8 (8.18).
    """
    weights = jnp.asarray(coefficients.error, y0.dtype)[:, None]
    ydot, zdot = rates
    return (
        h * coefficients.gamma * ydot + jnp.sum(weights * (stages.y - y0[None, :]), 0),
        h * coefficients.gamma * zdot + jnp.sum(weights * (stages.z - z0[None, :]), 0),
    )


def error_filter(
    system: FlatSystem,
    coefficients: GGLCoefficients,
    t: FloatScalar,
    h: FloatScalar,
    stages: GGLStages,
):
    """`K^{-1} [b e_y; b M e_z; 0]`, which takes from an error what is stiff or not admissible.

    `K` is the matrix of the stage equations of the implicit Euler method with the step size
    `gamma h`, at the end of the step; `b = 1 / (gamma h)`.

    **Returns:** a function of `(e_y, e_z)`.

    Source: L. F. Shampine's filter, E. Hairer & G. Wanner, *Solving Ordinary Differential
    Equations II*, IV.8 (8.19).
    """
    ny, nz, nlam, npsi = system.ny, system.nz, system.nlam, system.npsi
    b = 1 / (coefficients.gamma * h)
    y1, z1, lam1, psi1, mu1 = (x[-1] for x in jax.tree.leaves(stages))
    sizes = [ny, ny + nz, ny + nz + nlam, ny + nz + nlam + npsi]

    def euler(x):
        y, z, lam, psi, mu = jnp.split(x, sizes)
        moved = b * (y - y1), b * (system.momentum(t, y, z) - momentum)
        return jnp.concatenate([
            moved[0] - drift(system, t, y, z, mu),
            moved[1] - system.force(t, y, z, lam, psi),
            system.holonomic_rate(t, y, z),
            system.nonholonomic(t, y, z),
            system.holonomic(t, y),
        ])  # fmt: skip

    momentum = system.momentum(t, y1, z1)
    at = jnp.concatenate([y1, z1, lam1, psi1, jnp.zeros_like(mu1)])
    matrix = jax.jacfwd(euler)(at)
    _, push = jax.linearize(lambda z: system.momentum(t, y1, z), z1)

    def apply(error):
        e_y, e_z = error
        zeros = jnp.zeros(2 * nlam + npsi, e_y.dtype)
        rhs = jnp.concatenate([b * e_y, b * push(e_z), zeros])
        x = solve_augmented(jnp.concatenate([matrix, rhs[:, None]], 1))
        return x[:ny], x[ny : ny + nz]

    return apply
