"""The fit: from a model and records to estimates."""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from tqdm import tqdm

from ._before import checked_at
from ._checkpoint import fingerprint, load, save
from ._failure import check_unknowns, check_whole, why_not
from ._fit import Fit
from ._iteration import after, iterated
from ._levenberg import begin, minus_log_likelihood, State
from ._model import Model
from ._noise import initial_noise
from ._parametrise import parametrise
from ._problem import make_problem, Problem
from ._proposal import Options
from ._record import Record
from ._sensitivities import simulated
from ._shooting import shooting_problem
from ._spread import at_home, mesh_of, own_part, writes
from ._suitable import as_records, needing_inputs


class FitError(RuntimeError):
    """The error of a fit that failed; the message says how.

    - `fit`: the [`jaxspark.fit.Fit`][] that was reached, or `None`.
    """

    def __init__(self, message: str, fit: Fit | None = None):
        super().__init__(message)
        self.fit = fit


@needing_inputs()
def estimate(
    model: Model,
    records: Record | Sequence[Record],
    *,
    window: float | None = None,
    joined: bool = True,
    start: Any = None,
    max_iterations: int = 100,
    checkpoint: str | Path | None = None,
    progress: bool = True,
    throw: bool = True,
    devices: Any = None,
    check: bool = True,
) -> Fit:
    """Estimate the parameters of a model by least squares, or a robust loss, from records.

    It is the Levenberg-Marquardt method on exact Jacobians, by differentiation of the simulation:
    forward, or in reverse for more unknowns than samples. Unknown noise is part of the likelihood,
    channel by channel. Combinations of parameters that the data do not tell stay as they start;
    the iteration ends where the others are found, and `message` of the fit says how many these are.

    **Arguments:**

    - `model`: a [`jaxspark.fit.Model`][].
    - `records`: one [`jaxspark.fit.Record`][] for each trial.
    - `window`: multiple shooting with windows of this length (s), for long and for chaotic
        records: each has a start of its own, and that they join is a constraint of the fit.
    - `joined`: `False` for windows that need not join: what the model leaves out, a disturbance for
        instance, then spoils no more than one of them. Parameters with `per_trial=True` are those
        of each record, not of each window.
    - `start`: parameters to start from in place of the specifications' own: a tree structured as
        `parameters` of the model, or a vector of physical values in the order of `fit.names`.
    - `max_iterations`: evaluations of the model and its Jacobian, at least 1; the first is that
        of the start.
    - `checkpoint`: a file, written after every iteration. If it exists the fit goes on from
        there, and ends as if it had not been interrupted.
    - `progress`: whether to show a progress bar.
    - `throw`: whether to raise an error if it does not converge; otherwise look at `converged`
        and `message` of the fit.
    - `devices`: to split trials, or windows, over: a sequence of devices or a mesh, as for
        [`jaxspark.batch.over_devices`][]. By default one device has them all; if it is a CPU, its
        cores share the trials. The results are those of one device to rounding error. If the
        devices belong to several processes all of them call this with the same arguments, and get
        the same fit; `checkpoint` is a file that all can read, and the first writes.
    - `check`: whether to look at data and model first, as [`jaxspark.fit.check`][] does; what it
        says is `checked` of the fit, and the head of its report. Not with windows or devices, and
        not where a checkpoint goes on.

    **Returns:** a [`jaxspark.fit.Fit`][].

    **Raises:** `DataError` for records that do not suit the model or one another, or have too few
    samples; `ValueError` if there is nothing to estimate, or for a wrong option; `FitError` if
    the model cannot be simulated from the start, or, if `throw`, the iteration does not converge;
    `CheckpointError` if the checkpoint belongs to another fit.

    ??? cite "Reference"
        J. J. More, *The Levenberg-Marquardt algorithm: implementation and theory* (1978);
        H. G. Bock, *Recent advances in parameter identification techniques for O.D.E.* (1983).
    """
    begun = time.perf_counter()
    check_whole("max_iterations", max_iterations)
    if window is None and not joined:
        raise ValueError("joined=False is for windows: give their length, window= (s).")
    records = as_records(records)
    known, sigma = initial_noise(model, records)
    parameters = None
    if start is not None:
        parameters = parametrise(model.parameters, len(records)).unconstrained(start)
    if window is None:
        problem = make_problem(model, records)
    else:
        problem = shooting_problem(model, records, window, sigma, parameters, joined)
    mesh = mesh_of(devices)
    problem = dataclasses.replace(problem, mesh=mesh)
    check_unknowns(problem, known)
    u = problem.start
    if parameters is not None:
        u = u.at[: problem.shared.size].set(parameters)
    options = Options(jnp.asarray(known), jnp.ones(problem.size, bool))
    state = begin(problem, u, jnp.asarray(sigma), options)
    history: list[float] = []
    keep = None
    if checkpoint is not None:
        path = Path(checkpoint)
        name = fingerprint(problem, u)
        state, history = load(path, name, state) or (state, history)
        keep = functools.partial(save, path, name) if writes(mesh) else None
    checked = None
    if check and window is None and mesh is None and not history:
        at_start = simulated(problem, u)
        checked = checked_at(problem, records, u, jnp.asarray(sigma), at_start)
        state = after(problem, state, options, at_start)
        _note(state, options, history, keep)
    state = _iterate(problem, state, options, history, max_iterations, keep, progress)
    seconds = time.perf_counter() - begun
    state, problem = at_home(state, mesh), dataclasses.replace(problem, mesh=own_part(mesh))
    fit = Fit(
        model, tuple(records), problem, options, state, tuple(history), seconds, window, checked
    )
    return _verdict(fit, throw)


def _iterate(
    problem: Problem,
    state: State,
    options: Options,
    history: list[float],
    max_iterations: int,
    keep: Callable[[State, list[float]], None] | None,
    progress: bool,
) -> State:
    total = max(max_iterations - int(state.iteration), 0)
    with tqdm(total=total, desc="fit", unit="it", disable=not progress) as bar:
        bar.set_postfix_str("compiling, on first use")
        while not (bool(state.done) or bool(state.stuck)) and int(state.iteration) < max_iterations:
            state = iterated(problem, state, options)
            loss = _note(state, options, history, keep)
            bar.update()
            bar.set_postfix_str(f"loss {loss:.6g}")
    return state


def _note(state: State, options: Options, history: list[float], keep: Any) -> float:
    """Keep what an iteration has reached."""
    loss = float(minus_log_likelihood(state, options))
    if math.isfinite(loss):
        history.append(loss)
    if keep is not None:
        keep(state, history)
    return loss


def _verdict(fit: Fit, throw: bool) -> Fit:
    if not fit.history:
        raise FitError(why_not(fit.problem, fit.state.u, fit.records), None)
    if throw and not fit.converged:
        raise FitError(fit.message, fit)
    return fit
