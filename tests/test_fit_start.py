"""Starts of trials: consistent whatever the unknowns are, and smooth functions of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import helpers
import jaxspark
import swings
from benchmarks import problems
from jaxspark import fit
from jaxspark.fit._initial import initial_state
from jaxspark.fit._predict import predict
from jaxspark.fit._problem import make_problem
from jaxspark.fit._shooting import shooting_problem
from jaxspark.fit._tangent import tangent


def knife_edge():
    return helpers.knife_edge(), *helpers.knife_edge_start(), helpers.KNIFE_EDGE_ARGS


def of_problem(make):
    def case():
        problem = make()
        return problem.system, problem.y0, problem.z0, problem.args

    return case


def pendulum():
    args = {"length": jnp.asarray(0.8), "drag": 0.3}
    return swings.PENDULUM, *swings.state(0.6, 1.1, length=0.8), args


def free_oscillator():
    return helpers.oscillator(), np.array([0.3, -0.2]), np.array([0.1, 0.4]), {"k": 2.0}


# Degrees of freedom of coordinates and of velocities, counted by hand.
CASES = {
    "pendulum": (pendulum, (1, 1)),
    "skate": (knife_edge, (3, 2)),
    "both kinds, moving": (of_problem(problems.mixed), (3, 2)),
    # The norm of the quaternion is no degree of freedom: velocities cannot change it.
    "quaternion": (of_problem(problems.heavy_top), (3, 3)),
    "no constraint": (free_oscillator, (2, 2)),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A system, its tangent space at a guess that is off, and its state as a function."""
    make, sizes = CASES[request.param]
    system, y, z, args = make()
    rng = np.random.default_rng(5)
    moved = y + 0.03 * rng.normal(size=y.shape) * (request.param != "quaternion"), z + 0.02
    at = tangent(system, 0.7, *moved, args)
    numbers, structure = jax.flatten_util.ravel_pytree(args)
    like = jnp.asarray(y, float), jnp.asarray(z, float)

    def state(x, numbers=numbers):
        y, z, good = initial_state(system, like, at, x, structure(numbers))
        return jnp.concatenate([y, z]), good

    return system, at, sizes, state, numbers, structure


def residuals(system, t, flat, ny, args):
    found = jaxspark.diagnostics.constraint_residuals(system, t, flat[:ny], flat[ny:], args)
    return max([float(jnp.max(jnp.abs(x))) for x in jax.tree.leaves(found) if x.size] or [0.0])


def test_states_are_consistent_and_have_their_coordinates(case):
    system, at, sizes, state, numbers, structure = case
    ny = at.y.size
    assert (at.along_y.shape[1], at.along_z.shape[1]) == sizes and at.size == sum(sizes)
    # The tangent point itself is the guess, if that is consistent.
    again = tangent(system, 0.7, at.y, at.z, structure(numbers))
    np.testing.assert_allclose(again.y, at.y, rtol=0, atol=1e-13 * (1 + np.max(abs(at.y))))
    np.testing.assert_allclose(again.z, at.z, rtol=0, atol=1e-13 * (1 + np.max(abs(at.z))))
    call, rng = jax.jit(state), np.random.default_rng(1)
    for size in (0.0, 0.02, 0.15):
        x = size * rng.normal(size=at.size)
        for other in (numbers, numbers * (1 + 0.02 * rng.normal(size=numbers.shape))):
            flat, good = call(x, other)
            scale = 1 + np.max(abs(flat))
            assert good
            assert residuals(system, 0.7, flat, ny, structure(other)) <= 1e-13 * scale
            # Where directions are perpendicular, as they are if v = z, it is a projection.
            if at.y.size == at.z.size:
                np.testing.assert_allclose(
                    at.coordinates(flat[:ny], flat[ny:]), x, rtol=0, atol=1e-13 * scale
                )


def test_derivatives_agree_with_differences(case):
    *_, state, numbers, _ = case
    at = case[1]
    rng = np.random.default_rng(2)
    weights = rng.normal(size=at.y.size + at.z.size)
    x = jnp.concatenate([0.05 * rng.normal(size=at.size), numbers])
    whole = lambda x: state(x[: at.size], x[at.size :])[0]
    scalar = lambda x: jnp.sum(jnp.sin(whole(x) / (1 + jnp.abs(at.y).max())) * weights)
    value, gradient = jax.jit(whole), jax.jit(jax.grad(scalar))
    forward = jax.jit(jax.jacfwd(whole))(x)
    steps = 1e-5 * (1 + abs(x))

    def differences(function):
        columns = []
        for i, h in enumerate(steps):
            move = jnp.zeros_like(x).at[i].set(h)
            columns.append((function(x + move) - function(x - move)) / (2 * h))
        return np.stack(columns, -1)

    size = np.max(abs(forward))
    np.testing.assert_allclose(forward, differences(value), rtol=0, atol=3e-8 * size)
    np.testing.assert_allclose(jax.jit(jax.jacrev(whole))(x), forward, rtol=0, atol=1e-12 * size)
    hessian = jax.jit(jax.hessian(scalar))(x)
    size = np.max(abs(hessian))
    np.testing.assert_allclose(hessian, differences(gradient), rtol=0, atol=1e-6 * size)
    np.testing.assert_allclose(hessian, hessian.T, rtol=0, atol=1e-11 * size)


def test_start_on_a_circle_by_hand():
    # Along the tangent of the circle at the guess, then along its radius.
    guess = swings.state(0.6, 1.1, length=0.9)
    args = {"length": 0.8, "drag": 0.3}
    at = tangent(swings.PENDULUM, 0.0, *guess, args)
    radial = guess[0] / 0.9
    np.testing.assert_allclose(at.y, 0.8 * radial, atol=1e-14)
    along = np.asarray(at.along_y)[:, 0]
    assert abs(along @ radial) <= 1e-14 and abs(along @ along - 1) <= 1e-14
    np.testing.assert_allclose(at.along_z[:, 0] @ radial, 0.0, atol=1e-14)

    def state(length):
        x = jnp.array([0.1, -0.3])
        y, z, _ = initial_state(
            swings.PENDULUM, guess_like(guess), at, x, {**args, "length": length}
        )
        return jnp.concatenate([y, z])

    length = 0.83
    height = np.sqrt(length**2 - 0.1**2)
    speed = np.asarray(at.z) @ np.asarray(at.along_z)[:, 0] - 0.3
    across = np.asarray(at.along_z)[:, 0]
    lever = 0.1 * along @ across
    y = 0.1 * along + height * radial
    z = speed * across - speed * lever / height * radial
    np.testing.assert_allclose(jax.jit(state)(length), np.concatenate([y, z]), atol=1e-14)
    slope = np.concatenate([length / height * radial, speed * lever * length / height**3 * radial])
    np.testing.assert_allclose(jax.jit(jax.jacfwd(state))(length), slope, atol=1e-13)
    # There is no such state if the circle is smaller than the way along its tangent.
    y, z, good = jax.jit(
        lambda: initial_state(swings.PENDULUM, guess_like(guess), at, jnp.array([0.9, 0.0]), args)
    )()
    assert not good


def guess_like(guess):
    return tuple(map(jnp.asarray, guess))


@pytest.mark.parametrize(
    "unknown, sizes",
    {"both": (3, 2), "position": (3, 0), "velocity": (0, 2), "nothing": (0, 0)}.items(),
)
def test_what_is_unknown(unknown, sizes):
    system, y, z, args = of_problem(problems.mixed)()
    at = tangent(system, 0.0, y, z, args, unknown)
    assert (at.along_y.shape[1], at.along_z.shape[1]) == sizes
    y1, z1, good = jax.jit(
        lambda x: initial_state(system, (jnp.asarray(y), jnp.asarray(z)), at, x, args)
    )(jnp.full(sum(sizes), 0.05))
    assert good
    assert residuals(system, 0.0, jnp.concatenate([y1, z1]), 4, args) <= 1e-14
    if not sizes[0]:
        np.testing.assert_allclose(y1, y, atol=1e-14)
    if not sum(sizes):
        np.testing.assert_allclose(z1, z, atol=1e-14)


def test_singular_and_impossible_guesses():
    twice = jaxspark.LagrangianSystem(
        swings.lagrangian,
        holonomic=lambda t, y, args: jnp.stack(
            [swings.rod(t, y, args), y @ y - args["length"] ** 2]
        ),
    )
    args = {"length": 0.9, "drag": 0.0}
    with pytest.raises(RuntimeError, match="not independent at the guess.*constraint_rank"):
        tangent(twice, 0.0, *swings.state(0.3, 0.0), args)
    # The same in one point: there the radius has no direction.
    with pytest.raises(RuntimeError, match="not independent at the guess"):
        tangent(helpers.pendulum(), 0.0, np.zeros(2), np.zeros(2), helpers.PENDULUM_ARGS)
    # At the centre the direction of the rod is not defined, and its derivative is NaN.
    with pytest.raises(RuntimeError, match="not finite at the guess of the start"):
        tangent(swings.PENDULUM, 0.0, np.zeros(2), np.zeros(2), args)
    record = swings.record(np.linspace(0, 0.2, 3), 0.5, 0.0, name="third try")
    model = swings.model((0.5, 0.0), system=twice)
    with pytest.raises(RuntimeError) as caught:
        make_problem(model, [record])
    assert "third try" in caught.value.__notes__[0]


def records(count=2):
    times = np.linspace(0, 0.2, 3)
    return [swings.record(times, 0.5 + 0.2 * k, 0.0, name=f"swing {k}") for k in range(count)]


def test_starts_that_depend_on_parameters():
    # Of each trial its own angle, at a length that is unknown: nothing else is.
    def where(args):
        return args["length"] * jnp.stack([jnp.sin(args["angle"]), -jnp.cos(args["angle"])])

    def rate(args):
        return 2.0 * args["length"] * jnp.stack([jnp.cos(args["angle"]), jnp.sin(args["angle"])])

    parameters = {**swings.specs(), "angle": fit.real(0.4, "rad", per_trial=True)}
    model = swings.model(
        (0.0, 0.0), parameters=parameters, start=fit.Start(where, rate, unknown="nothing")
    )
    problem = make_problem(model, records())
    assert problem.size == 4 and problem.num_start == 0
    u = problem.shared.unconstrained(np.array([0.2, 0.85, 0.5, 0.7]))
    found = predict(problem, u)
    for k, angle in enumerate((0.5, 0.7)):
        y, z = swings.state(angle, 2.0, length=0.85)
        np.testing.assert_allclose(found.y0[k], y, atol=1e-14)
        np.testing.assert_allclose(found.z0[k], z, atol=1e-14)


def test_wrong_starts():
    y, z = swings.state(0.5, 0.0)
    with pytest.raises(ValueError, match="3 guesses of y are given for 2 records"):
        make_problem(swings.model((0.5, 0.0), (0.6, 0.0), (0.7, 0.0)), records())
    with pytest.raises(ValueError, match="unknown must be \"both\".*got 'all'"):
        fit.Start(y, z, unknown="all")
    with pytest.raises(TypeError, match="y is a list that has functions"):
        fit.Start([lambda args: y, lambda args: y], z)


def test_starts_with_other_degrees_of_freedom_are_refused():
    # Where the second constraint does not act, at y[0] = 0, it takes no freedom: as if there
    # were fewer constraints.
    flat = jaxspark.LagrangianSystem(
        swings.lagrangian, nonholonomic=lambda t, y, z, args: (y[0] * z[0])[None]
    )
    model = swings.model((0.5, 0.0), (0.0, 0.0), system=flat)
    with pytest.raises(RuntimeError, match="not independent"):
        make_problem(model, records())


def test_windows_from_a_start_that_is_a_function():
    times = np.linspace(0, 2, 41)
    record = swings.record(times, 1.0, 0.0)

    def where(args):
        return args["length"] * jnp.asarray([np.sin(1.05), -np.cos(1.05)])

    model = swings.model((0.0, 0.0), start=fit.Start(where, jnp.zeros(2)))
    problem = shooting_problem(model, [record], 0.5, np.array([0.1, 0.3]))
    assert problem.num_trials == 4
    # Each window starts where its own samples are, and not where the record starts.
    exact = swings.swing(times, 1.0, 0.0)["angle"][::10][:4]
    y = problem.tangents.y
    found = np.arctan2(y[:, 0], -y[:, 1])
    np.testing.assert_allclose(found, exact, rtol=0, atol=0.1)
    # So it does in the simulation.
    at = jax.tree.map(lambda x: x[2], problem.tangents)
    assert not callable(problem.model.start.y)
    args = problem.shared.args(problem.shared.start)
    y0, _, _ = initial_state(swings.PENDULUM, problem.like, at, jnp.zeros(2), args)
    np.testing.assert_allclose(y0, y[2], rtol=0, atol=1e-12)
    alone = make_problem(model, [record])
    assert callable(alone.model.start.y)
