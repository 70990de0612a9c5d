"""One batch over six decades of stiffness."""

import time
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import GGL, RadauIIA, RESULTS

from .._figures import at_most, Figure, note
from ..problems import spring_double_pendulum
from ._solvers import SLOW


TOLERANCE = 1e-5


def batch(tiny: bool) -> Iterator[Figure]:
    """256 stiffnesses, log-spaced: every lane is the single run, whatever the others are."""
    lanes = 4 if tiny else 256
    eps = np.logspace(-3, -6, lanes)
    starts = jnp.array([spring_double_pendulum(x).y0 for x in eps])
    for stages in (3,) if tiny else (2, 3):
        yield from _lanes(GGL(RadauIIA(stages), error_norm=SLOW), jnp.array(eps), starts, tiny)


def _lanes(method: GGL, eps: jax.Array, starts: jax.Array, tiny: bool) -> Iterator[Figure]:
    system = spring_double_pendulum().system

    def one(eps, y0):
        return jaxspark.solve(
            system, y0, jnp.zeros_like(y0), {"eps": eps}, method=method, t1=2.0, rtol=TOLERANCE,
            first_step=1e-2, throw=False,
        )  # fmt: skip

    single, several = jax.jit(one), jax.jit(jax.vmap(one))
    what = f"{method.method}, {eps.size} stiffnesses 1e6..1e12, tolerance {TOLERANCE:g}"
    together = several(eps, starts)
    alone = [single(a, b) for a, b in zip(eps, starts)]
    counts = np.array([[_counts(x.stats) for x in alone], np.array(_counts(together.stats)).T])
    yield at_most(f"{what}: counts that differ from single runs", _differing(counts), 0, ".0f")
    ends = np.stack([x.y1 for x in alone])
    apart = float(np.max(np.abs(ends - np.asarray(together.y1))))
    yield at_most(f"{what}: ends, batch against single runs", apart, 1e-12)
    failures = int(jnp.sum(together.result != RESULTS.successful))
    yield at_most(f"{what}: lanes that fail", failures, 0, ".0f")

    poisoned = several(eps.at[1].set(jnp.nan), starts)
    others = np.arange(eps.size) != 1
    same = float(np.max(np.abs(np.asarray(poisoned.y1 - together.y1)[others])))
    yield at_most(f"{what}: change of the others if one lane is NaN", same, 0)
    bad = int(jnp.sum(poisoned.result != RESULTS.successful))
    yield note(f"{what}: lanes that fail then", str(bad))
    if tiny:
        return
    slowest = int(np.argmax(counts[0][:, 1]))
    cost = _seconds(several, (eps, starts), 3)
    least = _seconds(single, (eps[slowest], starts[slowest]), 30)
    ratio = cost / least
    yield note(f"{what}: CPU time over the slowest lane alone", f"{ratio:.0f}")
    yield note(f"{what}: the same for each lane", f"{ratio / eps.size:.2f}")


def _counts(stats: jaxspark.Statistics) -> tuple[Any, Any, Any]:
    return stats.num_steps, stats.newton_iterations, stats.num_rejected_steps


def _differing(counts: np.ndarray) -> int:
    return int(np.sum(np.any(counts[0] != counts[1], -1)))


def _seconds(function: Any, arguments: tuple[Any, ...], times: int) -> float:
    jax.block_until_ready(function(*arguments))
    least = np.inf
    for _ in range(5):
        start = time.process_time()
        for _ in range(times):
            jax.block_until_ready(function(*arguments))
        least = min(least, (time.process_time() - start) / times)
    return float(least)
