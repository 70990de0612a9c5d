"""Base parameters: the combinations that motions tell, in words, and comparisons in these."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ._compile import compiled
from ._covariance import RTOL
from ._evaluate import assembled, weighted
from ._model import Model
from ._monomials import Invariant, invariants, terms
from ._noise import initial_noise
from ._null import sparse_basis
from ._problem import make_problem, Problem
from ._record import Record
from ._sensitivities import Sensitivities, simulated
from ._suitable import as_records, needing_inputs
from ._told_remarks import untold


# Samples of each record that show which combinations act, and how many records at most.
SAMPLES, RECORDS = 40, 2
# Of the model's step: errors of integration depend on what the motion itself does not.
FINER = 0.5
# How far parameters are moved, in their coordinates, and how many points more than unknowns.
SPREAD, MORE = 0.3, 20
# Points that scales are found from, and most choices of units that are tried.
FEW, MOST_UNITS = 8, 12
MOST_PARAMETERS = 40


@dataclass(frozen=True, repr=False)
class Base:
    """What motions tell of the parameters of a model; made by [`jaxspark.fit.base_parameters`][].

    - `names`: the names of the `q` parameters.
    - `units`: parameters that serve as units, one for each of `s` changes of scale that leave all
        motions as they are: the motions tell others in multiples of these.
    - `scales`: the powers of each parameter in each of these changes, shape `(s, q)`.
    - `invariants`: sums of products that the motions tell, simple parameters among them.
    - `words`: the same in words.
    - `rank`: how many combinations the motions tell; more than there are `words` if not all have
        a short formula.
    - `hold`: parameters to hold, at any values, so that the motions tell all others.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    scales: Float[np.ndarray, "s q"]
    invariants: tuple[Invariant, ...]
    words: tuple[str, ...]
    rank: int
    hold: tuple[str, ...]

    def __repr__(self) -> str:
        lines = [f"The motions tell {self.rank} of {len(self.names)} combinations."]
        if self.units:
            lines.append(f"In units of {', '.join(self.units)}:")
        lines += [f"  {words}" for words in self.words]
        if len(self.words) < self.rank:
            lines.append(f"  and {self.rank - len(self.words)} without a short formula")
        if self.hold:
            lines.append(f"To fit the others, hold {', '.join(self.hold)}.")
        return "\n".join(lines)

    def of(self, values: Mapping[str, float]) -> dict[str, float]:
        """The base parameters by their words.

        **Arguments:**

        - `values`: all parameters by name, in their units; for instance `fit.values`.

        **Returns:** the value of each base parameter.
        """
        x = np.array([values[name] for name in self.names])
        return {words: one.value(x) for words, one in zip(self.words, self.invariants, strict=True)}

    def compare(self, a: Mapping[str, float], b: Mapping[str, float]) -> dict[str, float]:
        """How far the base parameters, and units, of `a` are off those of `b`, relative to these.

        Scales, which no motion tells, are first chosen so that both agree as well as they can, in
        the sum of absolute differences: one that differs much does not move the others.

        **Arguments:**

        - `a`, `b`: all parameters by name, in their units.

        **Returns:** the relative difference of each, by its words or name.
        """
        size = len(self.names)
        alone = [np.eye(size, dtype=int)[[self.names.index(name)]] for name in self.units]
        every = [*self.invariants, *(Invariant(np.ones(1), powers) for powers in alone)]
        x, y = (np.array([values[name] for name in self.names]) for values in (a, b))
        own, other = (np.array([one.value(at) for one in every]) for at in (x, y))
        # How each scales is how any of its terms does.
        powers = np.array([one.powers[0] for one in every]) @ self.scales.T
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(own / other)
        both = np.isfinite(ratio)
        ratio, weights = np.where(both, ratio, 0), both.astype(float)
        shift = np.zeros(powers.shape[1])
        for _ in range(100):
            root = np.sqrt(weights)
            shift = np.linalg.lstsq(root[:, None] * powers, root * ratio, rcond=None)[0]
            weights = both / np.maximum(np.abs(ratio - powers @ shift), 1e-9)
        off = own / np.exp(powers @ shift) / other - 1
        return dict(zip((*self.words, *self.units), off.tolist(), strict=True))


@needing_inputs()
def base_parameters(model: Model, records: Record | Sequence[Record], *, seed: int = 0) -> Base:
    """Find which combinations of a model's parameters motions like those of the records tell.

    It computes null spaces of exact Jacobians at random parameters near the start values, of
    motions from where the records start. Changes of scale are null directions that are the same
    everywhere in logarithms; for the others it finds sums of products that they do not change.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][], whose free parameters are numbers other than zero.
    - `records`: as for [`jaxspark.fit.estimate`][]; their first samples are enough.
    - `seed`: that of the random numbers.

    **Returns:** a [`jaxspark.fit.Base`][]; print it.

    **Raises:** `ValueError` if there is no free parameter, or one that is zero, for parameters of
    single records or more than 40 numbers, and without double precision.

    Source: H. Mayeda, K. Yoshida & K. Osuka, *Base parameters of manipulator dynamic models*
    (1990), on base parameters; M. Gautier, *Numerical calculation of the base inertial parameters
    of robots* (1991), on finding them by numbers.
    """
    problem, sigma = _short(model, as_records(records))
    if problem.data.ts.dtype != jnp.float64:
        raise ValueError(
            "base_parameters needs double precision to tell null directions from rounding: "
            "jax.config.update('jax_enable_x64', True)."
        )
    if problem.shared.size > MOST_PARAMETERS or problem.shared.num_own:
        raise ValueError(
            f"base_parameters is for at most {MOST_PARAMETERS} numbers that all records share; "
            "hold what a network or single records have (fit.fixed)."
        )
    shared = problem.shared
    start = np.asarray(shared.physical(shared.start), float)
    if shared.size == 0 or np.any(start == 0):
        raise ValueError(
            "base_parameters needs free parameters, and start values other than zero, "
            "since their logarithms are taken."
        )
    points, nulls, rank = _probed(problem, sigma, np.random.default_rng(seed), FEW)
    scales = _scales(points, nulls)
    candidates = _units(nulls, scales)
    moving = _moving(nulls, candidates[0])
    left = len(nulls[0]) - len(candidates[0])
    if left:
        count = -(-len(terms(shared.size, moving)) // left) + MORE
        points, nulls, rank = _probed(problem, sigma, np.random.default_rng(seed), count)
    tried = [_in_units(points, nulls, rank, scales, units) for units in candidates]
    # Those with the most formulas, and of these with the shortest.
    sizes = [(-len(of), sum(len(one.powers) for one in of)) for of in tried]
    best = sizes.index(min(sizes))
    units, every = candidates[best], tried[best]
    words = tuple(one.words(shared.names) for one in every)
    names = lambda which: tuple(shared.names[k] for k in which)
    hold = _pivots(nulls[0] / points[0][None, :], units)
    return Base(shared.names, names(units), scales, every, words, rank, names(hold))


def _in_units(
    points: Sequence[np.ndarray],
    nulls: Sequence[np.ndarray],
    rank: int,
    scales: np.ndarray,
    units: Sequence[int],
) -> tuple[Invariant, ...]:
    """What the motions tell in given units: parameters alone, then sums of products."""
    size = points[0].size
    moving = _moving(nulls, units)
    still = [k for k in range(size) if k not in moving and k not in units]
    alone = [Invariant(np.ones(1), np.eye(size, dtype=int)[[k]]) for k in still]
    if not moving:
        return tuple(alone)
    known = np.eye(size)[[*still, *units]]
    held = [_without(null, units) for null in nulls]
    wanted = rank - len(alone)
    found = invariants(terms(size, moving), points, held, scales, wanted, known)
    return (*alone, *found)


def _short(model: Model, records: list[Record]) -> tuple[Problem, Any]:
    """The beginnings of a few records."""
    short = []
    for record in records[:RECORDS]:
        last = record.times[min(SAMPLES, record.num_samples) - 1]
        short.append(_beginning(record, last))
    starts = model.start.alone()
    if len(starts) > 1:
        start = dataclasses.replace(
            model.start,
            y=[s.y for s in starts[: len(short)]],
            z=[s.z for s in starts[: len(short)]],
        )
        model = dataclasses.replace(model, start=start)
    model = model.finer(FINER)
    return make_problem(model, short), jnp.asarray(initial_noise(model, short)[1])


def _beginning(record: Record, last: float) -> Record:
    """Up to a time, or further, until each channel has a sample."""
    needed = [
        record.times[np.isfinite(values)][:2][-1]
        for values in record.channels.values()
        if np.isfinite(values).any()
    ]
    return record.window(float(record.times[0]), float(max(last, *needed)))


def _probed(problem: Problem, sigma: Any, rng: np.random.Generator, count: int):
    """Values of the parameters, null directions there in these values, and the rank.

    Points where the model cannot be simulated, or whose rank is not the usual one, are left out.
    """
    shared = problem.shared
    moves = SPREAD * rng.standard_normal((count, shared.size))
    moves[0] = 0
    u = np.asarray(problem.start)[None, :] + np.pad(
        moves, ((0, 0), (0, problem.size - shared.size))
    )
    rtol = RTOL[np.dtype(u.dtype).name]
    found = []
    for point in jnp.asarray(u):
        A, slope, x, fine = map(np.asarray, _rows(problem, point, sigma, simulated(problem, point)))
        if fine:
            null, rank = untold(A, shared.size, rtol)
            found.append((x, null @ slope.T, rank))
    if not found:
        raise ValueError("The model cannot be simulated from its start values; see fit.simulate.")
    ranks = [rank for _, _, rank in found]
    most = max(set(ranks), key=ranks.count)
    kept = [(x, null) for x, null, rank in found if rank == most]
    return [x for x, _ in kept], [null for _, null in kept], most


@compiled
def _rows(problem: Problem, u: Any, sigma: Any, at_u: Sensitivities):
    found = weighted(problem, u, sigma, at_u)
    own = u[: problem.shared.size]
    slope = jax.jacfwd(problem.shared.physical)(own)
    # What priors say no motion tells.
    A = assembled(problem, found)[0]
    return A[: A.shape[0] - found.prior.shape[0]], slope, problem.shared.physical(own), found.good


def _scales(points: Sequence[np.ndarray], nulls: Sequence[np.ndarray]) -> Float[np.ndarray, "s q"]:
    """Changes of logarithms that are null directions everywhere, with small whole powers."""
    count = points[0].size
    rests = []
    for x, null in zip(points, nulls):
        if not len(null):
            return np.zeros((0, count))
        basis = np.linalg.qr((null / x[None, :]).T)[0]
        rests.append(np.eye(count) - basis @ basis.T)
    _, s, right = np.linalg.svd(np.concatenate(rests))
    common = right[s < 1e-5 * np.sqrt(len(rests))]
    if not len(common):
        return np.zeros((0, count))
    basis = sparse_basis(common, 1e-6)
    found = []
    for row in basis:
        row = row / np.abs(row[np.abs(row) > 1e-6]).min()
        whole = np.round(row)
        found.append(whole if np.abs(row - whole).max() < 1e-4 else row)
    return np.array(found)


def _units(nulls: Sequence[np.ndarray], scales: np.ndarray) -> list[tuple[int, ...]]:
    """Parameters to hold, one for each scale, such that the fewest others are left untold."""
    size = len(scales)
    if not size:
        return [()]
    found: dict[int, list[tuple[int, ...]]] = {}
    for chosen in itertools.combinations(range(scales.shape[1]), size):
        if abs(np.linalg.det(scales[:, chosen])) > 1e-6:
            found.setdefault(len(_moving(nulls[:3], chosen)), []).append(chosen)
    return found[min(found)][-MOST_UNITS:]


def _without(null: np.ndarray, units: Sequence[int]) -> np.ndarray:
    """Null directions that do not move the units."""
    if not len(units) or not len(null):
        return null
    fixed = null[:, list(units)]
    _, s, right = np.linalg.svd(fixed.T)
    rank = int(np.sum(s > 1e-9 * s.max(initial=0)))
    return right[rank:] @ null


def _moving(nulls: Sequence[np.ndarray], units: Sequence[int]) -> list[int]:
    """Parameters that null directions move while the units stay."""
    moved = np.zeros(nulls[0].shape[1], bool)
    for null in nulls:
        rest = _without(null, units)
        if len(rest):
            rest = np.linalg.qr(rest.T)[0].T
            moved |= np.linalg.norm(rest, axis=0) > 1e-5
    return np.flatnonzero(moved).tolist()


def _pivots(null: np.ndarray, units: Sequence[int]) -> list[int]:
    """Parameters whose values fix all null directions, the units first."""
    chosen = list(units)
    rest = _without(null, units) if len(null) else null
    while len(rest):
        k = int(np.argmax(np.linalg.norm(rest, axis=0)))
        chosen.append(k)
        rest = _without(rest, [k])
        rest = rest[np.linalg.norm(rest, axis=1) > 1e-9] if len(rest) else rest
    return chosen
