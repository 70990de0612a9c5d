"""Derivatives of solves by explicit methods: through everything, to the second order."""

import functools

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, mixed, pendulum, PENDULUM_ARGS, pendulum_start, thorough
from jaxspark.diffrax import ConstrainedTerm, DiffraxSolver


METHOD = jaxspark.DOP853()
T0, T1, TIMES = 0.1, 0.9, jnp.array([0.35, 0.8])


def motion(p, tolerance=1e-10, **options):
    """The end and saved states of a pendulum from a consistent start."""
    args = {"m": PENDULUM_ARGS["m"], "l": p["l"], "g": p["g"]}
    y0, z0 = pendulum_start(p["angle"], p["rate"], p["l"])
    end = jaxspark.solve(
        pendulum(), y0, z0, args, method=METHOD, t0=p["t0"], t1=p["t1"], ts=p["ts"], rtol=tolerance,
        max_steps=64, throw=False, **options,
    )  # fmt: skip
    return jnp.concatenate([end.y1, end.z1, end.ys.ravel(), end.zs.ravel()])


def point():
    values = {"l": 0.8, "g": 9.81, "angle": 0.5, "rate": 1.0, "t0": T0, "t1": T1}
    return {name: jnp.asarray(value) for name, value in values.items()} | {"ts": TIMES}


@functools.cache
def jacobians():
    """Forward and reverse."""
    return tuple(jax.jit(mode(motion))(point()) for mode in (jax.jacfwd, jax.jacrev))


def test_forward_is_reverse():
    assert largest_difference(*jacobians()) <= 1e-12


@pytest.mark.parametrize("name", ["l", "g", "angle", "rate", "t0", "t1", "ts"])
def test_differences(name):
    """Richardson's, of the solve itself at a tight tolerance."""
    run = jax.jit(functools.partial(motion, tolerance=1e-13))

    def moved(by):
        return run({**point(), name: point()[name] + by})

    def central(step):
        return (moved(step) - moved(-step)) / (2 * step)

    expected = (4 * central(5e-4) - central(1e-3)) / 3
    found = jacobians()[0][name]
    found = jnp.sum(found, -1) if name == "ts" else found
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_all_kinds_of_constraints():
    """From a start that depends on parameters: forward, reverse, and Richardson's differences."""
    problem = mixed()

    def loss(args):
        start = jaxspark.project(problem.system, 0.0, problem.y0, problem.z0, args)
        end = jaxspark.solve(
            problem.system, start.y, start.z, args, method=METHOD, t1=1.0, rtol=1e-12,
            max_steps=128,
            throw=False,
        )  # fmt: skip
        return jnp.sum(end.y1**2) + jnp.sum(jnp.sin(end.z1))

    args = jax.tree.map(jnp.asarray, problem.args)
    value, run = jax.jit(jax.grad(loss))(args), jax.jit(loss)
    along = jax.tree.map(lambda x: jnp.full_like(x, 0.7), args)
    reverse = sum(jnp.sum(0.7 * x) for x in jax.tree.leaves(value))
    forward = jax.jit(lambda args: jax.jvp(loss, (args,), (along,))[1])(args)

    def central(step):
        ends = [run(jax.tree.map(lambda x, d: x + s * d, args, along)) for s in (step, -step)]
        return (ends[0] - ends[1]) / (2 * step)

    np.testing.assert_allclose(forward, reverse, rtol=1e-12)
    np.testing.assert_allclose(forward, (4 * central(5e-4) - central(1e-3)) / 3, rtol=1e-7)


def scalar(angle, rate, t1):
    end = jaxspark.solve(
        pendulum(), *pendulum_start(angle, rate), PENDULUM_ARGS, method=METHOD, t1=t1, rtol=1e-11,
        max_steps=24, throw=False,
    )  # fmt: skip
    return end.y1[0] * jnp.exp(end.z1[1])


AT = (jnp.asarray(0.5), jnp.asarray(1.0), jnp.asarray(0.6))


@functools.cache
def hessian():
    return jnp.stack([jnp.stack(x) for x in jax.jit(jax.hessian(scalar, (0, 1, 2)))(*AT)])


def test_second_derivatives():
    """Forward over reverse: symmetric, and differences of gradients at a tight tolerance."""
    gradient = jax.jit(jax.grad(scalar, (0, 1, 2)))
    columns = []
    for i in range(3):
        moved = lambda by: jnp.stack(gradient(*(x + by * (i == j) for j, x in enumerate(AT))))
        columns.append((moved(1e-4) - moved(-1e-4)) / 2e-4)
    np.testing.assert_allclose(hessian(), hessian().T, atol=1e-10)
    np.testing.assert_allclose(hessian(), jnp.stack(columns), atol=2e-6)


@pytest.mark.parametrize("mode", [thorough(jax.jacrev)], ids=["reverse"])
def test_reverse_over_reverse(mode):
    found = jax.jit(mode(jax.grad(scalar, (0, 1, 2)), (0, 1, 2)))(*AT)
    found = jnp.stack([jnp.stack(x) for x in found])
    np.testing.assert_allclose(found, hessian(), atol=1e-10)


def twice(angle):
    """Two solves, one after the other, in a loop."""

    def body(carry, _):
        return scalar(carry, AT[1], AT[2]), None

    return jax.lax.scan(body, angle, None, length=2)[0]


@functools.cache
def unrolled():
    """First and second derivative of two solves without a loop, by the chain rule."""
    first, second = [], []
    angle = AT[0]
    for _ in range(2):
        rest = (jnp.broadcast_to(x, ()) for x in AT[1:])
        run = functools.partial(lambda rest, a: scalar(a, *rest), tuple(rest))
        first.append(jax.jit(jax.grad(run))(angle))
        second.append(jax.jit(jax.jacfwd(jax.grad(run)))(angle))
        angle = run(angle)
    return first[0] * first[1], second[1] * first[0] ** 2 + first[1] * second[0]


def test_in_a_scan():
    slope, bend = unrolled()
    np.testing.assert_allclose(jax.jit(jax.grad(twice))(AT[0]), slope, rtol=1e-10)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(jax.grad(twice)))(AT[0]), bend, rtol=1e-9)


def test_gradients_of_batches_are_those_of_lanes():
    angles = jnp.array([0.2, 0.5, 1.0])
    one = jax.grad(lambda angle: scalar(angle, AT[1], AT[2]))
    batch = jax.jit(jax.vmap(one))(angles)
    whole = jax.jit(jax.grad(lambda a: jnp.sum(jax.vmap(lambda x: scalar(x, *AT[1:]))(a))))(angles)
    expected = jnp.stack([jax.jit(one)(angle) for angle in angles])
    np.testing.assert_allclose(batch, expected, rtol=1e-12)
    np.testing.assert_allclose(whole, expected, rtol=1e-12)


def test_steps_have_derivatives():
    """Of every row, those of the same row saved by its time held in place."""

    def rows(angle):
        end = jaxspark.solve(
            pendulum(), *pendulum_start(angle, 1.0), PENDULUM_ARGS, method=METHOD, t1=0.6,
            rtol=1e-8,
            save_every=1, max_steps=24, throw=False,
        )  # fmt: skip
        return end.ys, end.ts

    ys, ts = jax.jit(rows)(0.5)
    found = jax.jit(jax.jacfwd(lambda angle: rows(angle)[0]))(0.5)
    count = int(jnp.argmax(ts == 0.6))

    def saved(angle):
        return jaxspark.solve(
            pendulum(), *pendulum_start(angle, 1.0), PENDULUM_ARGS, method=METHOD, t1=0.6,
            rtol=1e-8,
            ts=ts[: count + 1], max_steps=24, throw=False,
        ).ys  # fmt: skip

    expected = jax.jit(jax.jacfwd(saved))(0.5)
    np.testing.assert_allclose(found[: count + 1], expected, atol=1e-12)


def test_dense_output_has_derivatives():
    """In time, the velocity; by parameters, those of the state saved there."""

    def solution(angle):
        return jaxspark.solve(
            pendulum(), *pendulum_start(angle, 1.0), PENDULUM_ARGS, method=METHOD, t1=0.6,
            rtol=1e-9,
            dense=True, max_steps=24, throw=False,
        )  # fmt: skip

    at = jnp.asarray(0.33)
    inside = solution(0.5)
    slope = jax.jacfwd(lambda t: inside.evaluate(t)[0])(at)
    np.testing.assert_allclose(slope, inside.evaluate(at)[1], rtol=1e-9)
    found = jax.jit(jax.jacrev(lambda angle: solution(angle).evaluate(at)[0]))(0.5)

    def saved(angle):
        return jaxspark.solve(
            pendulum(), *pendulum_start(angle, 1.0), PENDULUM_ARGS, method=METHOD, t1=0.6,
            rtol=1e-9,
            ts=at[None], max_steps=24, throw=False,
        ).ys[0]  # fmt: skip

    np.testing.assert_allclose(found, jax.jit(jax.jacfwd(saved))(0.5), rtol=1e-12)


def test_without_the_primitive():
    """By `jax.lax.custom_linear_solve`: the same numbers, forward and reverse."""
    expected = jax.jit(jax.grad(scalar))(*AT)
    # What was traced with it would be found again.
    jax.clear_caches()
    with jaxspark.jax_internals(False):
        forward = jax.jit(jax.jacfwd(scalar))(*AT)
        reverse = jax.jit(jax.grad(scalar))(*AT)
    jax.clear_caches()
    np.testing.assert_allclose(forward, expected, rtol=1e-12)
    np.testing.assert_allclose(reverse, expected, rtol=1e-12)


@pytest.mark.thorough
def test_second_derivatives_without_the_primitive():
    expected = unrolled()[1]
    jax.clear_caches()
    with jaxspark.jax_internals(False):
        run = jax.jit(jax.jacfwd(jax.grad(twice)))
        if jax.__version_info__ >= (0, 11):
            np.testing.assert_allclose(run(AT[0]), expected, rtol=1e-9)
        else:
            # Scans drop custom rules there: an error, but no wrong number.
            with pytest.raises(AssertionError):
                run(AT[0])
    jax.clear_caches()


def test_room_for_the_steps_is_needed():
    def loss(angle):
        end = jaxspark.solve(
            pendulum(), *pendulum_start(angle, 1.0), PENDULUM_ARGS, method=METHOD, t1=0.6,
            max_steps=None,
            throw=False,
        )  # fmt: skip
        return end.y1[0]

    assert jnp.isfinite(loss(0.5))
    with pytest.raises(ValueError, match="max_steps"):
        jax.grad(loss)(0.5)


def test_the_same_as_steps_in_diffrax():
    """Gradients by another program: the steps of diffrax, differentiated one by one."""

    def theirs(angle):
        solution = diffrax.diffeqsolve(
            ConstrainedTerm(pendulum()), DiffraxSolver(METHOD), 0.0, 0.6, None,
            pendulum_start(angle, 1.0), PENDULUM_ARGS, max_steps=64, throw=False,
            stepsize_controller=diffrax.PIDController(1e-11, 1e-11),
        )  # fmt: skip
        y1, z1 = (x[-1] for x in solution.ys)
        return y1[0] * jnp.exp(z1[1])

    found = jax.jit(jax.grad(lambda a: scalar(a, AT[1], AT[2])))(0.5)
    np.testing.assert_allclose(found, jax.jit(jax.grad(theirs))(0.5), rtol=1e-9)


def chain(count):
    """Rods in a chain, the first of which hangs at the ground, and its parameters."""
    half = 0.5 / count

    def ends(q):
        along = half * jnp.stack([jnp.cos(q[2]), jnp.sin(q[2])])
        return q[:2] - along, q[:2] + along

    system = jaxspark.MultibodySystem(
        mass=lambda t, y, own, args: own * jnp.array([1.0, 1.0, half**2 / 3]),
        force=lambda t, y, z, own, args: jnp.array([0.0, -args["g"], 0.0]) * own - args["c"] * z,
        joints=[
            jaxspark.Joint(lambda t, a, b, own, args: ends(a)[0], [(0, -1)]),
            jaxspark.Joint(
                lambda t, a, b, own, args: ends(b)[0] - ends(a)[1],
                [(i, i + 1) for i in range(count - 1)],
            ),
        ],
        own=lambda args: args["masses"],
    )
    centres = (jnp.arange(1.0 * count) + 0.5) / count
    y0 = jnp.stack([centres, 0 * centres, 0 * centres], 1)
    return system, y0, {"g": 9.81, "c": 0.01, "masses": jnp.linspace(0.1, 0.2, count)}


def test_blocks():
    """By blocks and by dense matrices: the same motion, and derivatives to the second order."""
    system, y0, args = chain(5)

    def end(gravity, solver):
        found = jaxspark.solve(
            system, y0, 0 * y0, {**args, "g": gravity}, t1=0.1, rtol=1e-8, linear_solver=solver,
            max_steps=64, throw=False,
        )  # fmt: skip
        assert found.y1.shape == y0.shape
        return jnp.sum(jnp.sin(found.y1)) + jnp.sum(found.z1**2)

    def all_of(solver):
        value = lambda g: end(g, solver)
        both = (jax.grad(value), jax.jacfwd(value), jax.jacfwd(jax.grad(value)))
        return jnp.stack([jax.jit(f)(9.81) for f in (value, *both)])

    dense, blocks = all_of(None), all_of(jaxspark.linear.AcyclicNullSpace())
    np.testing.assert_allclose(blocks, dense, rtol=1e-11)
    np.testing.assert_allclose(blocks[1], blocks[2], rtol=1e-12)
