"""What holds for every motion, whatever the mechanism."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._random import Family, sample


T1, TOLERANCE, CHANGE = 0.5, 1e-9, 1e-3
# What counts as violated, relative to sizes and, of states, to what the motion makes of errors.
LIMITS = {
    "constraints": 1e-13,
    "energy": 1e-8,
    "another method": 1e-8,
    "time reversed": 1e-8,
    "another order of bodies": 1e-8,
    "other units": 1e-8,
    "alone": 1e-8,
    "not compiled": 1e-8,
    "forward and reverse": 1e-12,
    "differences": 1e-6,
}


class Checks:
    """The compiled programs of a family, for one mechanism or for many at once."""

    def __init__(self, family: Family, batched: bool = True):
        self.family, self.batched = family, batched
        lanes: Callable[..., Any] = jax.vmap if batched else lambda function: function
        self.consistent = jax.jit(lanes(self._consistent))
        self.first = jax.jit(lanes(functools.partial(self._end, jaxspark.DOP853())))
        self.second = jax.jit(lanes(functools.partial(self._end, jaxspark.Gauss(3))))
        self.reverse = jax.jit(lanes(jax.value_and_grad(self._loss, 2)))
        self.forward = jax.jit(lanes(self._along))
        self.energy = jax.jit(lanes(family.energy))

    def _consistent(self, y: Any, z: Any, args: Any) -> tuple[Any, Any, Any]:
        start = jaxspark.project(self.family.system, jnp.asarray(0.0), y, z, args, throw=False)
        return start.y, start.z, start.result == jaxspark.RESULTS.successful

    def _end(self, method: Any, t0: Any, t1: Any, y: Any, z: Any, args: Any) -> dict[str, Any]:
        end = jaxspark.solve(
            self.family.system, y, z, args, t0=t0, t1=t1, method=method, rtol=TOLERANCE,
            atol=TOLERANCE, max_steps=4000, throw=False,
        )  # fmt: skip
        stats = end.stats
        worst = jnp.maximum(jnp.maximum(stats.max_g, stats.max_gdot), stats.max_k)
        good = end.result == jaxspark.RESULTS.successful
        return {"y": end.y1, "z": end.z1, "good": good, "constraints": worst}

    def _loss(self, y: Any, z: Any, moving: Any, args: Any) -> Any:
        times = jnp.zeros(()), jnp.asarray(T1)
        end = self._end(jaxspark.DOP853(), *times, y, z, _with(args, moving))
        return jnp.sum(jnp.sin(end["y"])) + jnp.sum(jnp.sin(end["z"]))

    def _along(self, y: Any, z: Any, moving: Any, args: Any, change: Any) -> tuple[Any, Any]:
        return jax.jvp(lambda m: self._loss(y, z, m, args), (moving,), (change,))

    def loss(self, y: Any, z: Any, args: Any, times: tuple[Any, Any]) -> np.ndarray:
        """That which is differentiated, by the program of motions."""
        end = self.first(*times, y, z, args)
        lane = lambda x: np.sin(np.asarray(x)).sum((-2, -1))
        return lane(end["y"]) + lane(end["z"])


def _moving(args: Any) -> Any:
    """What may change without the start."""
    springs = {name: args["springs"][name] for name in ("stiffness", "rest")}
    return {"bodies": args["bodies"], "gravity": args["gravity"], "springs": springs}


def _with(args: Any, moving: Any) -> Any:
    return {**args, **moving, "springs": {**args["springs"], **moving["springs"]}}


def mechanisms(family: Family, count: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Random ones, with a leading axis."""
    rng = np.random.default_rng(seed)
    each = [sample(family, rng) for _ in range(count)]
    return jax.tree.map(lambda *x: np.stack(x), *each)


def permuted(family: Family, y: Any, z: Any, args: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """The same mechanism with its bodies, joints and springs in another order, and the order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(family.bodies)
    if not family.grounded:
        # The first body has the knife edge.
        order = np.arange(family.bodies)
    places = np.append(np.argsort(order), family.bodies)
    joints, springs = (
        rng.permutation(family.joints),
        rng.permutation(args["springs"]["rest"].shape[-1]),
    )

    def of(pairs, rows):
        axis = pairs["at"].ndim - 2
        chosen = {name: np.take(value, rows, axis) for name, value in pairs.items()}
        return {**chosen, "at": places[chosen["at"]]}

    axis = y.ndim - 2
    bodies = {name: np.take(value, order, axis) for name, value in args["bodies"].items()}
    other = {**args, "bodies": bodies}
    other["joints"], other["springs"] = of(args["joints"], joints), of(args["springs"], springs)
    return np.take(y, order, axis), np.take(z, order, axis), other, order


def in_other_units(z: Any, args: Any, mass: float, time: float) -> tuple[Any, Any]:
    """Velocities and args where masses and times have other units."""
    bodies, springs, drive = args["bodies"], args["springs"], args["drive"]
    own = {
        "m": bodies["m"] * mass,
        "inertia": bodies["inertia"] * mass,
        "damping": bodies["damping"] * mass / time,
    }
    changed = {
        "bodies": own,
        "springs": {**springs, "stiffness": springs["stiffness"] * mass / time**2},
        "drive": {**drive, "rate": drive["rate"] / time},
        "gravity": args["gravity"] / time**2,
    }
    return z / time, {**args, **changed}


def violations(
    checks: Checks, given: tuple[Any, Any, Any, Any], seed: int
) -> dict[str, np.ndarray]:
    """How far from each invariant, lane by lane, in limits; NaN where a motion failed.

    Motions are compared where all of them succeeded; whether they did is `"failed"`. What a motion
    makes of errors, up to 1e5 times as much, is seen by a little change of its start.
    """
    y, z, args, conservative = given
    batch = (y.shape[0],) if checks.batched else ()
    zero, one = np.zeros(batch), np.full(batch, T1)
    y, z, consistent = checks.consistent(y, z, args)
    first = checks.first(zero, one, y, z, args)
    good = np.asarray(first["good"] & consistent)
    lanes = lambda x: np.max(np.abs(np.asarray(x)), (-2, -1))
    size = 1 + np.maximum(lanes(first["y"]), lanes(first["z"]))
    rng = np.random.default_rng(seed)
    near = checks.consistent(y + 1e-6 * rng.standard_normal(y.shape), z, args)
    moved = np.maximum(lanes(near[0] - y), lanes(near[1] - z))
    nearby = checks.first(zero, one, *near[:2], args)

    def apart(a: Any, b: Any) -> np.ndarray:
        return np.maximum(lanes(a["y"] - b["y"]), lanes(a["z"] - b["z"]))

    growth = np.clip(apart(first, nearby) / np.maximum(moved, 1e-9), 1.0, 1e5)
    found = {"constraints": np.asarray(first["constraints"]) / size}
    before = checks.energy(zero, y, z, args)
    after = checks.energy(one, first["y"], first["z"], args)
    energy = np.abs(after - before) / (1 + np.abs(before) + size**2)
    found["energy"] = np.where(conservative, energy, 0.0) / growth
    second = checks.second(zero, one, y, z, args)
    found["another method"] = apart(first, second) / size / growth
    back = checks.first(one, zero, first["y"], first["z"], args)
    found["time reversed"] = apart(back, {"y": y, "z": z}) / size / growth**2
    y2, z2, args2, order = permuted(checks.family, np.asarray(y), np.asarray(z), args, seed)
    other = checks.first(zero, one, y2, z2, args2)
    same = {name: np.take(np.asarray(first[name]), order, -2) for name in ("y", "z")}
    found["another order of bodies"] = apart(other, same) / size / growth
    mass, time = 10 ** rng.uniform(-2, 2), 10 ** rng.uniform(-0.5, 0.5)
    z3, args3 = in_other_units(np.asarray(z), args, mass, time)
    scaled = checks.first(zero, one * time, y, z3, args3)
    scaled["z"] = scaled["z"] * time
    found["other units"] = apart(scaled, first) / size / growth / max(time, 1 / time)
    every = [first, second, back, other, scaled, nearby]
    all_good = np.all([np.asarray(x["good"]) for x in every], 0) & good
    found |= _of_derivatives(checks, (y, z, args), (zero, one), rng)
    limited = {k: np.where(all_good, v / LIMITS[k], np.nan) for k, v in found.items()}
    return {**limited, "failed": ~all_good, "growth": growth}


def _of_derivatives(
    checks: Checks, at: tuple[Any, Any, Any], times: tuple[Any, Any], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    y, z, args = at
    moving = _moving(args)
    change = jax.tree.map(lambda x: np.asarray(x) * rng.uniform(-1, 1, np.shape(x)), moving)
    value, slope = (np.asarray(x) for x in checks.forward(y, z, moving, args, change))
    _, gradient = checks.reverse(y, z, moving, args)

    def total(x, d):
        product = np.asarray(x) * np.asarray(d)
        return product.reshape(*value.shape, -1).sum(-1)

    parts = [total(x, d) for x, d in zip(*map(jax.tree.leaves, (gradient, change)), strict=True)]
    magnitude = 1 + np.abs(value) + sum(np.abs(part) for part in parts)

    def at_change(h):
        return checks.loss(
            y, z, _with(args, jax.tree.map(lambda x, d: x + h * d, moving, change)), times
        )

    coarse, fine = ((at_change(h) - at_change(-h)) / (2 * h) for h in (CHANGE, CHANGE / 2))
    richardson = (4 * fine - coarse) / 3
    # The error of the extrapolation is a small part of what it has changed.
    apart = np.maximum(np.abs(richardson - slope) - 0.1 * np.abs(fine - coarse), 0.0)
    return {
        "forward and reverse": np.abs(sum(parts) - slope) / magnitude,
        "differences": apart / magnitude,
    }
