"""How the cost grows with the number of bodies, and what it is next to other solvers."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from .._figures import at_most, Figure, note
from ._case import Case
from ._measure import (
    backward_error,
    compile_seconds,
    exponents,
    largest_array,
    seconds,
    solve_seconds,
)
from ._solvers import range_space, recursive
from ._splu import Seconds, SOLVES, splu_seconds
from ._topologies import (
    binary_tree,
    chain,
    four_bars,
    pinned_chain,
    random_blocks,
    random_tree,
    star,
)


class Topology(NamedTuple):
    """A family of matrices.

    - `make`: one of `N` bodies or loops.
    - `loops`: what is done about loops.
    - `compared`: the `N` at which it is compared with SuperLU.
    - `fs`, `f10`: the bounds of the ratio, with one and with ten solves; `None`: no bound.
    """

    make: Callable[[int], Case]
    loops: str
    compared: int
    fs: float
    f10: float | None


TOPOLOGIES = {
    "chain": Topology(chain, "cluster", 4096, 0.6, 0.7),
    "binary tree": Topology(binary_tree, "cluster", 4096, 0.7, 1.3),
    "random tree": Topology(random_tree, "cluster", 4096, 0.6, 1.2),
    "star": Topology(star, "cluster", 4096, 0.5, 0.6),
    "four-bar linkages": Topology(four_bars, "cluster", 2048, 0.8, 0.9),
    "closed loop by border": Topology(pinned_chain, "border", 4096, 0.8, None),
}
SIZES = [256, 512, 1024, 2048, 4096]


def scaling(tiny: bool) -> Iterator[Figure]:
    """Exponents from `N` = 256 to 4096, and SuperLU on the same matrix."""
    names = ["chain"] if tiny else list(TOPOLOGIES)
    for name in names:
        topology = TOPOLOGIES[name]
        sizes, compared = ([4, 8], 8) if tiny else (SIZES, topology.compared)
        solver = recursive(loops=topology.loops)
        measured = {n: seconds(solver, topology.make(n)) for n in sizes}
        yield from _exponents(name, measured)
        reference = splu_seconds(topology.make(compared))
        bounds = topology.fs, topology.f10
        for words, ours, theirs, bound in zip(_WORDS, measured[compared], reference, bounds):
            what = f"{name}, N = {compared}: {words}, CPU time over SuperLU's"
            if bound is None:
                yield note(what, f"{ours / theirs:.2f}")
            else:
                yield at_most(what, ours / theirs, bound, ".2f")
        if not tiny:
            yield from _range_space(name, topology.make(compared), reference)
    if not tiny:
        yield from _other_loops()


_WORDS = "one factorisation and solve", f"one factorisation and {SOLVES} solves"


def _exponents(name: str, measured: dict[int, Seconds]) -> Iterator[Figure]:
    for i, words in enumerate(_WORDS):
        costs = [cost[i] for cost in measured.values()]
        what = f"{name}, {words}"
        sizes = list(measured)
        listed = ", ".join(f"{1e3 * cost:.3g}" for cost in costs)
        yield note(f"{what}: CPU ms, N = {', '.join(map(str, sizes))}", listed)
        slope, steepest = exponents(sizes, costs)
        span = f"N = {sizes[0]} to {sizes[-1]}"
        yield at_most(f"{what}: exponent, {span}", slope, 1.1, ".2f")
        yield at_most(f"{what}: exponent of the worst octave", steepest, 1.2, ".2f")


def _range_space(name: str, case: Case, reference: Seconds) -> Iterator[Figure]:
    solver = range_space()
    # A body with many joints couples them all.
    if solver is None or name in ("star", "random tree"):
        return
    ratios = (a / b for a, b in zip(seconds(solver, case), reference))
    what = f"{name}, {case.pattern.num_blocks} bodies, range space: CPU time over SuperLU's"
    yield note(f"{what}, 1 and {SOLVES} solves", ", ".join(f"{ratio:.2f}" for ratio in ratios))


def _other_loops() -> Iterator[Figure]:
    measured = seconds(recursive(loops="cluster"), pinned_chain(4096))
    words = ", ".join(f"{1e3 * cost:.3g}" for cost in measured)
    yield note(f"closed loop by cluster, N = 4096: CPU ms, 1 and {SOLVES} solves", words)
    for size, rows in ((6, 5), (6, 3), (7, 6)):
        case = random_blocks(4096, size, rows)
        fs, f10 = seconds(recursive(), case)
        each = (f10 - fs) / (SOLVES - 1)
        words = (
            f"{1e3 * (fs - each):.3g}, {1e3 * each:.3g}; {backward_error(recursive(), case):.1e}"
        )
        yield note(f"{case.name}, N = 4096: CPU ms to factorise, to solve; backward error", words)


def structure(tiny: bool) -> Iterator[Figure]:
    """The largest array, compile time, and the absolute time as a check of sanity."""
    small, large = (4, 8) if tiny else (64, 4096)
    solver = recursive()
    for name in ["chain"] if tiny else ["chain", "binary tree", "star", "four-bar linkages"]:
        array = largest_array(solver, TOPOLOGIES[name].make(large)) / large
        what = f"{name}, N = {large}: elements of the largest array over N"
        yield at_most(what, array, 64, ".1f")
    few, many = (compile_seconds(solver, chain(n)) for n in (small, large))
    yield at_most(f"chain, N = {large}: CPU seconds to compile", many, 5, ".2f")
    yield at_most(f"chain: compile time of N = {large} over N = {small}", many / few, 2, ".2f")
    fs = solve_seconds(solver, chain(large))
    yield at_most(f"chain, N = {large}: CPU ms of {_WORDS[0]}", 1e3 * fs, 20, ".2f")
    larger = chain(4 * large)
    error = backward_error(solver, larger)
    yield at_most(f"chain, N = {4 * large}: backward error", error, 1e-14)
    fs = solve_seconds(solver, larger)
    yield note(f"chain, N = {4 * large}: CPU ms of {_WORDS[0]}", f"{1e3 * fs:.2f}")
