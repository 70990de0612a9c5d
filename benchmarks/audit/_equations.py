"""The index-1 equations of a constrained system, written down plainly, apart from jaxspark's own.

They are what references are made of: from the system only its functions are taken.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import jaxspark


System = jaxspark.AbstractConstrainedSystem
ITERATIONS = 30  # of Newton's method, where forces depend on multipliers nonlinearly


def _velocity(system: System, t, y, z, args):
    return z if system.v is None else system.v(t, y, z, args)


def _momentum(system: System, t, y, z, args):
    return z if system.p is None else system.p(t, y, z, args)


def _none(y):
    return jnp.zeros(0, y.dtype)


def holonomic(system: System, t, y, args) -> Float[Array, " nlam"]:
    """`g(t, y)`."""
    return _none(y) if system.g is None else system.g(t, y, args)


def velocity_constraints(system: System, t, y, z, args) -> Float[Array, " nlam+npsi"]:
    """`(g_t + g_y v, k)`."""
    rates = (jnp.ones_like(t), _velocity(system, t, y, z, args))
    gdot = jax.jvp(lambda t, y: holonomic(system, t, y, args), (t, y), rates)[1]
    k = _none(y) if system.k is None else system.k(t, y, z, args)
    return jnp.concatenate([gdot, k])


def _reactions(system: System, t, y, z, lam, psi, args):
    """All forces that depend on multipliers, ideal ones by d'Alembert's and Chetaev's rules."""
    total = jnp.zeros_like(z)
    if system.g is not None:
        if system.r is not None:
            total += system.r(t, y, lam, args)
        else:
            normal = jax.vjp(lambda y: holonomic(system, t, y, args), y)[1](lam)[0]
            total -= jax.vjp(lambda z: _velocity(system, t, y, z, args), z)[1](normal)[0]
        if system.friction is not None:
            total += system.friction(t, y, z, lam, args)
    if system.k is not None:
        if system.reaction is not None:
            total += system.reaction(t, y, z, psi, args)
        else:
            total -= jax.vjp(lambda z: system.k(t, y, z, args), z)[1](psi)[0]
    return total


def _residual(system: System, x, sizes, t, y, z, args):
    """Of `d/dt p = f + reactions`, `d/dt gdot = 0` and `d/dt k = 0`, for `x = (z', lam, psi)`."""
    nz, nlam = sizes
    zdot, lam, psi = x[:nz], x[nz : nz + nlam], x[nz + nlam :]
    rates = (jnp.ones_like(t), _velocity(system, t, y, z, args), zdot)
    inertia = jax.jvp(lambda *s: _momentum(system, *s, args), (t, y, z), rates)[1]
    force = system.f(t, y, z, args) + _reactions(system, t, y, z, lam, psi, args)
    constrained = jax.jvp(lambda *s: velocity_constraints(system, *s, args), (t, y, z), rates)[1]
    return jnp.concatenate([inertia - force, constrained])


def accelerations(system: System, t, y, z, args) -> tuple[Array, Array]:
    """`z'`, shape `(nz,)`, and the multipliers `(lam, psi)`, shape `(nlam + npsi,)`.

    One linear system where the residual is affine in them, solved with one correction of its
    rounding errors; else Newton's method from zero.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    sizes = len(z), len(holonomic(system, t, y, args))
    count = len(z) + len(velocity_constraints(system, t, y, z, args))
    residual = partial(_residual, system, sizes=sizes, t=t, y=y, z=z, args=args)
    affine = system.friction is None and system.r is None and system.reaction is None
    x = jnp.zeros(count, z.dtype)
    if affine:
        factors = jax.scipy.linalg.lu_factor(jax.jacfwd(residual)(x))
        for _ in range(2):
            x = x - jax.scipy.linalg.lu_solve(factors, residual(x))
    else:

        def improve(carry):
            trip, x, _ = carry
            change = jnp.linalg.solve(jax.jacfwd(residual)(x), residual(x))
            return trip + 1, x - change, jnp.max(jnp.abs(change) / (1 + jnp.abs(x)))

        def unfinished(carry):
            return (carry[0] < ITERATIONS) & (carry[2] > 1e-13)

        x = jax.lax.while_loop(unfinished, improve, (0, x, jnp.asarray(jnp.inf)))[1]
    return x[: len(z)], x[len(z) :]


def underlying_rate(system: System, t, state, ny: int, args) -> Float[Array, " ny+nz"]:
    """`(y', z')` of the flat state `(y, z)`."""
    y, z = state[:ny], state[ny:]
    zdot, _ = accelerations(system, t, y, z, args)
    return jnp.concatenate([_velocity(system, t, y, z, args), zdot])


@eqx.filter_jit
def _position_equations(system: System, y, z, args):
    """`g` and its Jacobian along the velocities, `g_y v_z`, and `v_z`, at time 0."""
    t = jnp.zeros(())
    along = jax.jacfwd(lambda z: _velocity(system, t, y, z, args))(z)
    return (
        holonomic(system, t, y, args),
        jax.jacfwd(partial(holonomic, system, t), 0)(y, args) @ along,
        along,
    )


@eqx.filter_jit
def _velocity_equations(system: System, y, z, args):
    def of(z):
        return velocity_constraints(system, jnp.zeros(()), y, z, args)

    return of(z), jax.jacfwd(of)(z)


def consistent(
    system: System, y: np.ndarray, z: np.ndarray, args: Any
) -> tuple[np.ndarray, np.ndarray]:
    """A consistent state near a guess, at time 0, by Gauss-Newton steps of least length.

    **Raises:** `RuntimeError` if there is none to rounding error.
    """

    def newton(x: np.ndarray, equations: Callable, advance: Callable) -> np.ndarray:
        for _ in range(40):
            defect, jacobian, *more = (np.asarray(a) for a in equations(x))
            if not defect.size:
                return x
            step = np.linalg.lstsq(jacobian, -defect, rcond=1e-12)[0]
            x = advance(x, step, *more)
            if np.max(np.abs(step)) <= 1e-15 * (1 + np.max(np.abs(x))):
                break
        if not np.max(np.abs(equations(x)[0])) <= 1e-12 * (1 + np.max(np.abs(x))) ** 2:
            raise RuntimeError("No consistent state was found near the guess.")
        return x

    y = newton(
        y,
        lambda y: _position_equations(system, y, z, args),
        lambda y, step, along: y + along @ step,
    )
    z = newton(z, lambda z: _velocity_equations(system, y, z, args), lambda z, step: z + step)
    return y, z
