"""Input that can't be right, of many kinds: each is answered by its name."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import Gauss, GGL, RadauIIA, solve

from .._figures import at_least, at_most, Figure, note


KINDS = 120
Y, Z, ARGS = np.array([1.0, 0.0]), np.zeros(2), {"m": 1.0, "g": 9.81}
NAN, INF = np.nan, np.inf


def _mass(t, q, args):
    return args["m"] * jnp.eye(2)


def _force(t, q, v, args):
    return jnp.stack([0 * t, -args["m"] * args["g"]])


def _rod(t, q, args):
    return (jnp.sum(q**2, keepdims=True) - 1) / 2


def _system(mass=_mass, force=_force, holonomic=_rod, **others):
    return jaxspark.MechanicalSystem(mass, force, holonomic, **others)


def _solve(y0=Y, z0=Z, args=ARGS, system=None, **options):
    given = {"t1": 0.1, **options}
    return solve(_system() if system is None else system, y0, z0, args, **given)


def _lagrangian(lagrangian):
    return jaxspark.LagrangianSystem(lagrangian, _rod)


def _event(condition, **options):
    return jaxspark.Event(condition, **options)


# What is done, and a pattern that the answer must have: the name of what is wrong.
Case = tuple[Callable[[], Any], str]


def cases() -> dict[str, Case]:
    """All kinds, by name."""
    return {
        **_of_states(), **_of_parameters(), **_of_times(), **_of_options(),
        **_of_functions(), **_of_other_doors(),
    }  # fmt: skip


def _of_states() -> dict[str, Case]:
    found: dict[str, Case] = {}
    values = {
        "None": None, "a string": "abc", "complex": Y + 0j, "integers": np.array([1, 0]),
        "booleans": np.array([True, False]), "a number": 1.0, "too long": np.ones(3),
        "too short": np.ones(1), "empty": np.zeros(0), "a matrix": np.eye(2),
        "a dict": {"x": Y}, "single precision": Y.astype(np.float32), "NaN": np.array([NAN, 0]),
        "infinity": np.array([1.0, INF]), "an object": object(), "a function": _rod,
    }  # fmt: skip
    for name, value in values.items():
        found[f"y0 is {name}"] = (
            lambda value=value: _solve(y0=value),
            r"\by0?\b|\bz0?\b|mass|holonomic",
        )
        found[f"z0 is {name}"] = (lambda value=value: _solve(z0=value), r"\bz0?\b|\by0?\b|v\b")
    found["y0 is not on the constraints"] = (lambda: _solve(y0=1.1 * Y), "holonomic constraint g")
    found["z0 is not"] = (lambda: _solve(z0=np.ones(2)), "velocity of the holonomic constraint")
    return found


def _of_parameters() -> dict[str, Case]:
    return {
        "args: NaN": (lambda: _solve(args={"m": 1.0, "g": NAN}), r"args\['g'\] is nan"),
        "args: infinity": (lambda: _solve(args={"m": INF, "g": 1.0}), r"args\['m'\] is inf"),
        "args: None": (lambda: _solve(args=None), "mass|force"),
        "args: a key is missing": (lambda: _solve(args={"m": 1.0}), "force"),
        "args: a string": (lambda: _solve(args={"m": "1", "g": 1.0}), "mass"),
        "args: an array for a number": (
            lambda: _solve(args={"m": 1.0, "g": np.ones(3)}), "force",
        ),
        "args: complex": (lambda: _solve(args={"m": 1.0, "g": 1j}), "force"),
        "args: single precision": (
            lambda: _solve(args={"m": np.ones(2, np.float32), "g": np.float32(1)}), "mass|force",
        ),
        "args: a mass of zero": (lambda: _solve(args={"m": 0.0, "g": 1.0}), "singular|mass"),
        "args: a negative mass": (lambda: _solve(args={"m": -1.0, "g": 1.0}), "mass matrix"),
    }  # fmt: skip


def _of_times() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for name in ("t0", "t1"):
        values = {"NaN": NAN, "infinite": INF, "a string": "1", "complex": 1j, "a vector": [0.0, 1]}
        for what, value in values.items():
            options = {"t1": 1.0, name: value}
            found[f"{name} is {what}"] = (lambda o=options: _solve(**o), name)
    found["no t1"] = (lambda: _solve(t1=None), "t1")
    for what, value in {
        "not in order": [0.05, 0.02], "outside": [0.05, 0.2], "NaN": [0.05, NAN],
        "a matrix": [[0.05]], "strings": ["a"], "a number": 0.05, "complex": [0.05j],
    }.items():  # fmt: skip
        found[f"ts: {what}"] = (lambda value=value: _solve(ts=value), "ts")
    found["ts and save_every"] = (lambda: _solve(ts=[0.05], save_every=1), "ts|save_every")
    return found


def _of_options() -> dict[str, Case]:
    found: dict[str, Case] = {}
    values = {
        "rtol": (-1.0, NAN, INF, "a", 1j, [1e-6, 1e-6]), "atol": (-1.0, NAN, INF, "a"),
        "first_step": (0.0, -1.0, NAN, "a"), "max_step": (0.0, -1.0, NAN, "a"),
        "max_steps": (0, -1, 1.5, "a"), "save_every": (0, -1, 1.5, "a"),
        "max_events": (-1, 1.5, "a"), "consistency_tol": (-1.0, "a", NAN),
        "method": ("foo", Gauss, 3, [Gauss(2)]), "steps": (0.1, "a", 5),
        "events": (3, "a", [1], _rod), "newton": (3, "full"), "linear_solver": (3, "foo"),
        "checkpoint": (0, "foo", -1),
    }  # fmt: skip
    for name, wrong in values.items():
        for value in wrong:
            options: dict[str, Any] = {name: value}
            if name == "checkpoint":
                options |= {"steps": jaxspark.EqualSteps(number=4)}
            if name == "newton":
                options |= {"method": Gauss(2)}
            told = getattr(value, "__name__", repr(value))
            found[f"{name} is {told}"] = (lambda o=options: _solve(**o), name)
    more: dict[str, Case] = {
        "tolerances below rounding errors": (lambda: _solve(rtol=1e-20, atol=0.0), "rtol"),
        "GGL without atol": (lambda: _solve(method=GGL(RadauIIA(2)), atol=0.0), "atol"),
        "a composition with tolerances": (
            lambda: _solve(method=jaxspark.Composition(Gauss(1), 4)), "Composition",
        ),
        "newton of an explicit method": (
            lambda: _solve(method=jaxspark.DOP853(), newton=jaxspark.NewtonOptions()), "newton",
        ),
        "tolerances of equal steps": (
            lambda: _solve(steps=jaxspark.EqualSteps(number=3), rtol=1e-3), "rtol",
        ),
        "equal steps: no number": (lambda: jaxspark.EqualSteps(number=1.5), "number"),
        "equal steps: a negative number": (lambda: jaxspark.EqualSteps(number=-1), "number"),
        "equal steps: a size of zero": (
            lambda: _solve(t1=None, t0=0.0, steps=jaxspark.EqualSteps(h=0.0, number=3)), "step",
        ),
        "equal steps: a size that is NaN": (
            lambda: _solve(t1=None, t0=0.0, steps=jaxspark.EqualSteps(h=NAN, number=3)), "h\\b",
        ),
        "global error of equal steps": (
            lambda: _solve(steps=jaxspark.EqualSteps(number=3), global_error=True), "global_error",
        ),
        "Gauss(0)": (lambda: Gauss(0), "stages"),
        "Gauss(2.5)": (lambda: Gauss(2.5), "stages"),  # pyright: ignore
        "Lobatto(1)": (lambda: jaxspark.Lobatto(1), "stages"),
        "max_steps reached": (lambda: _solve(t1=100.0, max_steps=3), "max_steps"),
        "an event whose condition is a vector": (
            lambda: _solve(events=_event(lambda t, y, z, args: y)), "condition",
        ),
        "an event whose condition is NaN": (
            lambda: _solve(events=_event(lambda t, y, z, args: NAN * t)), "condition",
        ),
        "an event whose reset changes the shape": (
            lambda: _solve(
                events=_event(lambda t, y, z, args: y[0], reset=lambda t, y, z, args: (y, z[:1]))
            ), "reset",
        ),
    }  # fmt: skip
    return {**found, **more}


def _of_functions() -> dict[str, Case]:
    found: dict[str, Case] = {}
    wrong = {
        "a number": lambda t, *_: t, "too long": lambda t, *_: jnp.ones(3),
        "integers": lambda t, *_: jnp.ones(2, int), "complex": lambda t, *_: jnp.ones(2) * 1j,
        "None": lambda t, *_: None, "a dict": lambda t, *_: {"x": jnp.ones(2)},
        "NaN": lambda t, *_: NAN * jnp.ones(2), "infinity": lambda t, *_: INF * jnp.ones(2),
        "an error": lambda t, *_: jnp.ones(2) @ jnp.ones(3),
        "single precision": lambda t, *_: jnp.ones(2, jnp.float32),
    }  # fmt: skip
    for what, function in wrong.items():
        system = lambda function=function: _system(force=function)
        found[f"force returns {what}"] = (lambda s=system: _solve(system=s()), "force")
    matrices = {
        "a vector": jnp.ones(2), "3 x 3": jnp.eye(3), "integers": jnp.eye(2, dtype=int),
        "complex": jnp.asarray(np.eye(2) * 1j), "NaN": NAN * jnp.eye(2), "zero": jnp.zeros((2, 2)),
        "negative": -jnp.eye(2), "not symmetric": jnp.array([[1.0, 0.5], [0.0, 1.0]]),
        "indefinite": jnp.array([[0.0, 1.0], [1.0, 0.0]]),
    }  # fmt: skip
    for what, matrix in matrices.items():
        system = lambda matrix=matrix: _system(mass=lambda t, q, args: matrix)
        found[f"mass is {what}"] = (lambda s=system: _solve(system=s()), "mass|K2")
    constraints = {
        "NaN": lambda t, q, args: NAN * q[:1], "integers": lambda t, q, args: jnp.zeros(1, int),
        "complex": lambda t, q, args: q[:1] * 1j,
        "an error": lambda t, q, args: q @ jnp.ones(3),
        "twice the same": lambda t, q, args: jnp.stack([q[0] - 1, 2 * (q[0] - 1)]),
        "contradictory": lambda t, q, args: jnp.stack([q[0] - 1, q[0] - 2]),
        "more than velocities": lambda t, q, args: jnp.stack([q[0] - 1, q[1], q[0] + q[1] - 1]),
        "constant": lambda t, q, args: jnp.zeros(1) * q[:1],
        "a norm at zero": lambda t, q, args: jnp.linalg.norm(q - Y, keepdims=True),
        "of a square": lambda t, q, args: (q[:1] - 1) ** 2,
    }  # fmt: skip
    words = "holonomic|constraint|\\bg\\b"
    for what, function in constraints.items():
        system = lambda function=function: _system(holonomic=function)
        found[f"holonomic: {what}"] = (lambda s=system: _solve(system=s()), words)
    late = lambda t, q, v, args: jnp.stack([0 * t, -jnp.sqrt(q[1] + 0.5)])
    more: dict[str, Case] = {
        "mass is no function": (lambda: _system(mass=jnp.eye(2)), "mass"),
        "force is no function": (lambda: _system(force=3), "force"),
        "holonomic is no function": (lambda: _system(holonomic=3), "holonomic"),
        "force takes too few arguments": (
            lambda: _solve(system=_system(force=lambda t, q: q)), "force",
        ),
        "friction without constraints": (
            lambda: _system(holonomic=None, friction=lambda *_: 0), "friction",
        ),
        "nonideal without constraints": (lambda: _system(nonideal=lambda *_: 0), "nonideal"),
        "lagrangian returns a vector": (
            lambda: _solve(system=_lagrangian(lambda t, q, v, args: v)), "lagrangian",
        ),
        "lagrangian: NaN": (
            lambda: _solve(system=_lagrangian(lambda t, q, v, args: NAN * v @ v)), "lagrangian",
        ),
        "lagrangian: a norm at rest": (
            lambda: _solve(
                system=_lagrangian(lambda t, q, v, args: jnp.linalg.norm(v) ** 1.5)
            ), "lagrangian",
        ),
        "lagrangian without velocities": (
            lambda: _solve(system=_lagrangian(lambda t, q, v, args: q @ q)), "mass|K2|singular",
        ),
        "force leaves its domain": (lambda: _solve(system=_system(force=late), t1=3.0), "force"),
        "system is none": (lambda: solve(3, Y, Z, ARGS, t1=1.0), "system"),  # pyright: ignore
        "system is a class": (
            lambda: solve(jaxspark.MechanicalSystem, Y, Z, ARGS, t1=1.0),  # pyright: ignore
            "system",
        ),
    }  # fmt: skip
    return {**found, **more}


def _of_other_doors() -> dict[str, Case]:
    system = _system()
    bdf, diagnostics = jaxspark.stiff.bdf, jaxspark.diagnostics
    many = jaxspark.MultibodySystem(
        lambda t, q, own, args: own * jnp.ones_like(q), lambda t, q, v, own, args: -q,
        own=lambda args: args,
    )  # fmt: skip
    return {
        "project: NaN": (lambda: jaxspark.project(system, 0.0, NAN * Y, Z, ARGS), r"\by\b|NaN|nan"),
        "project: integers": (
            lambda: jaxspark.project(system, 0.0, np.array([1, 0]), Z, ARGS), r"\by\b",
        ),
        "multipliers: wrong shape": (
            lambda: jaxspark.multipliers(system, 0.0, np.ones(3), Z, ARGS), r"\by\b|holonomic|mass",
        ),
        "bdf: NaN in args": (
            lambda: bdf(system, Y, Z, {"m": 1.0, "g": NAN}, t1=1.0), r"args\['g'\]",
        ),
        "bdf: formulation": (
            lambda: bdf(system, Y, Z, ARGS, t1=1.0, formulation="foo"), "formulation",  # pyright: ignore
        ),
        "bdf: max_order": (lambda: bdf(system, Y, Z, ARGS, t1=1.0, max_order=9), "max_order"),
        "rank: complex": (
            lambda: diagnostics.constraint_rank(system, 0.0, Y + 0j, Z, ARGS), r"\by\b",
        ),
        "energy without potential": (
            lambda: diagnostics.energy(system, 0.0, Y, Z, ARGS), "potential",
        ),
        "bodies: NaN in one": (
            lambda: solve(
                many, np.zeros((3, 1)), np.zeros((3, 1)), np.array([1.0, NAN, 1.0]), t1=1.0
            ), r"args\[1\] is nan",
        ),
        "bodies: as many as parameters": (
            lambda: solve(many, np.zeros((3, 1)), np.zeros((3, 1)), np.ones(2), t1=1.0),
            "own|bodies|body",
        ),
        "step: size NaN": (
            lambda: solve(
                system, Y, Z, ARGS, t0=0.0, steps=jaxspark.GivenSteps(np.array([0.0, NAN]))
            ), "times|ts|steps",
        ),
    }  # fmt: skip


def inputs(tiny: bool) -> Iterator[Figure]:
    """Each kind must raise an error that names what is wrong; no solution, no abort."""
    found = cases()
    wrong = 0
    for name in list(found)[:2] if tiny else found:
        call, pattern = found[name]
        answer = answered(call)
        if answer is None or not re.search(pattern, answer):
            wrong += 1
            yield note(f"not answered by name: {name}", (answer or "no error")[:200])
    if not tiny:
        yield at_least("kinds of bad input", len(found), KINDS, "d")
        yield at_most("of these not answered by name", wrong, 0, "d")


def answered(call: Callable[[], Any]) -> str | None:
    """What the error says, notes included; `None` without one."""
    try:
        jax.block_until_ready(jax.tree.leaves(call()))
    except Exception as error:
        return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
    return None
