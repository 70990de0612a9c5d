"""A cell of the audit: one mechanism by one method, from its starts, at its tolerances."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import jax
import numpy as np

from ._mechanism import Mechanism, Start
from ._methods import Method
from ._reference import End, Reference, relative


TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10, 1e-11)
KNOWN = 0.05  # of the tolerance: how wrong a reference may be


class Outcome(NamedTuple):
    """One run against its reference.

    - `mechanism`, `method`: their names.
    - `seed`: the number of the start.
    - `tolerance`: `rtol` and `atol`.
    - `error`, `reactions`: of `(y, z)` and of the multipliers at the end, the greatest entry of
        `|error| / (tolerance (1 + |reference|))`.
    - `accepted`, `rejected`: steps.
    - `outcome`: see `Run`; `"no reference"` where the reference is not known well enough.
    """

    mechanism: str
    method: str
    seed: int
    tolerance: float
    error: float
    reactions: float
    accepted: int
    rejected: int
    outcome: str

    @property
    def good(self) -> bool:
        """Whether the run was called successful, and can be judged."""
        return self.outcome == "successful"

    def words(self) -> str:
        """The run in words."""
        steps = f"{self.accepted}+{self.rejected} steps"
        told = f"{self.error:.3g}" if self.good else self.outcome
        where = f"{self.mechanism}, start {self.seed}, {self.method}, tol {self.tolerance:.0e}"
        return f"{where}: {told} ({steps})"


class Known(NamedTuple):
    """A start, its number, and where its motion ends."""

    seed: int
    start: Start
    end: End


def known_ends(mechanism: Mechanism, seeds: Iterable[int]) -> list[Known]:
    """Starts of these numbers and their references."""
    reference = Reference(mechanism)
    starts = [(seed, mechanism.seeded(seed)) for seed in seeds]
    return [Known(seed, start, reference.at(start)) for seed, start in starts]


def cell(
    mechanism: Mechanism, method: Method, ends: Sequence[Known], tolerances: Sequence[float]
) -> Iterator[Outcome]:
    """The outcomes of a cell; tolerances tighter than the method's own are left out."""
    run = method.runner(mechanism)
    for seed, start, end in ends:
        exact = np.concatenate([end.y, end.z])
        for tolerance in tolerances:
            if tolerance < 0.99 * method.tightest:
                continue
            found = run(start, tolerance)
            outcome = found.outcome
            if outcome == "successful" and not end.error <= KNOWN * tolerance:
                outcome = "no reference"
            error = relative(np.concatenate([found.y, found.z]), exact) / tolerance
            reactions = relative(found.multipliers, end.multipliers) / tolerance
            yield Outcome(
                mechanism.name, method.name, seed, tolerance, error, reactions,
                found.accepted, found.rejected, outcome,
            )  # fmt: skip


def outcomes(
    mechanisms: Iterable[Mechanism],
    methods: Sequence[Method],
    seeds: Sequence[int],
    tolerances: Sequence[float] = TOLERANCES,
) -> Iterator[Outcome]:
    """All cells that can be run, mechanism by mechanism."""
    for mechanism in mechanisms:
        ends = known_ends(mechanism, seeds)
        for method in methods:
            if method.suits(mechanism):
                yield from cell(mechanism, method, ends, tolerances)
        # What was compiled would fill the memory.
        jax.clear_caches()
