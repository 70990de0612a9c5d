"""Random mechanisms against what holds for every motion."""

import collections
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ._invariants import Checks, LIMITS, mechanisms, T1, TOLERANCE, violations
from ._random import FAMILIES, Family


COUNT, ALONE, SEED = 170, 3, 0
# Words of which an error about a motion has one, and says more than that it failed.
REASONS = ("become dependent near", "max_steps", "NaN", "infinite", "singular", "mass matrix")


def fuzz(tiny: bool) -> Iterator[Figure]:
    """Violated invariants of random mechanisms of all families."""
    tested, failed, nameless = 0, 0, 0
    violated: collections.Counter[str] = collections.Counter()
    for number, family in enumerate(FAMILIES[:1] if tiny else FAMILIES):
        found, names = tried(family, 2 if tiny else COUNT, SEED + number)
        tested += int(np.sum(~found["failed"]))
        failed += int(np.sum(found["failed"]))
        nameless += sum(not name for name in names)
        over = {what: _violated(found, what) for what in LIMITS}
        violated += collections.Counter(over)
        worst = max((float(np.nanmax(found[k], initial=0.0)), k) for k in over)
        words = f"worst {worst[0]:.1e} of a limit, {worst[1]}; {int(found['failed'].sum())} failed"
        yield note(f"random mechanisms, {family.name}", words)
        jax.clear_caches()
    if not tiny:
        yield at_least("random mechanisms, tested", tested, 2000, ".0f")
    yield note("random mechanisms, motions that failed", f"{failed} of {tested + failed}")
    for what in LIMITS:
        yield at_most(f"random mechanisms, violated: {what}", violated[what], 0, ".0f")
    yield at_most("random mechanisms, failures without a reason", nameless, 0, ".0f")


def tried(family: Family, count: int, seed: int) -> tuple[dict[str, np.ndarray], list[bool]]:
    """All violations of many mechanisms, in limits, and whether failures named their reasons."""
    checks, given = Checks(family), mechanisms(family, count, seed)
    found = violations(checks, given, seed)
    found |= _alone(checks, given, found["failed"])
    names = [_named(family, checks, given, int(i)) for i in np.flatnonzero(found["failed"])]
    return found, names


def _violated(found: dict[str, np.ndarray], what: str) -> int:
    """In how many lanes: NaN is a violation, but where a motion failed."""
    good = found[what] <= 1
    return int(np.sum(~good & ~found["failed"] if good.shape == found["failed"].shape else ~good))


def _lane(tree: Any, i: int) -> Any:
    return jax.tree.map(lambda x: x[i], tree)


def _alone(checks: Checks, given: Any, failed: np.ndarray) -> dict[str, np.ndarray]:
    """Some lanes without `jax.vmap`, and one without `jax.jit` around the solve."""
    one = Checks(checks.family, batched=False)
    y, z, args, _ = given
    y, z, _ = checks.consistent(y, z, args)
    times = np.zeros(len(y)), np.full(len(y), T1)
    every = checks.first(*times, y, z, args)
    chosen = np.flatnonzero(~failed)[:ALONE]

    def apart(solve, i):
        end = solve(0.0, T1, *_lane((y, z, args), i))
        return np.max([np.max(np.abs(end[name] - every[name][i])) for name in ("y", "z")])

    def eager(*at):
        return one._end(jaxspark.DOP853(), *at)

    alone = np.array([apart(one.first, i) for i in chosen])
    bare = np.array([apart(eager, i) for i in chosen[:1]])
    limits = LIMITS["alone"], LIMITS["not compiled"]
    return {"alone": alone / limits[0], "not compiled": bare / limits[1]}


def _named(family: Family, checks: Checks, given: Any, i: int) -> bool:
    """Whether a motion that fails says why; those fail, too, that do so only in other units."""
    y, z, args, _ = given
    y, z, _ = checks.consistent(y, z, args)
    y, z, args = _lane((y, z, args), i)
    for method in (jaxspark.DOP853(), jaxspark.Gauss(3)):
        try:
            jaxspark.solve(
                family.system, y, z, args, t1=T1, method=method, rtol=TOLERANCE, atol=TOLERANCE,
                max_steps=4000,
            )  # fmt: skip
        except jaxspark.SolveError as error:
            if not any(word in str(error) for word in REASONS):
                print(f"{family.name}, {i}, {method}: {error}")
                return False
    return True
