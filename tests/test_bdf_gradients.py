"""Derivatives of the BDF: those of the steps that were made."""

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import pytest

import jaxspark
from helpers import largest_difference, pendulum, PENDULUM_ARGS, pendulum_start, thorough
from jaxspark import MechanicalSystem, RESULTS
from jaxspark._bdf import Settings
from jaxspark._bdf._replay import attach_rows, lagrange, step_residual
from jaxspark._bdf._solve import _steps
from jaxspark._consistent import flat_multipliers
from jaxspark._system import flatten
from jaxspark.stiff import bdf


# The equations of a step are those of "ggl" for "ggl_star", "cs" and "cm_true", too.
FORMULATIONS = ["cs", "cm_step", "cm_frozen"]
STEPS = 60


def run(args, formulation, rtol=1e-4, t1=0.6, y0=None, **options):
    """The end of a pendulum whose length, mass and gravity are arguments."""
    y0 = pendulum_start(0.5, 1.0, args["l"])[0] if y0 is None else y0
    z0 = pendulum_start(0.5, 1.0, args["l"])[1]
    solution = bdf(
        pendulum(), y0, z0, args, t1=t1, rtol=rtol, formulation=formulation,
        max_steps=STEPS, throw=False, **options,
    )  # fmt: skip
    return solution


def end(args, formulation, **options):
    solution = run(args, formulation, **options)
    return jnp.concatenate([solution.y1, solution.z1, solution.lam[-1]])


def start_of(args):
    return {key: jnp.asarray(value) for key, value in args.items()}


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.filterwarnings("ignore:formulation=")
def test_forward_is_reverse(formulation):
    args = start_of(PENDULUM_ARGS)

    @jax.jit
    def both(args):
        flat, unravel = jax.flatten_util.ravel_pytree(args)
        value, push = jax.linearize(lambda x: end(unravel(x), formulation), flat)
        pull = jax.linear_transpose(push, flat)
        rows = jax.vmap(lambda x: pull(x)[0])(jnp.eye(value.size))
        return jax.vmap(push, out_axes=1)(jnp.eye(flat.size)), rows

    forward, reverse = both(args)
    assert largest_difference(forward, reverse) <= 1e-10
    assert jnp.all(jnp.isfinite(forward)) and jnp.max(jnp.abs(forward)) > 0.1


def made(args, formulation, t1=0.3, rtol=1e-4):
    """The steps of an integration: rows, how many, and the first step size tried."""
    y, z = pendulum_start(0.5, 1.0, args["l"])
    flat, y, z = flatten(pendulum(), jnp.asarray(0.0), y, z, args)
    zdot, lam, _, _ = flat_multipliers(flat, jnp.asarray(0.0), y, z)
    x = jnp.concatenate([y, z, jnp.zeros(1), lam])
    rate = jnp.concatenate([z, zdot, jnp.zeros(2)])
    settings = Settings(formulation, 2, "positions", "bordered", STEPS, 1e-8)
    frozen = flat, 0.0, t1, x, rate, None, rtol, rtol
    frozen = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, frozen)
    end, h = _steps(settings, frozen, RESULTS.successful)
    return end.rows, end.stats.num_steps, h


def again(args, formulation, rows, last, first_step):
    """The same steps, solved to rounding error; all unknowns after each."""
    y, z = pendulum_start(0.5, 1.0, args["l"])
    flat, y, z = flatten(pendulum(), jnp.asarray(0.0), y, z, args)
    zdot, lam, _, _ = flat_multipliers(flat, jnp.asarray(0.0), y, z)
    states, rates = jnp.concatenate([y, z]), jnp.concatenate([z, zdot])
    x, t = (y, z, jnp.zeros(1), lam), jnp.asarray(0.0)
    spans = first_step * jnp.arange(3.0)
    history = states[None, :] - spans[:, None] * rates[None, :]

    def body(carry, row):
        x, t, spans, history, matrix = carry
        value, derivative = lagrange(spans, row.k, row.h)
        predicted, slope = value @ history, derivative @ history
        there, _ = lagrange(spans, row.k_matrix, row.ahead)
        fresh = t + row.ahead, (there @ history)[:2]
        matrix = jax.tree.map(lambda a, b: jnp.where(row.refreshed, a, b), fresh, matrix)
        t = t + row.h
        at = {"cm_step": (t, predicted[:2]), "cm_frozen": matrix}.get(formulation)
        leading = jnp.where(row.k == 1, 1.0, 1.5) / row.h
        scaled = (*x[:2], x[2] / leading, x[3] / leading)
        q, v, mu, lam = polished(scaled, (flat, t, predicted, slope, leading, at))
        x = q, v, leading * mu, leading * lam
        history = jnp.concatenate([jnp.concatenate(x[:2])[None, :], history[:-1]])
        spans = jnp.concatenate([jnp.zeros(1), spans[:-1] + row.h])
        return (x, t, spans, history, matrix), jnp.concatenate(x)

    steps = jax.tree.map(lambda leaf: leaf[1 : last + 1], rows)
    _, xs = jax.lax.scan(body, (x, t, spans, history, (t, y)), steps)
    return jnp.concatenate([jnp.concatenate(x)[None, :], xs])


def polished(x, operands):
    flat, unravel = jax.flatten_util.ravel_pytree(x)

    def equations(x):
        return jax.flatten_util.ravel_pytree(step_residual(unravel(x), operands))[0]

    def body(_, x):
        return x - jnp.linalg.solve(jax.jacfwd(equations)(x), equations(x))

    return unravel(jax.lax.fori_loop(0, 8, body, flat))


@pytest.mark.parametrize("formulation", ["cm_step", thorough("cm_frozen")])
def test_differences_with_the_same_steps(formulation):
    """The derivatives of steps are those of these steps solved exactly, by differences."""
    args = start_of(PENDULUM_ARGS)
    length = args["l"]
    rows, last, h = jax.jit(made, static_argnums=1)(args, formulation)
    last = int(last)

    @jax.jit
    def exactly(length):
        return again({**args, "l": length}, formulation, rows, last, h)

    padded = rows.x.at[: last + 1].set(exactly(length))
    # What Newton's method left is a fraction of the tolerances.
    assert jnp.max(jnp.abs(padded - rows.x)[: last + 1, :2]) <= 1e-4
    exact = eqx.tree_at(lambda rows: rows.x, rows, padded)

    @jax.jit
    def recorded(length):
        moved = {**args, "l": length}
        y, z = pendulum_start(0.5, 1.0, length)
        flat, y, z = flatten(pendulum(), jnp.asarray(0.0), y, z, moved)
        zdot, lam, _, _ = flat_multipliers(flat, jnp.asarray(0.0), y, z)
        start = jnp.concatenate([y, z]), jnp.concatenate([z, zdot]), (y, z, jnp.zeros(1), lam)
        times = jnp.asarray(0.0), jnp.asarray(0.3)
        number = jnp.asarray(last, jnp.int32)
        return attach_rows(flat, formulation, 2, exact, number, h, start, times)[1]

    d = 1e-3
    slopes = [(exactly(length + s) - exactly(length - s)) / (2 * s) for s in (d, 2 * d)]
    richardson = (4 * slopes[0] - slopes[1]) / 3
    derivative = jax.jacfwd(recorded)(length)[: last + 1]
    states = slice(0, 4)
    difference = jnp.max(jnp.abs(derivative - richardson)[:, states])
    assert difference <= 1e-8 * jnp.max(jnp.abs(richardson[:, states]))
    difference = jnp.max(jnp.abs(derivative - richardson)[:, 5])
    assert difference <= 1e-6 * jnp.max(jnp.abs(richardson[:, 5]))


def test_tight_tolerances_give_the_derivatives_of_the_motion():
    args = start_of(PENDULUM_ARGS)

    def start(length):
        return *pendulum_start(0.5, 1.0, length), {**args, "l": length}

    def exact(length):
        y0, z0, moved = start(length)
        found = jaxspark.rollout(
            pendulum(), y0, z0, moved, method=jaxspark.Gauss(3), t1=0.2, num_steps=20
        )
        return jnp.concatenate([found.y1, found.z1])

    def ours(length):
        y0, z0, moved = start(length)
        found = bdf(
            pendulum(), y0, z0, moved, t1=0.2, rtol=1e-9, max_order=5, max_steps=400, throw=False
        )
        return jnp.concatenate([found.y1, found.z1])

    a, b = (
        jax.jit(jax.jacrev(ours))(args["l"]),
        jax.jit(jax.jacfwd(exact))(args["l"]),
    )
    assert largest_difference(a, b) <= 1e-5


def test_by_the_final_time():
    """The derivative by the final time is the velocity."""
    args = start_of(PENDULUM_ARGS)

    @jax.jit
    def at(t1):
        start = pendulum_start(0.5, 1.0, args["l"])
        found = bdf(pendulum(), *start, args, t1=t1, rtol=1e-7, max_steps=400, throw=False)
        return found.y1, found.ts[-1], found.z1

    by_t1 = jax.jacfwd(at)(0.3)
    velocity = at(0.3)[2]
    assert jnp.max(jnp.abs(by_t1[0] - velocity)) <= 1e-3 and abs(by_t1[1] - 1) <= 1e-12


def test_gradient_of_all_rows():
    """Every saved row has derivatives, those after the end the same as the last."""
    args = start_of(PENDULUM_ARGS)

    @jax.jit
    def rows(length):
        return jax.jacfwd(lambda l: run({**args, "l": l}, "cs").ys)(length), run(args, "cs").stats

    derivatives, stats = rows(args["l"])
    n = int(stats.num_steps)
    assert jnp.all(derivatives[n:] == derivatives[n][None]) and n < STEPS
    assert jnp.max(jnp.abs(derivatives[0] - pendulum_start()[0] / 0.8)) <= 1e-12


def test_failing_lanes_poison_none():
    """The gradient of shared arguments is finite where one lane of a batch fails at its start."""

    def force(t, q, v, args):
        return jnp.stack([jnp.zeros_like(q[0]), -jnp.sqrt(args["g"])])

    def rod(t, q, args):
        return (jnp.sum(q**2, keepdims=True) - 1) / 2

    system = MechanicalSystem(lambda t, q, args: jnp.eye(2) * args["m"], force, rod)
    y0, z0 = jnp.array([1.0, 0.0]), jnp.zeros(2)

    @jax.jit
    def loss(mass):
        def lane(g):
            found = bdf(
                system, y0, z0, {"g": g, "m": mass}, t1=0.3, rtol=1e-3, max_steps=30, throw=False
            )
            return jnp.where(found.successful, found.z1[1], 0.0), found.successful

        values, good = jax.vmap(lane)(jnp.array([96.0, -1.0, 4.0]))
        return jnp.sum(values), good

    gradient, good = jax.grad(loss, has_aux=True)(jnp.asarray(1.3))
    assert good.tolist() == [True, False, True]
    assert jnp.isfinite(gradient)


def test_gradients_through_a_module():
    """The system's own arrays are differentiated, too."""

    class Spring(eqx.Module):
        k: jax.Array

        def __call__(self, t, q, v, args):
            return -self.k * q

    def rod(t, q, args):
        return (jnp.sum(q**2, keepdims=True) - 1) / 2

    @jax.jit
    def loss(k):
        system = MechanicalSystem(
            lambda t, q, args: jnp.eye(2), Spring(k * jnp.array([1.0, 4.0])), rod
        )
        start = jnp.array([0.6, 0.8]), jnp.zeros(2)
        return bdf(system, *start, t1=0.5, rtol=1e-5, max_steps=120, throw=False).y1[0]

    slope = jax.grad(loss)(jnp.asarray(2.0))
    assert abs(slope - (loss(2.05) - loss(1.95)) / 0.1) <= 2e-3 * abs(slope)
