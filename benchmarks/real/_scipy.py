"""The same residuals by `scipy.optimize.least_squares`: with our Jacobian and with differences."""

import pathlib
import time
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import scipy.optimize

from jaxspark import fit

from .._figures import Figure, note
from ._arm_figures import geometry, LEFT_OUT, viscous
from ._arms import model, read


def beside_scipy(folder: pathlib.Path, tiny: bool = False) -> Iterator[Figure]:
    """The double arm with viscous friction, from the same start, to the same minimum."""
    pieces = read(folder, 2)
    records = [record for k, record in pieces.items() if k not in LEFT_OUT[2]]
    if tiny:
        records = [record.window(*record.times[[0, 20]]) for record in records[:1]]
    made = model(2, geometry(2) | viscous(2))
    begun = time.perf_counter()
    found = fit.estimate(made, records, progress=False, throw=False)
    ours = time.perf_counter() - begun
    yield note("double arm, ours: s, cold; iterations", f"{ours:.1f}; {len(found.history)}")
    # Scipy gets the noise that our fit has found: fixed weights.
    sums = {}
    for name, residuals, jacobian in _functions(found):
        begun = time.perf_counter()
        try:
            at = scipy.optimize.least_squares(
                residuals, np.asarray(found.problem.start), jacobian, method="lm", xtol=1e-10,
                max_nfev=2 if tiny else None,
            )  # fmt: skip
        except ValueError as error:
            # Residuals that are not finite, of a step to where the model cannot be simulated.
            yield note(f"double arm, scipy, {name}", f"stopped: {error}")
            continue
        seconds = time.perf_counter() - begun
        sums[name] = 2 * at.cost
        words = f"{seconds:.1f}; {at.nfev} and {at.njev}"
        yield note(f"double arm, scipy, {name}: s, cold; evaluations and Jacobians", words)
    least = float(np.sum(_functions(found)[0][1](np.asarray(found.state.u)) ** 2))
    for name, total in sums.items():
        ok = least <= total * (1 + 1e-6) or tiny
        what = f"double arm: our minimum over that of scipy, {name}"
        yield Figure(what, "<= 1 + 1e-6", f"1 {least / total - 1:+.2e}", ok)


def _functions(found: fit.Fit):
    """Weighted residuals and their Jacobian as functions of vectors."""
    problem, sigma = found.problem, np.asarray(found.state.sigma)
    present = np.asarray(problem.data.present)
    weights = np.broadcast_to(1 / sigma, present.shape)[present]
    from jaxspark.fit._predict import predict
    from jaxspark.fit._sensitivities import simulated

    measured = np.asarray(problem.data.measured)[present]
    local = problem.local()

    def residuals(u):
        values = np.asarray(predict(problem, jnp.asarray(u)).values)
        return weights * (values[present] - measured)

    def jacobian(u):
        own = np.asarray(simulated(problem, jnp.asarray(u)).jacobian)
        full = np.zeros((*present.shape, problem.size))
        for k, columns in enumerate(local):
            full[k][..., columns] = own[k]
        return weights[:, None] * full[present]

    return [("our Jacobian", residuals, jacobian), ("differences", residuals, "2-point")]
