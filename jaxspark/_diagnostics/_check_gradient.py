"""Whether the derivatives of a run are right: forward, reverse, and by differences."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .._custom_types import Args
from .._rollout import Solution
from ._program import Direction, is_parameter, Program, STEPS


# Of the largest derivative of an array of results: an entry may be wrong by that.
NEGLIGIBLE = 1e-4
# Uncertainties of the differences, by which forward derivatives may differ from them.
SPREAD = 10
# Rounding errors of the largest result, by which forward and reverse may differ.
ROUNDING = 1e3
# Of the largest derivative: if most differences are less certain, they tell nothing.
UNCERTAIN = 0.1
# How many times as large as a relative change of a parameter that of the result may be.
GROWTH = 1e4

Vector = Float[np.ndarray, " n"]


@dataclass(frozen=True)
class LeafCheck:
    """The derivative by one array of the parameters, along a direction of its own size.

    - `name`: which array.
    - `forward`, `reverse`: the derivative of a weighted sum of all results, by both modes.
    - `differences`: that by central differences, and `uncertainty` that of it.
    - `growth`: the largest relative change of a result over that of the parameter.
    - `verdict`: in words; empty if all is well.
    """

    name: str
    forward: float
    reverse: float
    differences: float
    uncertainty: float
    growth: float
    verdict: str


@dataclass(frozen=True)
class GradientCheck:
    """What [`jaxspark.diagnostics.check_gradient`][] found; it is printed as a table.

    - `leaves`: for each array of the parameters its `name`; the derivatives `forward`, `reverse`
        and `differences`, along one direction, and the `uncertainty` of the last; `growth`, the
        largest relative change of a result over that of the parameter; and the `verdict` in words,
        empty if all is well.
    - `remarks`: what concerns all of them.
    """

    leaves: tuple[LeafCheck, ...]
    remarks: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Whether forward, reverse and differences agree for every array, and tell something."""
        return not self.remarks and not any(leaf.verdict for leaf in self.leaves)

    def __repr__(self) -> str:
        head = f"{'by':24} {'forward':>13} {'reverse':>13} {'differences':>13} {'+-':>8}  verdict"
        rows = [
            f"{x.name:24} {x.forward:13.6g} {x.reverse:13.6g} {x.differences:13.6g} "
            f"{x.uncertainty:8.1g}  {x.verdict or ('agree' if x.growth else 'no effect')}"
            for x in self.leaves
        ]
        return "\n".join([head, *rows, *self.remarks])


def check_gradient(run: Callable[[Args], Any], args: Args, *, seed: int = 0) -> GradientCheck:
    """Check whether the derivatives of a run by its parameters are right, array by array.

    Forward derivatives are compared with reverse ones, and with differences, extrapolated until
    they get no better. Both find, for instance, a wrong rule of a function of your own, a
    `stop_gradient`, an integer on the way, or a kink at these parameters, where it makes more than
    1e-4 of the largest derivative of an array. What is below the rounding errors of differences, in
    double precision 4e-11 of the largest result for a change of the parameter by itself, is not
    found. Where a function has a rule for reverse mode alone, its sum is compared with
    differences. The program is compiled four times and runs sixteen times for each array.

    **Arguments:**

    - `run`: a function of `args` that returns a [`jaxspark.Solution`][], of which all saved states
        are results; or numbers and arrays. What it does with changed parameters must succeed:
        initial values that depend on them are made consistent by [`jaxspark.project`][] inside.
    - `args`: any PyTree; its real arrays and numbers are the parameters, but for those that are not
        finite.
    - `seed`: that of the directions in which parameters are changed, and of the weights of the
        results.

    **Returns:** a [`jaxspark.diagnostics.GradientCheck`][]; print it, or look at `good`.

    **Raises:** `ValueError` if there is no parameter or no result, or one is complex.

    Source: C. J. F. Ridders, *Accurate computation of F'(x) and F'(x) F''(x)*, Advances in
    Engineering Software 4 (1982).
    """
    args = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, args)
    varied, rest = eqx.partition(args, is_parameter)
    if not jax.tree.leaves(varied):
        raise ValueError("There is no real array in args by which a derivative could be taken.")
    program = Program(run, varied, rest)
    rng = np.random.default_rng(seed)
    # Of a solution whose rows repeat its end, these count once each like others.
    size = program.at.size
    weights = rng.uniform(0.5, 1, size) * rng.choice([-1, 1], size)
    gradient = program.gradient(weights)
    leaves = []
    for name, part in _parts(varied):
        direction = np.zeros(program.x.size)
        signs = rng.choice([-1, 1], part.stop - part.start)
        direction[part] = _scale(np.asarray(program.x[part])) * signs
        with np.errstate(invalid="ignore"):
            leaves.append(_checked(f"args{name}", program, direction, weights, gradient))
    remarks = []
    if isinstance(program.out, Solution) and not bool(jnp.all(program.out.successful)):
        remarks.append("The run failed at these parameters: print the solution.")
    return GradientCheck(tuple(leaves), tuple(remarks))


def _parts(varied: Any) -> list[tuple[str, slice]]:
    """The arrays, by name, and where they are in the flat vector."""
    parts, start = [], 0
    for path, leaf in jax.tree_util.tree_flatten_with_path(varied)[0]:
        if leaf.size:
            parts.append((jax.tree_util.keystr(path), slice(start, start + leaf.size)))
        start += leaf.size
    return parts


def _scale(values: Direction) -> Direction:
    """The sizes of parameters; of those that are zero, that of their neighbours, or 1."""
    sizes = np.abs(values)
    usual = np.mean(sizes[sizes > 0]) if np.any(sizes > 0) else 1.0
    return np.where(sizes > 0, sizes, usual)


def _extrapolated(quotients: Float[np.ndarray, "k n"]) -> tuple[Vector, Vector]:
    """Derivatives by Neville's scheme in `h^2`, for each result those that are most certain."""
    best, least = quotients[-1], np.full(quotients.shape[1], np.inf)
    before = [quotients[0]]
    for row in quotients[1:]:
        now = [row]
        for j, old in enumerate(before, 1):
            now.append((16.0**j * now[-1] - old) / (16.0**j - 1))
            wrong = np.maximum(np.abs(now[-1] - now[-2]), np.abs(now[-1] - old))
            better = wrong < least
            best, least = np.where(better, now[-1], best), np.where(better, wrong, least)
        before = now
    return best, least


def _checked(
    name: str, program: Program, direction: Direction, weights: Vector, gradient: Direction
) -> LeafCheck:
    forward, reverse = program.forward(direction), float(gradient @ direction)
    quotients, reason = program.quotients(direction)
    total = reverse if forward is None else float(weights @ forward)
    if reason:
        verdict = f"RUNS WITH CHANGED PARAMETERS FAIL: {reason}"
        return LeafCheck(name, total, reverse, np.nan, np.nan, np.nan, verdict)
    differences, uncertainty = _extrapolated(quotients)
    # What results reach nearby, for at these parameters a residual may be zero.
    seen = np.maximum(np.abs(program.at), np.max(np.abs(quotients * STEPS[:, None]), 0))
    largest = _of_groups(seen, program.groups)
    # Rounding errors of differences by the step at which they are about as large as its own error;
    # and what is left of iterations when they end, which depends on parameters without effect.
    noise = max(10 * program.epsilon / STEPS[3], program.epsilon ** (2 / 3)) * largest
    uncertainty = np.maximum(uncertainty, program.epsilon * largest)
    slopes = np.abs(differences) if forward is None else np.abs(forward)
    growth = float(np.max(slopes / np.maximum(largest, np.finfo(float).tiny)))
    if forward is None:
        spread = float(np.abs(weights) @ (SPREAD * uncertainty + NEGLIGIBLE * slopes + noise))
        wrong = abs(reverse - weights @ differences) > spread
        verdict = "WRONG IN REVERSE" if wrong or not np.isfinite(reverse) else ""
    else:
        found = forward, differences, uncertainty, noise, largest, quotients
        verdict = _verdict(program, found, total, reverse, growth, weights)
    return LeafCheck(
        name, total, reverse, float(weights @ differences), float(np.abs(weights) @ uncertainty),
        growth, verdict,
    )  # fmt: skip


def _of_groups(values: Vector, groups: np.ndarray) -> Vector:
    """The largest value of each group, for each of its members."""
    largest = np.zeros(groups[-1] + 1)
    np.maximum.at(largest, groups, values)
    return largest[groups]


def _verdict(
    program: Program,
    found: tuple[Vector, Vector, Vector, Vector, Vector, Float[np.ndarray, "k n"]],
    total: float,
    reverse: float,
    growth: float,
    weights: Vector,
) -> str:
    forward, differences, uncertainty, noise, largest, quotients = found
    if not np.all(np.isfinite(forward)):
        return f"NOT FINITE{program.where(int(np.argmax(~np.isfinite(forward))))}"
    if not np.isfinite(reverse):
        return "NOT FINITE IN REVERSE"
    allowed = program.epsilon**0.5 * max(float(np.abs(weights) @ np.abs(forward)), abs(reverse))
    # Terms as large as the results may cancel, as those of a mass that has no effect do.
    rounding = ROUNDING * program.epsilon * float(np.abs(weights) @ largest)
    if abs(total - reverse) > allowed + rounding:
        return "FORWARD AND REVERSE DIFFER"
    flat = np.all(quotients[-2:] == 0, 0) & np.any(quotients != 0, 0)
    if np.any(flat & (np.abs(quotients[0]) > UNCERTAIN * np.max(np.abs(quotients)) + noise)):
        return _STEPWISE
    scale = _of_groups(np.maximum(np.abs(differences), np.abs(forward)), program.groups)
    wrong = np.abs(forward - differences) > SPREAD * uncertainty + NEGLIGIBLE * scale + noise
    chaos = f"results change {growth:.1g} times as much as it" if growth > GROWTH else ""
    unknown = np.median(uncertainty - UNCERTAIN * scale - noise) > 0
    if unknown or (chaos and np.any(wrong)) or not np.all(np.isfinite(differences)):
        return f"NOT TO BE TOLD: differences depend on the change; {chaos}".rstrip("; ")
    if np.any(wrong):
        return f"WRONG{program.where(int(np.argmax(wrong)))}"
    return f"EXACT, BUT OF LITTLE USE: {chaos}" if chaos else ""


_STEPWISE = "STEPWISE: small changes have no effect; is there an integer on the way?"
