"""What ends a solve is named: the argument, the function, the entry, the time."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxspark
from jaxspark import (
    EqualSteps,
    Gauss,
    GGL,
    LagrangianSystem,
    MechanicalSystem,
    RadauIIA,
    RESULTS,
    solve,
    SolveError,
)
from jaxspark.stiff import bdf


START = jnp.array([1.0, 0.0]), jnp.zeros(2)
ARGS = {"m": 1.0, "g": 9.81}
METHODS = [None, Gauss(2), GGL(RadauIIA(2))]


def rod(t, q, args):
    return (jnp.sum(q**2, keepdims=True) - 1) / 2


def mass_of(t, q, args):
    return jnp.eye(2) * args["m"]


def weight(t, q, v, args):
    return jnp.stack([jnp.zeros_like(t), -args["g"] * args["m"]])


def pendulum(mass=mass_of, force=weight, holonomic=rod):
    return MechanicalSystem(mass, force, holonomic)


def message(system, start=START, args=ARGS, **options):
    with pytest.raises(SolveError) as caught:
        solve(system, *start, args, **{"t1": 3.0, "max_steps": 200, **options})
    return str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_args_and_state(value):
    for name in ARGS:
        assert f"args['{name}'] is {value}." in message(pendulum(), args={**ARGS, name: value})
    state = START[0], jnp.array([0.0, value])
    assert f"z[1] is {value} (1 of 2 entries" in message(pendulum(), state)


@pytest.mark.parametrize("method", METHODS)
def test_functions(method):
    broken = pendulum(force=lambda t, q, v, args: jnp.stack([t, jnp.sqrt(q[1] - 1)]))
    text = message(broken, method=method)
    assert text.startswith("force[1] is nan (1 of 2 entries are not finite) at t = 0, where what")
    broken = pendulum(mass=lambda t, q, args: jnp.eye(2) * jnp.log(q[1] - 1))
    assert message(broken, method=method).startswith("mass[0, 0] is nan (4 of 4 entries")


def test_derivatives():
    """Where values are finite: of the mass matrix, of a constraint, the second of a Lagrangian."""
    broken = pendulum(mass=lambda t, q, args: jnp.eye(2) * (1 + jnp.linalg.norm(q - START[0])))
    text = message(broken)
    assert "The derivative of mass by q: entry [0, 0, 0] is nan (8 of 8" in text
    assert "regularised_norm" in text
    broken = pendulum(holonomic=lambda t, x, args: jnp.linalg.norm(x, keepdims=True))
    text = message(broken, (jnp.zeros(2), jnp.zeros(2)))
    assert "The derivative of holonomic (g) by x: entry [0, 0] is nan (2 of 2" in text
    broken = LagrangianSystem(
        lambda t, q, v, args: jnp.linalg.norm(v) ** 2 / 2 + jnp.sum(jnp.abs(v) ** 1.5), rod
    )
    assert "erivative of lagrangian by v: entry [0" in message(broken)


@pytest.mark.parametrize("method", METHODS[:2])
def test_functions_ahead(method):
    """It is the force that ends at the depth .5, not the tolerances."""
    ends = pendulum(force=lambda t, q, v, args: jnp.stack([0 * t, -jnp.sqrt(q[1] + 0.5)]))
    text = message(ends, method=method)
    assert "force[1] is nan" in text and "a little later, about t = 1.2939" in text
    assert "leaves the domain" in text and "rtol" not in text


def test_what_is_not_at_fault():
    """An infinite limit is none; and where a derivative is in doubt, the reason stays."""
    blow_up = MechanicalSystem(
        lambda t, q, args: jnp.eye(1),
        lambda t, q, v, args: jnp.clip(6 * q**3, -args, args),
    )
    text = message(blow_up, (jnp.ones(1), 2 * jnp.ones(1)), jnp.inf, max_steps=4096)
    assert "args" not in text.split("raise rtol")[0] and "step size needed" in text
    drag = MechanicalSystem(
        lambda t, q, args: jnp.eye(3),
        lambda t, q, v, args: jnp.concatenate([6 * q[:1] ** 3, -v[1:] * jnp.linalg.norm(v[1:])]),
    )
    text = message(drag, (jnp.eye(3)[0], 2 * jnp.eye(3)[0]), max_steps=4096)
    assert "The derivative of force by v" in text and "step size needed" in text


def test_many_bodies_and_bdf():
    """The body is named; and failures of other doors alike."""
    system = jaxspark.MultibodySystem(
        lambda t, q, own, args: own * jnp.ones_like(q),
        lambda t, q, v, own, args: -9.81 * jnp.ones_like(q),
        own=lambda args: args,
    )
    masses = jnp.array([1.0, 2.0, jnp.nan])
    with pytest.raises(SolveError, match=r"args\[2\] is nan \(1 of 3 entries"):
        solve(system, jnp.zeros((3, 1)), jnp.zeros((3, 1)), masses, t1=1.0)
    with pytest.raises(SolveError, match=r"args\['g'\] is nan"):
        bdf(pendulum(), *START, {**ARGS, "g": np.nan}, t1=1.0)


MASSES = {
    "nonsymmetric": ([[1.0, 0.5], [0.2, 1.0]], r"Entry \[0, 1\] is 0.5, but entry \[1, 0\] is 0.2"),
    "negative": ([[-1.0, 0.0], [0.0, -1.0]], r"smallest eigenvalue is -1 there"),
    "negative where free": (
        [[1.0, 0.0], [0.0, -2.0]],
        r"is -2 there, for the velocity with .*1 in entry 1\.",
    ),
    "indefinite": ([[0.0, 1.0], [1.0, 0.0]], "smallest eigenvalue is"),
}


GIVEN_MASS = pendulum(mass=lambda t, q, args: args["M"])
DOORS = {
    "DOP853": lambda args: solve(GIVEN_MASS, *START, args, t1=0.01),
    "Gauss": lambda args: solve(GIVEN_MASS, *START, args, t1=0.01, method=Gauss(2)),
    "GGL": lambda args: solve(GIVEN_MASS, *START, args, t1=0.01, method=GGL(RadauIIA(2))),
    "equal steps": lambda args: solve(
        GIVEN_MASS, *START, args, t0=0.0, steps=EqualSteps(h=0.01, number=1)
    ),
    "bdf": lambda args: bdf(GIVEN_MASS, *START, args, t1=0.01, atol=1e-3),
}


@pytest.mark.parametrize("door", DOORS)
def test_masses(door):
    """Refused where they are none; not where one is massless or negative but held, in any units."""
    run = DOORS[door]
    for matrix, words in MASSES.values():
        with pytest.raises(SolveError, match=words):
            run({**ARGS, "M": jnp.asarray(matrix)})
    for diagonal in ([1.0, 1.0], [0.0, 1.0], [-1.0, 1.0], [1e-14, 1e6]):
        assert bool(run({**ARGS, "M": jnp.diag(jnp.asarray(diagonal))}).successful)


def test_masses_in_lanes_and_of_lagrangians():
    matrices = jnp.stack([jnp.eye(2), jnp.diag(jnp.array([1.0, -1.0])), jnp.ones((2, 2)) / 2])

    @jax.jit
    @jax.vmap
    def results(M):
        return solve(GIVEN_MASS, *START, {**ARGS, "M": M}, t1=0.01, throw=False).result

    good, none = RESULTS.successful, RESULTS.mass_not_positive
    assert (results(matrices) == none).tolist() == [False, True, False]
    assert (results(matrices) == good).tolist() == [True, False, True]
    # What a Lagrangian gives only has to be regular: Bateman's oscillators, and one turned round.
    for lagrangian in (
        lambda t, q, v, args: v[0] * v[1] - q[0] * q[1],
        lambda t, q, v, args: -jnp.sum(v**2) / 2 + jnp.sum(q**2) / 2,
    ):
        found = solve(LagrangianSystem(lagrangian), jnp.ones(2), jnp.zeros(2), t1=1.0)
        assert np.allclose(found.y1, np.cos(1.0), atol=1e-5)


def test_masses_that_constraints_determine():
    """Coupled as strongly as may be, held by nearly dependent rows; by joints of bodies."""
    start = jnp.zeros(2), jnp.array([1.0, 0.0])
    strong = MechanicalSystem(
        lambda t, q, args: jnp.array([[1.0, 100.0], [100.0, 0.0]]),
        lambda t, q, v, args: jnp.zeros(2), lambda t, q, args: q[1:],
    )  # fmt: skip
    assert bool(solve(strong, *start, t1=0.5).successful)
    held = MechanicalSystem(
        lambda t, q, args: -jnp.eye(2), lambda t, q, v, args: jnp.zeros(2),
        lambda t, q, args: jnp.stack([q[0] + q[1], q[0] + (1 + 1e-5) * q[1]]),
    )  # fmt: skip
    assert bool(solve(held, jnp.zeros(2), jnp.zeros(2), t1=0.5).successful)
    body = jaxspark.MultibodySystem(
        lambda t, q, own, args: jnp.array([1.0, -0.5]), lambda t, q, v, own, args: 0 * q,
        [jaxspark.Joint(lambda t, a, b, own, args: b[1:] - 0.1 * b[:1], [(-1, 0)])],
    )  # fmt: skip
    assert bool(solve(body, jnp.zeros((1, 2)), jnp.array([[1.0, 0.1]]), t1=0.5).successful)


def test_masses_of_bodies():
    """One of many: blocks are looked at one by one."""
    system = jaxspark.MultibodySystem(
        lambda t, q, own, args: own * jnp.ones_like(q),
        lambda t, q, v, own, args: -9.81 * jnp.ones_like(q),
        own=lambda args: args,
    )
    masses = jnp.ones(30).at[17].set(-1)
    with pytest.raises(SolveError, match="Of block 17: Its smallest eigenvalue is -1"):
        solve(system, jnp.zeros((30, 1)), jnp.zeros((30, 1)), masses, t1=1.0)


def test_a_singular_mass_matrix_without_constraints_is_named():
    def lagrangian(t, q, v, args):
        return 0.5 * v[0] ** 2 - 0.5 * jnp.sum(q**2)

    system = LagrangianSystem(lagrangian)
    with pytest.raises(SolveError, match="it is p_z, the mass matrix, that is singular"):
        solve(system, jnp.ones(2), jnp.zeros(2), t1=1.0, method=Gauss(2))
