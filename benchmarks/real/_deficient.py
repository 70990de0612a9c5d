"""Random arms of which motions tell only combinations: convergence, null spaces, coverage."""

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import fit

from .._figures import Figure, note
from ._arms import model, SYSTEM


MECHANISMS = 50
TIMES = np.linspace(0.0, 1.2, 121)
NOISE = {"angle": 0.002, "rate": 0.02}
# With steps of 0.01 s the search of one of the arms with three links ends early.
STEP = 0.005
# Of a null space that is named right: sine of its largest angle to the true one.
RIGHT = 1e-3
COVERED = (0.93, 0.97)


def _numbers(links: int, rng: np.random.Generator) -> dict[str, float]:
    """A random arm: masses (kg), lengths (m), inertias (kg m^2), friction (N m s)."""
    found: dict[str, float] = {}
    for i in range(1, links + 1):
        length, mass = rng.uniform(0.15, 0.3), rng.uniform(0.08, 0.3)
        found[f"m{i}"], found[f"a{i}"] = mass, length * rng.uniform(0.4, 0.7)
        found[f"I{i}"] = mass * length**2 * rng.uniform(0.06, 0.12)
        found[f"k{i}"] = rng.uniform(1e-4, 4e-4)
        if i < links:
            found[f"L{i}"] = length
    return found


def base(p: Mapping[str, Any], links: int) -> Any:
    """What motions under a known gravity tell: logarithms of numbers over the first inertia."""
    told, first = [], 1.0
    for i in range(1, links + 1):
        beyond = sum((p[f"m{j}"] for j in range(i + 1, links + 1)), 0.0)
        L = p.get(f"L{i}", 0.0)
        J = p[f"I{i}"] + p[f"m{i}"] * p[f"a{i}"] ** 2 + L**2 * beyond
        first = J if i == 1 else first
        told += [(p[f"m{i}"] * p[f"a{i}"] + L * beyond) / first, p[f"k{i}"] / first]
        if i > 1:
            told.append(J / first)
        if i < links:
            told.append(L)
    return jnp.log(jnp.stack([jnp.asarray(x) for x in told]))


def _records(links: int, p: Mapping[str, float], rng: np.random.Generator) -> list[fit.Record]:
    """Two swings with noise."""
    args = {"g": 9.81, **p, **{f"{n}{i + 1}": 0.0 for n in "cs" for i in range(links)}}
    made = []
    for angles in (rng.uniform(1.8, 2.8, links), rng.uniform(3.5, 4.6, links)):
        y, where = np.zeros((links, 3)), np.zeros(2)
        for i, angle in enumerate(angles):
            along = np.array([np.sin(angle), np.cos(angle)])
            y[i] = [*(where + p[f"a{i + 1}"] * along), angle]
            where = where + p.get(f"L{i + 1}", 0.0) * along
        args_ = {key: jnp.asarray(value) for key, value in args.items()}
        swing = _swing(jnp.asarray(y), args_)
        channels = {}
        for i in range(links):
            for name, values in (("angle", swing[0]), ("rate", swing[1])):
                noise = NOISE[name] * rng.standard_normal(TIMES.size)
                channels[f"{name}{i + 1}"] = np.asarray(values)[:, i, 2] + noise
        made.append(fit.record(TIMES, channels))
    return made


@jax.jit
def _swing(y, args):
    found = jaxspark.solve(
        SYSTEM, y, jnp.zeros_like(y), args, t1=TIMES[-1], ts=TIMES, rtol=1e-9, throw=False
    )
    return found.ys, found.zs


def deficient(tiny: bool = False) -> Iterator[Figure]:
    """All numbers of random arms free but gravity, from 20 % off."""
    rng = np.random.default_rng(0)
    converged, right, scores, iterations = 0, 0, [], []
    total = 1 if tiny else MECHANISMS
    for k in range(total):
        links = 1 + k % 3
        truth = _numbers(links, rng)
        records = _records(links, truth, rng)
        free = {key: fit.positive(x * rng.uniform(0.8, 1.2)) for key, x in truth.items()}
        options = {"progress": False, "throw": False, "check": False}
        found = fit.estimate(model(links, {**free, "g": 9.81}, STEP), records, **options)
        converged += found.converged
        iterations.append(len(found.history))
        names, values = found.names, found.vector
        of = lambda x, names=names, links=links: base(dict(zip(names, x)), links)
        slopes = np.asarray(jax.jacfwd(of)(jnp.asarray(values))) * values[None, :]
        # Null directions of logarithms, the true ones and those of the fit.
        true = np.linalg.svd(slopes)[2][len(slopes) :]
        right += _named(found, true)
        relative = found.uncertainty.physical_covariance / np.outer(values, values)
        errors = np.sqrt(np.diag(slopes @ relative @ slopes.T))
        scores += ((of(values) - base(truth, links)) / errors).tolist()
    every = f"{total} random arms"
    yield Figure(f"{every}: converged", f"{total}", f"{converged}", converged == total)
    yield Figure(f"{every}: null space right", f"{total}", f"{right}", right == total)
    covered = float(np.mean(np.abs(scores) < 1.96))
    ok = COVERED[0] <= covered <= COVERED[1] or tiny
    what = f"{every}: told combinations within 1.96 standard errors, of {len(scores)}"
    yield Figure(what, f"{COVERED[0]} .. {COVERED[1]}", f"{covered:.3f}", ok)
    words = f"{np.median(iterations):.0f}, {max(iterations)}"
    yield note(f"{every}: iterations, median and most", words)


def _named(found: fit.Fit, true: np.ndarray) -> bool:
    """Whether what the fit says not to be told is what is not."""
    directions = found.uncertainty.directions
    untold = [c.weights for c in directions.combinations if np.isinf(c.error)]
    if len(untold) != len(true):
        return False
    own = np.linalg.qr(np.array(untold).T)[0]
    return bool(np.linalg.norm(true.T - own @ (own.T @ true.T), 2) < RIGHT)
