"""Solvers outside JAX on the same mechanisms: SciPy's DOP853, and IDA of SUNDIALS.

They call functions that JAX has compiled from Python, as in a notebook: most of their time is that.
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from ..peers import available, peer
from ..peers._ida import MAX_STEPS, UNCONTROLLED
from ._mechanism import Fresh
from ._programs import kkt_field
from ._work import Runs


def outside(fresh: Fresh) -> Iterator[tuple[str, Runs]]:
    """Those that are installed, by name."""
    yield "SciPy's DOP853 on functions of JAX", by_scipy(fresh)
    if available("sksundae"):
        yield "IDA (GGL) on functions of JAX", by_ida(fresh)


def by_scipy(fresh: Fresh) -> Runs:
    """DOP853 on the compiled field of what is written by hand."""
    y, z, args = fresh.start()
    ny, field = y.size, kkt_field(fresh)

    @jax.jit
    def rate(t, x):
        return jnp.concatenate(field(t, (x[:ny], x[ny:]), args))

    x0 = np.concatenate([y, z])

    def run(tolerance: float) -> tuple[np.ndarray, bool]:
        end = solve_ivp(
            lambda t, x: np.asarray(rate(t, x)), (0, fresh.t1), x0, "DOP853", (fresh.t1,),
            rtol=tolerance, atol=tolerance,
        )  # fmt: skip
        return (end.y[:, -1] if end.success else x0), bool(end.success)

    return lambda tolerance: lambda: run(tolerance)


def by_ida(fresh: Fresh) -> Runs:
    """The equations of Gear, Gupta & Leimkuhler by BDF; multipliers are not in the error test.

    With the unknowns `(y, z, mu, lam, psi)` and `C = [gdot; k]_z`,

        y' = v + g_y^T mu,    d p / dt = f - C^T (lam, psi),    g = 0,    (gdot, k) = 0.

    Source: C. W. Gear, B. Leimkuhler & G. K. Gupta, *Automatic integration of Euler-Lagrange
    equations with constraints*, J. Comput. Appl. Math. 12-13 (1985).
    """
    y, z, args = fresh.start()
    equations, multipliers = ggl(fresh)
    x0 = np.concatenate([y, z, np.zeros(multipliers)])
    with_args = lambda t, x, xdot: equations(t, x, xdot, args)
    residual = jax.jit(with_args)
    slope = jax.jit(
        lambda t, x, xdot, c: (
            jax.jacfwd(with_args, 1)(t, x, xdot) + c * jax.jacfwd(with_args, 2)(t, x, xdot)
        )
    )
    rate = np.concatenate(kkt_field(fresh)(0.0, (y, z), args))
    xdot0 = np.concatenate([rate, np.zeros(multipliers)])
    # Right multipliers make the start consistent: the equations are linear in them.
    columns = np.asarray(jax.jacfwd(with_args, 1)(0.0, x0, xdot0))[:, y.size + z.size :]
    x0[y.size + z.size :] = np.linalg.lstsq(columns, -np.asarray(residual(0.0, x0, xdot0)))[0]
    ida, algebraic = peer("sksundae").ida, list(range(y.size + z.size, x0.size))

    def function(t, x, xdot, out):
        out[:] = residual(t, x, xdot)

    def jacobian(t, x, xdot, value, c, out):
        del value
        out[:] = slope(t, x, xdot, c)

    def run(tolerance: float) -> tuple[np.ndarray, bool]:
        atol = np.full(x0.size, tolerance)
        atol[algebraic] = UNCONTROLLED
        solver = ida.IDA(
            function, jacfn=jacobian, rtol=tolerance, atol=atol, algebraic_idx=algebraic,
            max_num_steps=MAX_STEPS,
        )  # fmt: skip
        # With two times it would save every step.
        end = solver.solve([0.0, 0.5 * fresh.t1, fresh.t1], x0, xdot0)
        reached = end.success and end.t[-1] >= fresh.t1 * (1 - 1e-12)
        return end.y[-1, : y.size + z.size], bool(reached)

    return lambda tolerance: lambda: run(tolerance)


def ggl(fresh: Fresh) -> tuple[Callable[..., Any], int]:
    """The residual of `(t, x, x', args)`, and how many multipliers there are."""
    system = fresh.system
    y, z, args = fresh.start()
    ny, nz, zero = y.size, z.size, jnp.zeros(())
    ng = 0 if system.g is None else system.g(zero, y, args).size
    nk = 0 if system.k is None else system.k(zero, y, z, args).size

    def velocity(t, y, z, args):
        return z if system.v is None else system.v(t, y, z, args)

    def momentum(t, y, z, args):
        return system.p(t, y, z, args) if fresh.mass is None else fresh.mass(args) @ z

    def positions(t, y, args):
        return jnp.zeros(0) if system.g is None else system.g(t, y, args)

    def velocities(t, y, z, args):
        along = jnp.ones_like(t), velocity(t, y, z, args)
        rows = [jax.jvp(lambda t, y: positions(t, y, args), (t, y), along)[1]]
        return jnp.concatenate(rows + ([] if system.k is None else [system.k(t, y, z, args)]))

    def residual(t, x, xdot, args):
        t = jnp.asarray(t, x.dtype)
        y, z, mu, reactions = jnp.split(x, [ny, ny + nz, ny + nz + ng])
        ydot, zdot = xdot[:ny], xdot[ny : ny + nz]
        along = jnp.ones_like(t), ydot, zdot
        rate = jax.jvp(lambda t, y, z: momentum(t, y, z, args), (t, y, z), along)[1]
        b, back = jax.vjp(lambda z: velocities(t, y, z, args), z)
        g, up = jax.vjp(lambda y: positions(t, y, args), y)
        first = ydot - velocity(t, y, z, args) - up(mu)[0]
        second = rate - system.f(t, y, z, args) + back(reactions)[0]
        return jnp.concatenate([first, second, g, b])

    return residual, 2 * ng + nk
