"""Mechanisms of the audit side by side, a process for each core: errors are judged, not times."""

import concurrent.futures
import contextlib
import multiprocessing
import os
from collections.abc import Iterator, Sequence

import jax

from ._cells import Outcome, outcomes
from ._members import MECHANISMS
from ._methods import METHODS


# Programs that run once or twice are compiled as fast as can be.
VARIABLE = "JAX_DISABLE_MOST_OPTIMIZATIONS"


def side_by_side(
    mechanisms: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    tolerances: Sequence[float],
) -> Iterator[list[Outcome]]:
    """The outcomes of each mechanism, in their order, as they are done.

    **Arguments:** names, numbers of starts, tolerances.
    """
    with fast_compilation(), workers() as pool:
        tasks = [(name, methods, seeds, tolerances) for name in mechanisms]
        yield from pool.map(_of_mechanism, tasks)


def _of_mechanism(task: tuple[str, Sequence[str], Sequence[int], Sequence[float]]) -> list[Outcome]:
    name, methods, seeds, tolerances = task
    chosen = [METHODS[method] for method in methods]
    return list(outcomes([MECHANISMS[name]], chosen, seeds, tolerances))


def workers() -> concurrent.futures.ProcessPoolExecutor:
    """A process for each core, in double precision."""
    return concurrent.futures.ProcessPoolExecutor(
        os.cpu_count(), multiprocessing.get_context("spawn"), initializer=_begin
    )


def _begin() -> None:
    """In a process of its own, on any core: the one that measures stays on one."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    jax.config.update("jax_enable_x64", True)


@contextlib.contextmanager
def fast_compilation() -> Iterator[None]:
    """For processes that begin inside."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
