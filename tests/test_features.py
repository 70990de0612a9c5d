"""The tables of features on the page `choose`: each cell is tried."""

import pathlib
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import jaxspark
from helpers import (
    edge,
    knife_edge,
    KNIFE_EDGE_ARGS,
    knife_edge_lagrangian,
    knife_edge_start,
    pendulum,
    PENDULUM_ARGS,
    pendulum_lagrangian,
    pendulum_start,
    rod,
    thorough,
)
from jaxspark import dry_friction, EqualSteps, GivenSteps, linear, StepDensity


PAGE = pathlib.Path(__file__).parent.parent / "docs" / "choose" / "index.md"
METHODS = {
    "explicit": jaxspark.DOP853(),
    "`Gauss`": jaxspark.Gauss(2),
    "`RadauIIA`": jaxspark.RadauIIA(2),
    "`Lobatto`": jaxspark.Lobatto(3),
    "`Composition`": jaxspark.Composition(jaxspark.Lobatto(2), 4),
    "`GGL`": jaxspark.GGL(jaxspark.RadauIIA(2)),
    "`stiff.bdf`": None,
}
T1, RTOL, CLOSE = 0.5, 1e-6, 1e-3
WIDTHS = {"slip_width": 0.5, "load_floor": 1.0}


def table():
    """Of each method and feature, the word in its cell, without its footnote."""
    cells, heads = {}, []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        columns = [re.sub(r"\[\^\w+\]", "", x).strip() for x in line.strip("|").split("|")]
        if line.startswith("| method"):
            heads = columns[1:]
        elif columns[0] in METHODS and heads:
            cells |= {(columns[0], head): x for head, x in zip(heads, columns[1:], strict=True)}
    return cells


def solved(name, system, start, args, **options):
    """By tolerances where the method has them."""
    if name == "`stiff.bdf`":
        options = {"rtol": 0.1 * RTOL, "max_steps": 5000, **options}
        return jaxspark.stiff.bdf(system, *start, args, t1=T1, **options)
    if name == "`Composition`" and "steps" not in options:
        options["steps"] = EqualSteps(200)
    if "steps" not in options:
        options = {"rtol": RTOL, **options}
    if not isinstance(options.get("steps"), GivenSteps | StepDensity):
        options["t1"] = T1
    return jaxspark.solve(system, *start, args, method=METHODS[name], **options)


def near(motion, expected, close=CLOSE):
    """Whether it is the motion that is expected; it must end where it should."""
    assert bool(motion.successful)
    np.testing.assert_allclose(jnp.ravel(motion.y1), jnp.ravel(expected), rtol=0, atol=close)


def exact(system, start, args, method=None):
    method = method or jaxspark.Gauss(4)
    return jaxspark.solve(system, *start, args, t1=T1, method=method, rtol=1e-10).y1


# What is solved.


def rubbed(t, q, v, lam, args):
    return dry_friction(v, lam * args["l"], 0.3, **WIDTHS)


def rubbed_edge(t, q, v, psi, args):
    along = jnp.stack([jnp.cos(q[2]), jnp.sin(q[2]), 0 * t])
    return along * dry_friction(along @ v, psi, 0.3, **WIDTHS)


SWING = (*pendulum_start(),)
SKATE = knife_edge_start()
RUBBED = jaxspark.LagrangianSystem(pendulum_lagrangian, holonomic=rod, friction=rubbed)
RUBBED_EDGE = jaxspark.LagrangianSystem(
    knife_edge_lagrangian, nonholonomic=edge, nonideal=rubbed_edge
)


def heavy(t, y, args):
    return jnp.diag(jnp.array([1.3, 1.3, 0.0]))


def weight_and_spring(t, y, z, args):
    return jnp.array([0.0, -1.3 * 9.81, 0.0]) - 5.0 * y[2] * jnp.array([0.0, 0.0, 1.0])


MASSLESS = jaxspark.MechanicalSystem(
    heavy,
    weight_and_spring,
    holonomic=lambda t, y, args: jnp.append(rod(t, y[:2], args), y[2] - y[0]),
)
SPRUNG = pendulum(force=lambda t, q, v, args: jnp.stack([-5.0 * q[0], 0.0 * t]))
TWICE = jaxspark.LagrangianSystem(
    pendulum_lagrangian, holonomic=lambda t, q, args: jnp.tile(rod(t, q, args), 2)
)
BODY = jaxspark.MultibodySystem(
    mass=lambda t, y, own, args: jnp.full(2, args["m"]),
    force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]) * args["m"],
    joints=[jaxspark.Joint(lambda t, a, b, own, args: rod(t, a, args), [(0, -1)])],
)


def with_third(x):
    return jnp.append(x, x[0])


def holonomic(name):
    near(solved(name, pendulum(), SWING, PENDULUM_ARGS), exact(pendulum(), SWING, PENDULUM_ARGS))


def nonholonomic(name):
    found = solved(name, knife_edge(), SKATE, KNIFE_EDGE_ARGS)
    near(found, exact(knife_edge(), SKATE, KNIFE_EDGE_ARGS))


def friction_of_holonomic(name):
    found = solved(name, RUBBED, SWING, PENDULUM_ARGS)
    near(found, exact(RUBBED, SWING, PENDULUM_ARGS, jaxspark.Lobatto(4)))


def friction_of_nonholonomic(name):
    found = solved(name, RUBBED_EDGE, SKATE, KNIFE_EDGE_ARGS)
    near(found, exact(RUBBED_EDGE, SKATE, KNIFE_EDGE_ARGS))


def massless(name):
    found = solved(name, MASSLESS, tuple(map(with_third, SWING)), PENDULUM_ARGS)
    near(found, with_third(exact(SPRUNG, SWING, PENDULUM_ARGS)))


def redundant(name):
    found = solved(name, linear.redundant(TWICE), SWING, PENDULUM_ARGS)
    near(found, exact(pendulum(), SWING, PENDULUM_ARGS))


def blocks(name):
    start = tuple(x[None] for x in SWING)
    found = solved(name, BODY, start, PENDULUM_ARGS, linear_solver=linear.AcyclicNullSpace())
    near(found, exact(pendulum(), SWING, PENDULUM_ARGS))


# Steps, and what is saved.


def with_options(**options):
    def feature(name):
        found = solved(name, pendulum(), SWING, PENDULUM_ARGS, **options)
        near(found, exact(pendulum(), SWING, PENDULUM_ARGS))

    return feature


def tolerances(name):
    options = {} if name == "`stiff.bdf`" else {"rtol": RTOL, "steps": None}
    with_options(**options)(name)


def density(name):
    steps = StepDensity(lambda t, q, args: 1.0 + q[0] ** 2, 0.005, 80)
    found = solved(name, pendulum(), SWING, PENDULUM_ARGS, steps=steps)
    assert bool(found.successful)
    at = jaxspark.solve(pendulum(), *SWING, PENDULUM_ARGS, t1=found.t1, rtol=1e-10).y1
    np.testing.assert_allclose(found.y1, at, rtol=0, atol=CLOSE)


def events(name):
    lowest = jaxspark.Event(lambda t, q, v, args: q[0])
    backwards = (SWING[0], -SWING[1])
    found = solved(name, pendulum(), backwards, PENDULUM_ARGS, events=lowest)
    assert bool(found.successful) and 0 < found.t1 < T1
    assert abs(found.y1[0]) < 1e-9


def dense(name):
    found = solved(name, pendulum(), SWING, PENDULUM_ARGS, dense=True)
    at = jaxspark.solve(pendulum(), *SWING, PENDULUM_ARGS, t1=0.3, rtol=1e-10).y1
    np.testing.assert_allclose(found.evaluate(0.3)[0], at, rtol=0, atol=CLOSE)


def global_error(name):
    found = solved(name, pendulum(), SWING, PENDULUM_ARGS, global_error=True)
    wrong = jnp.max(jnp.abs(found.y1 - exact(pendulum(), SWING, PENDULUM_ARGS)))
    assert 0.1 * wrong < jnp.max(jnp.abs(found.error.y1)) < 10 * wrong


# Derivatives and machines.


def sideways(name):
    def end(angle):
        start = pendulum_start(angle)
        options = {} if METHODS[name] is None else {"throw": False}
        return solved(name, pendulum(), start, PENDULUM_ARGS, **options).y1[0]

    return end


def slopes(order):
    end = lambda angle: jaxspark.solve(
        pendulum(), *pendulum_start(angle), PENDULUM_ARGS, t1=T1, rtol=1e-12
    ).y1[0]
    h = 1e-3
    low, middle, high = (end(0.5 + x) for x in (-h, 0.0, h))
    return (high - low) / (2 * h) if order == 1 else (high - 2 * middle + low) / h**2


def forward(name):
    found = jax.jit(jax.jacfwd(sideways(name)))(0.5)
    # BDF has order two at most.
    np.testing.assert_allclose(found, slopes(1), rtol=1e-2 if name == "`stiff.bdf`" else 1e-3)


def reverse(name):
    found = jax.jit(jax.grad(sideways(name)))(0.5)
    # BDF has order two at most.
    np.testing.assert_allclose(found, slopes(1), rtol=1e-2 if name == "`stiff.bdf`" else 1e-3)


def second(name):
    found = jax.jit(jax.jacfwd(jax.grad(sideways(name))))(0.5)
    np.testing.assert_allclose(found, slopes(2), rtol=1e-2)


def single(name):
    start = tuple(jnp.asarray(x, jnp.float32) for x in SWING)
    args = {key: jnp.float32(x) for key, x in PENDULUM_ARGS.items()}
    options = {} if name == "`Composition`" else {"rtol": 1e-4}
    found = solved(name, pendulum(), start, args, **options)
    assert found.y1.dtype == jnp.float32
    # BDF has order two at most.
    close = 10 * CLOSE if name == "`stiff.bdf`" else CLOSE
    near(found, exact(pendulum(), SWING, PENDULUM_ARGS), close)


def gpu(name):
    """Its program is made for one."""
    exported = export.export(jax.jit(sideways(name)), platforms=["cuda"])(0.5)
    assert exported.platforms == ("cuda",)


FEATURES = {
    "holonomic": holonomic,
    "nonholonomic": nonholonomic,
    "massless coordinates": massless,
    "redundant constraints": redundant,
    "blocks": blocks,
    "tolerances": tolerances,
    "`EqualSteps`": with_options(steps=EqualSteps(400)),
    "`GivenSteps`": with_options(steps=GivenSteps(T1 * np.linspace(0.0, 1.0, 401))),
    "`StepDensity`": density,
    "events": events,
    "dense output": dense,
    "`global_error`": global_error,
    "forward": forward,
    "reverse": reverse,
    "second": second,
    "single precision": single,
    "GPU": gpu,
}
FRICTION = {
    "no": (False, False), "nonholonomic": (False, True), "both": (True, True),
}  # fmt: skip


def cases():
    """Method, what is tried, and whether it works."""
    found = table()
    for (name, head), word in found.items():
        if word == "as its method":  # Lobatto's here
            word = found["`Lobatto`", head]
        if head == "friction by reactions":
            yield name, friction_of_holonomic, FRICTION[word][0]
            yield name, friction_of_nonholonomic, FRICTION[word][1]
        elif word not in ("not documented", "not stated"):
            yield name, FEATURES[head], word.startswith("yes")


def test_the_tables_are_whole():
    found = table()
    heads = {head for _, head in found}
    assert heads == {*FEATURES, "friction by reactions"}
    assert set(found) == {(name, head) for name in METHODS for head in heads}


@pytest.mark.parametrize(
    "name, feature, works",
    [thorough(*case, id=f"{case[0]}-{getattr(case[1], '__name__', '')}-{i}")
     for i, case in enumerate(cases())],
)  # fmt: skip
def test_a_cell(name, feature, works):
    if works:
        feature(name)
    else:
        with pytest.raises((ValueError, TypeError, jaxspark.SolveError)):
            feature(name)
