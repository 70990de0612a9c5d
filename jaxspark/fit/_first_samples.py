"""Consistent starts from the first samples of what was measured."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np

from .._consistent import flat_residuals, multipliers
from .._custom_types import State
from .._jax_internals import depends_on
from .._system import constraint_shapes, flatten
from ._check import DataError
from ._compile import compiled
from ._lockstep import batched, over, together
from ._model import Model
from ._record import Record


# Samples at the beginning of a record that a parabola is laid through, and the fewest that do.
FIRST, FEWEST = 7, 3
MOST_STEPS, MOST_HALVINGS = 60, 12
# A slope counts as if it were so much less certain than a value is over the first samples.
SLOPE = 0.1
# Of violated constraints in the merit of a step, at least.
LEAST_PRICE = 1e-3
# By how much of how far channels vary a start may miss their first samples.
MOST_MISSED = 0.1
# Velocities that are tried to see which sensor is the derivative of which.
PROBES = 3
# A step that moves no coordinate by more, relative to their size, is the last.
SMALL = 1e-10


def guesses(
    model: Model,
    records: Sequence[Record],
    args: Sequence[Any],
    failed: dict[int, str] | None = None,
) -> list[tuple[State, State]]:
    """Where trials start, or nearly: the guesses of the model, or what first samples say.

    **Arguments:**

    - `args`: of each record, what the system's functions get at the start values.
    - `failed`: gets what is wrong with records, by their number, whose guess stays as it is.

    **Raises:** unless `failed` is given, `DataError` if a record has too few samples at its
    beginning, or no state near the guess shows them.
    """
    start, count = model.start, len(records)
    given = [start.guess(k, count, args[k]) for k in range(count)]
    return _matched(model, records, args, given, failed) if start.from_samples else given


def guessed(model: Model, index: int, count: int, record: Record, args: Any) -> tuple[State, State]:
    """The same of one of several records, or of the first window of one."""
    given = model.start.guess(index, count, args)
    return _matched(model, [record], [args], [given])[0] if model.start.from_samples else given


def _matched(
    model: Model,
    records: Sequence[Record],
    args: Sequence[Any],
    given: Sequence[tuple[State, State]],
    failed: dict[int, str] | None = None,
) -> list[tuple[State, State]]:
    """The consistent states near guesses that show the first samples of records.

    Gauss's and Newton's method: each step is the shortest of those that bring the linearised
    sensors nearest to the samples, and hold the linearised constraints. Of the sensors that show
    coordinates alone the slopes count, too. What no sensor shows stays as it is guessed.
    """
    dtype = jnp.asarray(0.0).dtype
    first = jax.tree.map(lambda x: jnp.asarray(x, dtype), given[0])
    unravels = [jax.flatten_util.ravel_pytree(part)[1] for part in first]
    split = jax.flatten_util.ravel_pytree(first[0])[0].size
    names, still = _sensors(model, jnp.asarray(records[0].times[0], dtype), first, args[0])
    ts = jnp.asarray([record.times[0] for record in records], dtype)
    stacked, axes = batched(args)

    def look(xs):
        found = _linearised(model, names, ts, first, jnp.asarray(xs), stacked, axes)
        return list(zip(*map(np.asarray, found), strict=True))

    lanes = [
        _search(_flat(state), record, names, still)
        for record, state in zip(records, given, strict=True)
    ]

    def stay(k, error):
        assert failed is not None
        failed[k] = str(error)
        return _flat((given[k][0], given[k][1]))

    found = together(lanes, look, None if failed is None else stay)
    return [
        (unravels[0](jnp.asarray(x[:split])), unravels[1](jnp.asarray(x[split:]))) for x in found
    ]


def _flat(state: tuple[State, State]) -> np.ndarray:
    return np.concatenate(
        [np.ravel(np.asarray(leaf, float)) for part in state for leaf in jax.tree.leaves(part)]
    )


def _search(x: np.ndarray, record: Record, names: tuple[str, ...], still: np.ndarray) -> Any:
    """Steps that get shorter until they reduce the merit, an l1 penalty of the constraints.

    It yields where to evaluate sensors and constraints, and returns the state.
    """
    values, slopes, sizes, span = _beginning(record, names)
    weights = np.concatenate([1 / sizes, SLOPE * span / sizes * still])
    target = np.concatenate([values, slopes])
    used = np.isfinite(target) & (weights > 0)
    if not used.any():
        raise DataError(
            f'record "{record.name}": none of the channels that the model predicts has '
            f"{FEWEST} samples among its first {FIRST}. Give the start, fit.Start(y, z)."
        )
    weights, target = np.where(used, weights, 0), np.where(used, target, 0)

    def residuals(found):
        shown, held, J, C = found
        return np.where(used, weights * (shown - target), 0), held, weights[:, None] * J, C

    r, held, J, C = residuals((yield x))
    for _ in range(MOST_STEPS):
        known = all(np.isfinite(part).all() for part in (r, held, J, C))
        step = _step(r, held, J, C) if known else np.full(x.size, np.nan)
        size = np.abs(step).max(initial=0)
        if not np.isfinite(size):
            raise DataError(
                f'record "{record.name}": sensors or constraints are not finite near the guess of '
                "the start. Move it."
            )
        if size <= SMALL * (1 + np.abs(x).max(initial=0)):
            break
        multipliers = np.linalg.lstsq(C.T, -J.T @ (r + J @ step), rcond=None)[0]
        price = max(2 * np.abs(multipliers).max(initial=0), LEAST_PRICE)
        before = 0.5 * r @ r + price * np.abs(held).sum()
        for halving in range(MOST_HALVINGS):
            there = x + step / 2**halving
            tried = residuals((yield there))
            if 0.5 * tried[0] @ tried[0] + price * np.abs(tried[1]).sum() < before:
                break
        else:
            break
        x, (r, held, J, C) = there, tried
    shown = float(np.sqrt(np.mean(r[: len(names)] ** 2)))
    if not shown < MOST_MISSED:
        raise DataError(
            f'record "{record.name}": no consistent state near the guess of the start shows its '
            f"first samples; the nearest misses by {shown:.2g} of how far the channels vary. Give "
            "another guess, fit.Start.from_channels(y, z), or start values of sensor parameters."
        )
    return x


def _step(r, held, J, C) -> np.ndarray:
    """The shortest `d` that minimises `|r + J d|` among those with `held + C d` smallest."""
    onto = -np.linalg.lstsq(C, held, rcond=None)[0]
    _, s, right = np.linalg.svd(C)
    rank = int(np.sum(s > 1e-10 * s.max(initial=0)))
    null = right[rank:].T
    return onto - null @ np.linalg.lstsq(J @ null, r + J @ onto, rcond=1e-8)[0]


def _sensors(model: Model, t: Any, like: Any, args: Any) -> tuple[tuple[str, ...], np.ndarray]:
    """The names of the sensors, and which of them show coordinates alone."""
    lam, psi = jax.tree.map(jnp.asarray, constraint_shapes(model.system, t, like[0], like[1], args))
    names = tuple(eqx.filter_eval_shape(model.observed, t, like[0], like[1], lam, psi, args))
    arrays, rest = eqx.partition((t, like[0], args), eqx.is_array)
    still = []
    for name in names:

        def shown(z, forces, arrays, name=name):
            t, y, args = eqx.combine(arrays, rest)
            return jnp.asarray(model.observed(t, y, z, forces[0], forces[1], args)[name])

        still.append(not depends_on(shown, like[1], (lam, psi), arrays, which=(0, 1)))
    return names, np.array(still)


def _beginning(record: Record, names: tuple[str, ...]):
    """Of each channel its value and slope at the start, how far it varies, and the time so used."""
    values, slopes, sizes = (np.full(len(names), x) for x in (np.nan, np.nan, 1.0))
    span = record.times[min(FIRST, record.num_samples) - 1] - record.times[0]
    for j, name in enumerate(names):
        channel = record.channels.get(name)
        if channel is None or not np.isfinite(channel).any():
            continue
        present = channel[np.isfinite(channel)]
        spread = float(np.std(present))
        sizes[j] = spread or float(np.abs(present).max(initial=0)) or 1.0
        first = channel[:FIRST]
        there = np.isfinite(first)
        if there.sum() < FEWEST:
            continue
        t = record.times[:FIRST][there] - record.times[0]
        # A parabola through few samples is as noisy as they are, and more at their end.
        degree = 2 if there.sum() > FEWEST + 1 else 1
        slopes[j], values[j] = np.polyfit(t / span, first[there], degree)[-2:]
        slopes[j] /= span
    return values, slopes, sizes, span


@compiled
def _linearised(model: Model, names: Any, ts: Any, like: Any, xs: Any, args: Any, axes: Any):
    """Of all records what sensors show and its rate; the constraints; and the Jacobians of both."""
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)
    split = jax.flatten_util.ravel_pytree(like[0])[0].size

    def of(x, t, args):
        y, z = x[:split], x[split:]
        flat, _, _ = flatten(model.system, t, unravel_y(y), unravel_z(z), args)

        def shown(t, y):
            own_y, own_z = unravel_y(y), unravel_z(z)
            lam, psi = forces(t, own_y, own_z)
            return model.channels(model.observed(t, own_y, own_z, lam, psi, args), names)

        def forces(t, y, z):
            shapes = jax.tree.map(jnp.asarray, constraint_shapes(model.system, t, y, z, args))
            if not model.needs_multipliers(t, y, z, shapes[0], shapes[1], args):
                return shapes
            found = multipliers(model.system, t, y, z, args)
            return found.lam, found.psi

        along = jnp.ones_like(t), flat.velocity(t, y, z)
        value, rate = jax.jvp(shown, (t, y), along)
        return jnp.concatenate([value, rate]), jnp.concatenate(flat_residuals(flat, t, y, z))

    def both(x, t, args):
        (shown, held), (J, C) = of(x, t, args), jax.jacfwd(of)(x, t, args)
        return shown, held, J, C

    return over(both, axes, xs, ts, args)


def slopes_of_sensors(problem: Any) -> list[tuple[str, str]]:
    """Pairs of channels of which, for the model, the second is the derivative of the first.

    Told by the sensors at consistent states beside the starts, with velocities of their own.
    """
    model, names = problem.model, problem.channels
    like, single = problem.like, problem.single
    args = model.args(
        single.args(single.start), {k: _first(v) for k, v in problem.data.inputs.items()}
    )
    t = problem.tangents.t[0]
    rng = np.random.default_rng(0)
    y, z = (np.asarray(part[0], float) for part in (problem.tangents.y, problem.tangents.z))
    along = np.asarray(problem.tangents.along_z[0], float)
    xs = [
        np.concatenate([y, z + along @ rng.standard_normal(along.shape[1])]) for _ in range(PROBES)
    ]
    shown = [_shown(model, names, t, like, jnp.asarray(x, t.dtype), args) for x in xs]
    values, rates = (np.stack([np.asarray(each[k]) for each in shown]) for k in (0, 1))
    found = []
    for i, angle in enumerate(names):
        for j, rate in enumerate(names):
            size = np.abs(rates[:, i]).max()
            if i != j and size > 0 and np.abs(rates[:, i] - values[:, j]).max() <= 1e-6 * size:
                found.append((angle, rate))
    return found


def _first(signals: Any) -> Any:
    return jax.tree.map(lambda x: x[0], signals)


@compiled
def _shown(model: Model, names: Any, t: Any, like: Any, x: Any, args: Any):
    """What sensors show, and its rate while velocities stay; without multipliers."""
    unravel_y, unravel_z = (jax.flatten_util.ravel_pytree(part)[1] for part in like)
    split = jax.flatten_util.ravel_pytree(like[0])[0].size
    y, z = x[:split], x[split:]
    flat, _, _ = flatten(model.system, t, unravel_y(y), unravel_z(z), args)

    def of(t, y):
        own_y, own_z = unravel_y(y), unravel_z(z)
        shapes = constraint_shapes(model.system, t, own_y, own_z, args)
        lam, psi = jax.tree.map(jnp.asarray, shapes)
        return model.channels(model.observed(t, own_y, own_z, lam, psi, args), names)

    return jax.jvp(of, (t, y), (jnp.ones_like(t), flat.velocity(t, y, z)))
