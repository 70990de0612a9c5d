"""Ours and what a user of JAX writes by hand, as functions of one signature."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

import jaxspark

from ._mechanism import Fresh


MAX_STEPS = 4096
Program = Callable[..., Any]


def ours(fresh: Fresh, method: Any = None) -> Program:
    """`run(y, z, args, tolerance)`, the state at the end and whether it got there.

    **Arguments:**

    - `method`: of `jaxspark.solve`, by default its own default.
    """

    def run(y, z, args, tolerance):
        end = jaxspark.solve(
            fresh.system, y, z, args, t1=fresh.t1, method=method, rtol=tolerance, atol=tolerance,
            max_steps=MAX_STEPS, throw=False,
        )  # fmt: skip
        return jnp.concatenate([end.y1, end.z1]), end.successful

    return run


def by_hand(fresh: Fresh, solver: diffrax.AbstractERK) -> Program:
    """The same on accelerations from the KKT matrix, by diffrax with its defaults."""
    field = kkt_field(fresh)

    def run(y, z, args, tolerance):
        end = diffrax.diffeqsolve(
            diffrax.ODETerm(field), solver, 0.0, fresh.t1, None, (y, z), args,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            max_steps=MAX_STEPS, throw=False,
        )  # fmt: skip
        assert end.ys is not None
        good = end.result == diffrax.RESULTS.successful
        return jnp.concatenate([x[-1] for x in end.ys]), good

    return run


def kkt_field(fresh: Fresh) -> Callable[..., Any]:
    """`(t, (y, z), args) -> (y', z')`, by one linear system with constraints differentiated.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """
    system = fresh.system

    def velocity(t, y, z, args):
        return z if system.v is None else system.v(t, y, z, args)

    def constraints(t, y, z, args):
        rates, parts = (jnp.ones_like(t), velocity(t, y, z, args)), []
        if system.g is not None:
            parts.append(jax.jvp(lambda t, y: system.g(t, y, args), (t, y), rates)[1])
        if system.k is not None:
            parts.append(system.k(t, y, z, args))
        return jnp.concatenate(parts)

    def field(t, state, args):
        y, z = state
        t = jnp.asarray(t, y.dtype)
        v, still = velocity(t, y, z, args), jnp.zeros_like(z)
        along = (jnp.ones_like(t), v, still)
        rows = jax.jacfwd(constraints, 2)(t, y, z, args)
        bias = jax.jvp(lambda *x: constraints(*x, args), (t, y, z), along)[1]
        force = system.f(t, y, z, args)
        if fresh.mass is not None:
            mass = fresh.mass(args)
        else:
            mass = jax.jacfwd(system.p, 2)(t, y, z, args)
            force = force - jax.jvp(lambda *x: system.p(*x, args), (t, y, z), along)[1]
        m = rows.shape[0]
        matrix = jnp.block([[mass, rows.T], [rows, jnp.zeros((m, m))]])
        return v, jnp.linalg.solve(matrix, jnp.concatenate([force, -bias]))[: z.size]

    return field


def differentiated(run: Program) -> Program:
    """Value and gradient, by the parameters and the whole start, of the sum of the end."""

    def total(y, z, args, tolerance):
        return jnp.sum(run(y, z, args, tolerance)[0])

    return jax.value_and_grad(total, (0, 1, 2))
