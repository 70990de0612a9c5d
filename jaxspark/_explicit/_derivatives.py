r"""Tangents and cotangents of evaluations.

Derivatives are those of the equations at the known solution. With `L` the solution of the
transposed equations for the cotangent of `u`, that of everything else is the gradient of

    -L . E + (cotangent) . (increment)

at fixed `u`, `mu` and `L`, where `E` are the equations. All products with `M`, `C` and their
transposes in it are directional derivatives of `nu . (p, b)`, along `(a, a v, u)` and
`(0, 0, L_u)`. No derivative of an elimination is ever computed.

Source: A. Griewank & A. Walther, *Evaluating Derivatives*, 2nd edition, section 15.1, for implicit
differentiation.
"""

from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from ._field import Field, Linearised, Parameters, Weights
from ._structured import StructuredField


# With respect to `t`, `y`, `z` and the parameters that are differentiated.
Gradient: TypeAlias = tuple[Any, Any, Any, Any]


def gradients(
    field: Field,
    moving: Any,
    fixed: Any,
    t: FloatScalar,
    y: Float[Array, " ny"],
    z: Float[Array, " nz"],
    of_b: Float[Array, " m"],
    of_p: Float[Array, " nz"],
) -> tuple[Gradient, Gradient]:
    """The gradients of `of_b . b` and of `of_p . p`.

    In reverse mode over `g`, `k` and `p` themselves; that `b` has the derivative of `g` along
    `v` in it is a directional derivative of the gradient of `g`.
    """

    def system(moving):
        return field.system((moving, fixed))

    static = field.static
    zero = jax.tree.map(jnp.zeros_like, (t, y, z, moving))
    parts = [zero]
    if static.g is not None:
        v, pull_v = jax.vjp(lambda *s: system(s[3]).velocity(*s[:3]), t, y, z, moving)
        weighted = lambda t, y, p: jnp.sum(system(p).holonomic(t, y) * of_b[: field.nlam])
        of_g = jax.grad(weighted, (0, 1, 2))
        (_, to_v, _), (dt, dy, dp) = jax.jvp(
            lambda t, y: of_g(t, y, moving), (t, y), (jnp.ones_like(t), v)
        )
        parts += [(dt, dy, jnp.zeros_like(z), dp), pull_v(to_v)]
    if static.k is not None:
        of_k = of_b[field.nlam :]
        weighted = lambda t, y, z, p: jnp.sum(system(p).nonholonomic(t, y, z) * of_k)
        parts.append(jax.grad(weighted, (0, 1, 2, 3))(t, y, z, moving))
    weighted = lambda t, y, z, p: jnp.sum(system(p).momentum(t, y, z) * of_p)
    return _sum(*parts), jax.grad(weighted, (0, 1, 2, 3))(t, y, z, moving)


def pull(
    field: Field,
    parameters: Parameters,
    t: FloatScalar,
    x: Float[Array, " n"],
    weights: Weights,
    at: Linearised,
    solution: Float[Array, " n2"],
    cotangent: Float[Array, " n"],
) -> tuple[FloatScalar, Float[Array, " n"], Any]:
    """The cotangents of `t`, `x` and the parameters, for that of the increment.

    - `at`, `solution`: as the evaluation found them.
    """
    a, q, w = weights
    moving, fixed = parameters
    system = field.system(parameters)
    (y, z), (to_y, to_z) = field.split(x), field.split(cotangent)
    u, mu = solution[: field.nz], solution[field.nz :]
    of_u = (a + w) * to_z + q * at.saddle.back(to_y)
    L = at.saddle.solve_transposed(jnp.concatenate([of_u, jnp.zeros(field.m, z.dtype)]))
    L_u, L_mu = L[: field.nz], L[field.nz :]
    if isinstance(field, StructuredField):
        return field.weighted(parameters, t, x, weights, solution, L, to_y)

    def along(direction, of_p, of_b):
        return jax.jvp(
            lambda t, y, z: gradients(field, moving, fixed, t, y, z, of_b, of_p),
            (t, y, z), direction,
        )  # fmt: skip

    zero = jnp.zeros_like(t)
    directions = (
        jnp.stack([a * jnp.ones_like(t), zero]),
        jnp.stack([a * at.v, jnp.zeros_like(y)]),
        jnp.stack([u, L_u]),
    )
    values, changes = jax.vmap(along)(
        directions, jnp.stack([L_u, jnp.zeros_like(L_u)]), jnp.stack([L_mu, mu])
    )
    # L . E holds the derivatives of L . (p, b) along (a, a v, u), of mu . b along (0, 0, L_u),
    # and w L_mu . b.
    negative = lambda b, p, value: -jnp.sum(b + p, 0) - w * value[0]
    out = jax.tree.map(negative, *changes, values[0])
    to_v = a * (to_y - values[0][1][0] - values[1][1][0])
    out = _sum(out, _of_velocity(field, moving, fixed, t, y, z, to_v, to_y, q * u))
    force = lambda *s: field.system((s[3], fixed)).f(*s[:3])
    out = _sum(out, jax.vjp(force, t, y, z, moving)[1](a * L_u))
    if system.g is not None:
        held = lambda t, y, p: field.system((p, fixed)).holonomic(t, y)
        dt, dy, dp = jax.vjp(held, t, y, moving)[1](-q * L_mu[: field.nlam])
        out = _sum(out, (dt, dy, jnp.zeros_like(z), dp))
    return out[0], jnp.concatenate([out[1], out[2]]), out[3]


def _of_velocity(field, moving, fixed, t, y, z, to_v, to_y, u):
    """The gradient of `to_v . v + to_y . v_z u`."""
    if field.static.v is None:
        zero = jax.tree.map(jnp.zeros_like, moving)
        return jnp.zeros_like(t), jnp.zeros_like(y), to_v, zero

    def pulled(z, cotangent):
        velocity = lambda *s: field.system((s[3], fixed)).velocity(*s[:3])
        return jax.vjp(velocity, t, y, z, moving)[1](cotangent)

    first = pulled(z, to_v)
    return _sum(first, jax.jvp(lambda z: pulled(z, to_y), (z,), (u,))[1])


def push(
    field: Field,
    parameters: Parameters,
    t: FloatScalar,
    x: Float[Array, " n"],
    weights: Weights,
    at: Linearised,
    solution: Float[Array, " n2"],
    tangents: tuple[Any, FloatScalar, Float[Array, " n"]],
) -> Float[Array, " n"]:
    """The tangent of the increment, for those of the moving parameters, `t` and `x`."""
    a, q, w = weights
    moving, fixed = parameters
    u, mu = solution[: field.nz], solution[field.nz :]

    def equations(moving, t, x):
        system = field.system((moving, fixed))
        y, z = field.split(x)
        v = system.velocity(t, y, z)

        def of_state(t, y, z):
            return field.constraints(system, t, y, z)[0], system.momentum(t, y, z)

        direction = (a * jnp.ones_like(t), a * v, u)
        (b, _), (rates, momentum_rate) = jax.jvp(of_state, (t, y, z), direction)
        zero = jnp.zeros_like(z)
        reaction = gradients(field, moving, fixed, t, y, z, mu, zero)[0][2]
        balance = momentum_rate + reaction - a * system.f(t, y, z)
        held = rates + w * b + q * field.positions(system, t, y)
        drift = jax.jvp(lambda z: system.velocity(t, y, z), (z,), (u,))[1]
        return jnp.concatenate([balance, held]), a * v + q * drift

    of = equations
    if isinstance(field, StructuredField):
        of = lambda moving, t, x: field.equations(moving, fixed, t, x, weights, solution)
    _, (wrong, moved) = jax.jvp(of, (moving, t, x), tangents)
    change = at.saddle.solve(-wrong)[0][: field.nz]
    return jnp.concatenate([moved + q * at.saddle.along(change), (a + w) * change])


def _sum(*trees: Any) -> Any:
    return jax.tree.map(lambda *x: sum(x[1:], x[0]), *trees)
