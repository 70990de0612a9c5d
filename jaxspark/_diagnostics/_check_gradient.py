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


# Changes of a parameter, as parts of it, for central differences.
STEPS = 0.02 * 4.0 ** -np.arange(8)
# Of the largest derivative: below it, an entry may be wrong by that.
NEGLIGIBLE = 1e-4
# Uncertainties of the differences, by which forward derivatives may differ from them.
SPREAD = 10
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
    """What [`jaxspark.diagnostics.check_gradient`][] found; printed as a table.

    - `leaves`: a `LeafCheck` for each array of the parameters.
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
            f"{x.uncertainty:8.1g}  {x.verdict or 'agree'}"
            for x in self.leaves
        ]
        return "\n".join([head, *rows, *self.remarks])


def check_gradient(run: Callable[[Args], Any], args: Args, *, seed: int = 0) -> GradientCheck:
    """Whether derivatives of a run are right, by the parameters, array by array.

    Forward derivatives are compared with reverse ones, and with differences, extrapolated until
    they get no better. Both find, for instance, a wrong rule of a function of one's own, a
    `stop_gradient`, an integer on the way, or a kink at these parameters. The program is
    compiled four times and runs sixteen times for each array.

    **Arguments:**

    - `run`: a function of `args` that returns a [`jaxspark.Solution`][], of which all saved states
        are results; or numbers and arrays.
    - `args`: any PyTree; its real arrays and numbers are the parameters.
    - `seed`: of the directions in which parameters are changed, and the weights of the results.

    **Returns:** a [`jaxspark.diagnostics.GradientCheck`][]: `good`, or what is wrong, printed.

    **Raises:** `ValueError` if there is no parameter or no result.

    Source: C. J. F. Ridders, *Accurate computation of F'(x) and F'(x) F''(x)*, Advances in
    Engineering Software 4 (1982).
    """
    args = jax.tree.map(lambda x: jnp.asarray(x) if isinstance(x, float) else x, args)
    varied, rest = eqx.partition(args, eqx.is_inexact_array)
    x, unravel = jax.flatten_util.ravel_pytree(varied)
    if not x.size:
        raise ValueError("There is no real array in args by which a derivative could be taken.")

    @jax.jit
    def results(x):
        out = run(eqx.combine(unravel(x), rest))
        return jax.flatten_util.ravel_pytree(_results(out))[0]

    tangent = jax.jit(lambda x, d: jax.jvp(results, (x,), (d,))[1])
    cotangent = jax.jit(lambda x, w: jax.vjp(results, x)[1](w)[0])
    out = run(args)
    at = np.asarray(results(x))
    if not at.size:
        raise ValueError("run returns no real array.")
    rng = np.random.default_rng(seed)
    # Of a solution whose rows repeat its end, these count once each like others.
    weights = rng.uniform(0.5, 1, at.size) * rng.choice([-1, 1], at.size)
    gradient = np.asarray(cotangent(x, jnp.asarray(weights, at.dtype)))
    leaves = []
    for name, part in _parts(varied):
        direction = np.zeros(x.size)
        direction[part] = _scale(np.asarray(x[part])) * rng.choice([-1, 1], part.stop - part.start)
        d = jnp.asarray(direction, x.dtype)
        forward = np.asarray(tangent(x, d))
        pairs = [(np.asarray(results(x + h * d)), np.asarray(results(x - h * d))) for h in STEPS]
        quotients = np.stack([(a - b) / (2 * h) for (a, b), h in zip(pairs, STEPS)])
        differences, uncertainty = _extrapolated(quotients)
        found = forward, differences, uncertainty, quotients
        reverse = float(gradient @ direction)
        growth = float(np.max(np.abs(forward)) / max(np.max(np.abs(at)), np.finfo(float).tiny))
        verdict = _verdict(found, float(weights @ forward), reverse, growth, weights, out)
        leaves.append(
            LeafCheck(
                f"args{name}", float(weights @ forward), reverse, float(weights @ differences),
                float(np.abs(weights) @ uncertainty), growth, verdict,
            )
        )  # fmt: skip
    remarks = []
    if isinstance(out, Solution) and not bool(jnp.all(out.successful)):
        remarks.append("The run failed at these parameters: print the solution.")
    return GradientCheck(tuple(leaves), tuple(remarks))


def _results(out: Any) -> Any:
    if isinstance(out, Solution):
        return out.ys, out.zs
    return eqx.filter(out, eqx.is_inexact_array)


def _parts(varied: Any) -> list[tuple[str, slice]]:
    """The arrays, by name, and where they are in the flat vector."""
    parts, start = [], 0
    for path, leaf in jax.tree_util.tree_flatten_with_path(varied)[0]:
        if leaf.size:
            parts.append((jax.tree_util.keystr(path), slice(start, start + leaf.size)))
        start += leaf.size
    return parts


def _scale(values: Vector) -> Vector:
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


def _verdict(
    found: tuple[Vector, Vector, Vector, Float[np.ndarray, "k n"]],
    forward_sum: float,
    reverse: float,
    growth: float,
    weights: Vector,
    out: Any,
) -> str:
    forward, differences, uncertainty, quotients = found
    if not np.all(np.isfinite(forward)) or not np.isfinite(reverse):
        first = int(np.argmax(~np.isfinite(forward)))
        return f"NOT FINITE{_where(out, first) if not np.all(np.isfinite(forward)) else ''}"
    scale = max(float(np.max(np.abs(differences))), float(np.max(np.abs(forward))))
    if scale == 0 and reverse == 0:
        return "" if not np.any(quotients) else _STEPWISE
    sum_of_sizes = float(np.abs(weights) @ np.abs(forward))
    epsilon = float(np.finfo(np.asarray(forward).dtype).eps)
    if abs(forward_sum - reverse) > epsilon**0.5 * max(sum_of_sizes, abs(reverse)):
        return "FORWARD AND REVERSE DIFFER"
    flat = np.all(quotients[-2:] == 0, 0) & np.any(quotients != 0, 0)
    if np.any(flat & (np.abs(quotients[0]) > UNCERTAIN * np.max(np.abs(quotients)))):
        return _STEPWISE
    wrong = np.abs(forward - differences) > SPREAD * uncertainty + NEGLIGIBLE * scale
    chaos = f"results change {growth:.1g} times as much as it" if growth > GROWTH else ""
    unknown = np.median(uncertainty) > UNCERTAIN * scale or not np.all(np.isfinite(differences))
    if unknown or (chaos and np.any(wrong)):
        return f"NOT TO BE TOLD: differences depend on the change; {chaos}".rstrip("; ")
    if np.any(wrong):
        return f"WRONG{_where(out, int(np.argmax(wrong)))}"
    return f"EXACT, BUT OF LITTLE USE: {chaos}" if chaos else ""


_STEPWISE = "STEPWISE: small changes have no effect; is there an integer on the way?"


def _where(out: Any, index: int) -> str:
    """The result with this number, in words; of a solution the first time."""
    if isinstance(out, Solution):
        rows = len(out)
        sizes = [np.size(leaf) for leaf in jax.tree.leaves((out.ys, out.zs))]
        start = int(np.cumsum([0, *sizes])[np.searchsorted(np.cumsum(sizes), index, "right")])
        own = sizes[int(np.searchsorted(np.cumsum(sizes), index, "right"))]
        return f" from t = {float(out.ts[(index - start) // (own // rows)]):.9g} on"
    start = 0
    for path, leaf in jax.tree_util.tree_flatten_with_path(_results(out))[0]:
        if index < start + leaf.size:
            place = [int(i) for i in np.unravel_index(index - start, leaf.shape)]
            return f", first of result{jax.tree_util.keystr(path)}{place or ''}"
        start += leaf.size
    return ""
