"""Fits by stochastic gradients, for many parameters and long records."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
from tqdm import tqdm

from ._compile import compiled
from ._estimate import FitError
from ._failure import check_unknowns, check_whole
from ._fit import Fit
from ._iteration import iterated
from ._levenberg import begin
from ._log_density import trial_loss
from ._model import Model
from ._noise import initial_noise
from ._predict import predict_trial, start_of_trial
from ._problem import Problem
from ._proposal import Options
from ._record import Record
from ._shooting import shooting_problem
from ._spread import at_home, each, mesh_of, own_part
from ._suitable import as_records, needing_inputs


@needing_inputs()
def stochastic(
    model: Model,
    records: Record | Sequence[Record],
    *,
    window: float,
    steps: int,
    batch: int = 16,
    optimizer: optax.GradientTransformation | None = None,
    jump: float = 1e2,
    seed: int = 0,
    progress: bool = True,
    devices: Any = None,
) -> Fit:
    """Estimate by stochastic gradients over random windows of the records.

    It is for hundreds of parameters, as in neural networks: a step takes one reverse derivative.
    Windows have starts of their own, and jumps from one window to the next are penalised.

    **Arguments:**

    - `model`, `records`: as for [`jaxspark.fit.estimate`][]. Noise that is not given counts as a
        tenth of each channel's standard deviation on the way; at the end it is estimated from
        the residuals.
    - `window`: length of the windows (s).
    - `steps`: number of steps of the optimiser.
    - `batch`: number of windows in each step.
    - `optimizer`: one of optax. Default: Adam with a rate of 0.01, which falls as a cosine.
    - `jump`: weight of the squared jumps, in tangent coordinates of the state. Findings tell the
        largest jump that is left.
    - `seed`: that of the choice of windows.
    - `progress`: whether to show a progress bar.
    - `devices`: to split the windows of each step over, as for [`jaxspark.fit.estimate`][].

    **Returns:** a [`jaxspark.fit.Fit`][], which has not converged in the sense of
    [`jaxspark.fit.estimate`][]; that function, with `start=fit.parameters()`, may make it converge.
    Standard errors allow for how far the fit is from the minimum.

    **Raises:** as [`jaxspark.fit.estimate`][].
    """
    begun = time.perf_counter()
    check_whole("steps", steps)
    check_whole("batch", batch)
    records = as_records(records)
    known, sigma = initial_noise(model, records)
    sigma = np.where(known, sigma, 0.1 * sigma)
    mesh = mesh_of(devices)
    problem = shooting_problem(model, records, window, sigma)
    problem = dataclasses.replace(problem, mesh=mesh)
    check_unknowns(problem, known)
    if optimizer is None:
        optimizer = optax.adam(optax.cosine_decay_schedule(0.01, steps))
    u = problem.start
    memory, noise, random = optimizer.init(u), jnp.asarray(sigma), np.random.default_rng(seed)
    history = []
    with tqdm(total=steps, desc="fit", unit="it", disable=not progress) as bar:
        for _ in range(steps):
            count = min(batch, problem.num_trials)
            chosen = jnp.asarray(random.choice(problem.num_trials, count, replace=False))
            u, memory, value = _update(problem, optimizer, u, memory, chosen, noise, jump)
            history.append(float(value))
            if not np.isfinite(history[-1]):
                raise FitError("A window cannot be simulated: use shorter steps or windows.")
            bar.update()
            bar.set_postfix_str(f"loss {history[-1]:.6g}")
    options = Options(jnp.asarray(known), jnp.zeros(problem.size, bool))
    state = iterated(problem, begin(problem, u, noise, options), options)
    # Nothing is free: it has not converged, it has not been asked to.
    state = eqx.tree_at(lambda x: x.done, state, jnp.asarray(False))
    seconds = time.perf_counter() - begun
    state, problem = at_home(state, mesh), dataclasses.replace(problem, mesh=own_part(mesh))
    return Fit(model, tuple(records), problem, options, state, tuple(history), seconds)


@compiled
def _update(problem: Problem, optimizer: Any, u, memory, chosen, noise, jump):
    value, gradient = jax.value_and_grad(
        lambda u: batch_loss(problem, u, chosen, noise, jump)
    )(u)  # fmt: skip
    changes, memory = optimizer.update(gradient, memory, u)
    return optax.apply_updates(u, changes), memory, value


def batch_loss(problem: Problem, u, chosen, noise, jump):
    """The mean loss of some windows, jumps to the next included; an estimate of the whole."""
    pick = lambda tree, index: jax.tree.map(lambda x: x[index], tree)

    def one(shared, k):
        problem, u, noise, jump = shared
        local, following = jnp.asarray(problem.local()), _following(problem)
        after = following[k]
        at, next_at = pick(problem.tangents, k), pick(problem.tangents, jnp.maximum(after, 0))
        data, x = pick(problem.data, k), u[local[k]]
        end = predict_trial(problem, x, at, data)
        cost = trial_loss(problem, end, data, noise)
        x_next = u[local[jnp.maximum(after, 0)]]
        _, y, z, _ = start_of_trial(problem, x_next, next_at, data.inputs)
        start = next_at.coordinates(*(jax.flatten_util.ravel_pytree(part)[0] for part in (y, z)))
        gap = next_at.coordinates(end.y1, end.z1) - start
        return cost + jnp.where(after >= 0, 0.5 * jump * jnp.sum(gap**2), 0), end.good

    cost, good = each(one, problem.mesh, (problem, u, noise, jump), chosen)
    share = problem.num_trials / chosen.shape[0]
    prior = problem.shared.prior_residuals(u[: problem.shared.size])
    total = share * jnp.sum(cost) + 0.5 * jnp.sum(prior**2)
    return jnp.where(jnp.all(good), total, jnp.inf)


def _following(problem: Problem):
    """The window after each, -1 for none."""
    following = np.full(problem.num_trials, -1)
    for k in problem.links:
        following[k] = k + 1
    return jnp.asarray(following)
