"""Redundant constraints in systems of every class, against the reduced ones."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.linear import redundant

from .._figures import at_most, Figure, note


FEET = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
ARGS = {"m": np.array([1.3, 0.7, 1.1]), "g": 9.81}


def linkage(t, y, args, bars=(1, 2)):
    """Three cranks of length 1 to the tips `y`, joined by a coupler: 7 conditions of rank 5."""
    del t, args
    tips = y.reshape(3, 2)
    cranks = jnp.sum((tips - FEET) ** 2, 1) - 1.0
    shift = tips[np.array(bars)] - tips[np.array(bars) - 1] - jnp.asarray([1.0, 0.0])[None]
    return jnp.concatenate([cranks, shift.reshape(-1)])


def independent(t, y, args):
    """Five of them that the others follow from."""
    rows = np.array([0, 3, 4, 5, 6])
    return linkage(t, y, args)[rows]


def masses(args):
    return jnp.repeat(jnp.asarray(args["m"]), 2)


def weight(t, y, z, args):
    del t, y
    wind = jnp.asarray([1.0, 0.3, -0.2, 0.5, 0.7, 0.1])
    return -masses(args) * args["g"] * jnp.asarray([0.0, 1.0] * 3) + wind - 0.2 * z


def lagrangian(t, y, z, args):
    del t
    return 0.5 * jnp.sum(masses(args) * z**2) - jnp.sum(masses(args)[1::2] * y[1::2]) * args["g"]


def mechanical(g):
    return jaxspark.MechanicalSystem(
        lambda t, y, args: jnp.diag(masses(args)), weight, holonomic=g
    )  # fmt: skip


def constrained(g):
    return jaxspark.ConstrainedSystem(weight, p=lambda t, y, z, args: masses(args) * z, g=g)


def of_own_forces(g):
    def push(t, y, lam, args):
        return -jax.vjp(lambda y: g(t, y, args), y)[1](lam)[0]

    return jaxspark.ConstrainedSystem(weight, p=lambda t, y, z, args: masses(args) * z, g=g, r=push)


HOLONOMIC = {
    "mechanical": mechanical,
    "Lagrangian": lambda g: jaxspark.LagrangianSystem(lagrangian, holonomic=g),
    "constrained": constrained,
    "own r": of_own_forces,
}


def start(angle, rate):
    turn = jnp.stack([-jnp.sin(angle), jnp.cos(angle)])
    tips = FEET + jnp.stack([jnp.cos(angle), jnp.sin(angle)])[None]
    return tips.reshape(-1), jnp.tile(rate * turn, 3)


def blades(t, y, z, args, count=3):
    """A sledge on parallel blades in one line: only the first condition says something."""
    del t, args
    across = -jnp.sin(y[2]) * z[0] + jnp.cos(y[2]) * z[1]
    return jnp.asarray([1.0, 2.0, -0.7])[:count] * across


def push(t, y, z, args):
    del z
    return jnp.stack([jnp.sin(3 * t), args["m"][0] * jnp.cos(2 * t), -0.1 * y[2]])


def sledge(count, own=False):
    k = functools.partial(blades, count=count)

    def reaction(t, y, z, psi, args):
        return -jax.vjp(lambda z: k(t, y, z, args), z)[1](psi)[0]

    return jaxspark.ConstrainedSystem(push, k=k, reaction=reaction if own else None)


SLEDGE = np.array([0.0, 0.0, 0.4]), np.array([np.cos(0.4), np.sin(0.4), 0.7])
START = start(1.2, 0.3)
CASES = {
    name: (redundant(of(linkage)), of(independent), START) for name, of in HOLONOMIC.items()
} | {
    "sledge": (redundant(sledge(3)), sledge(1), SLEDGE),
    "sledge, own reaction": (redundant(sledge(3, True)), sledge(1, True), SLEDGE),
}
METHODS = {
    "DOP853": jaxspark.DOP853(),
    "Gauss": jaxspark.Gauss(3),
    "Radau": jaxspark.RadauIIA(3),
    "Lobatto": jaxspark.Lobatto(3),
}


def forces(system: Any, solution: Any, args: Any = ARGS) -> tuple[Any, Any, Any]:
    """Those of the constraints at the end, the multipliers, and the Jacobian of the rows."""
    last = jax.tree.map(lambda x: x[-1], (solution.multipliers.lam, solution.multipliers.psi))
    t, y, z = jnp.asarray(1.0), solution.y1, solution.z1
    if system.g is not None:
        rows, lam = jax.jacfwd(lambda y: system.g(t, y, args))(y), last[0]
    else:
        rows, lam = jax.jacfwd(lambda z: system.k(t, y, z, args))(z), last[1]
    return -(rows * lam[:, None]).sum(0), lam, rows


def solved(system: Any, at: Any, method: Any, args: Any = ARGS) -> Any:
    return jaxspark.solve(
        system, at[0], at[1], args, t1=1.0, method=method, rtol=1e-12, atol=1e-12, multipliers=True
    )  # fmt: skip


MOST = 1e-10


def differences(case: str, method: Any) -> dict[str, float]:
    """Of a redundant system from the reduced one: of motions, and of multipliers.

    **Returns:** the largest difference of coordinates and velocities; that of multipliers from
    those of minimum norm with the forces of the reduced system, over the largest force.
    """
    system, reduced, at = CASES[case]
    found, expected = (solved(s, at, method) for s in (system, reduced))
    pairs = (found.y1, expected.y1), (found.z1, expected.z1)
    push, lam, rows = forces(system, found)
    exact, *_ = forces(reduced, expected)
    size = jnp.max(jnp.abs(exact))
    smallest = jnp.linalg.lstsq(rows.T, -exact)[0]
    return {
        "motion": float(np.max([jnp.max(jnp.abs(one - other)) for one, other in pairs])),
        "forces": float(jnp.max(jnp.abs(push - exact)) / size),
        "multipliers": float(jnp.max(jnp.abs(lam - smallest)) / size),
    }


def gradient_difference(case: str, method: Any) -> float:
    """Of the gradient of a function of the end by all arguments, over its largest entry."""
    system, reduced, at = CASES[case]

    def loss(args: Any, system: Any) -> Any:
        solution = solved(system, at, method, args)
        return jnp.sum(jnp.sin(solution.y1)) + jnp.sum(solution.z1**2)

    args = jax.tree.map(jnp.asarray, ARGS)
    found, expected = (
        jax.flatten_util.ravel_pytree(jax.grad(functools.partial(loss, system=s))(args))[0]
        for s in (system, reduced)
    )
    return float(jnp.max(jnp.abs(found - expected)) / jnp.max(jnp.abs(expected)))


def redundancy(tiny: bool) -> Iterator[Figure]:
    """Motions, multipliers of minimum norm, and gradients, of every class and method."""
    worst: dict[str, float] = {}
    for case in ("sledge",) if tiny else CASES:
        for name, method in METHODS.items():
            if ("own" in case and name == "DOP853") or (tiny and name != "DOP853"):
                continue
            found = differences(case, method)
            if not tiny:
                found["gradient"] = gradient_difference(case, method)
            # A process may hold some hundred compiled programs, no more.
            jax.clear_caches()
            words = ", ".join(f"{what} {value:.1e}" for what, value in found.items())
            yield note(f"redundant constraints, {case}, {name}", words)
            # NaN stays.
            worst = {k: float(np.maximum(v, worst.get(k, 0.0))) for k, v in found.items()}
    for what in ("motion", "forces", "multipliers"):
        yield at_most(
            f"redundant constraints, {what} against the reduced system", worst[what], MOST
        )
    if not tiny:
        finite = worst["gradient"]
        yield at_most("redundant constraints, gradients against the reduced system", finite, 1e-8)
