"""The fork record: both models, their intervals, what cannot be told apart, and the page."""

import pathlib
import tempfile
from collections.abc import Iterator

import jax.numpy as jnp

import jaxspark
from jaxspark import fit
from jaxspark._main._identify import identify
from jaxspark._main._record import load_record
from jaxspark._main._statistics import goodness

from .._figures import at_most, Figure, near, note
from ._fork import Fork, fork


def fork_model(one: Fork) -> fit.Model:
    """The model with an unknown start: the angle and its rate."""
    numbers = fit.parametrise(one.specs, 1)
    y, z = one.state(jnp.asarray(one.guess), numbers.args(numbers.start))
    return fit.Model(
        one.system, one.observe, one.specs, fit.Start(y, z), step=0.01,
        method=jaxspark.Gauss(2), title=one.name, points=_points, lines=((0, 1),),
    )  # fmt: skip


def _points(t, y, args):
    """The knife edge and the centre of mass."""
    del t, args
    return jnp.stack([jnp.zeros_like(y[:2]), y[:2]])


def fork_figures(tiny: bool) -> Iterator[Figure]:
    """With dry friction and without."""
    known = identify(load_record(), quiet=True)
    for dry in (True,) if tiny else (True, False):
        one = fork(dry)
        record = one.record.window(0.0, 2.0) if tiny else one.record
        found = fit.estimate(fork_model(one), record, progress=False, throw=False)
        yield Figure(f"{one.name}: converged", "True", found.message.rstrip("."), found.converged)
        for name, value, error in zip(found.names, found.vector, found.uncertainty.errors):
            yield note(f"{one.name}: {name}, standard error", f"{value:.6g}, {error:.2g}")
        if tiny:
            continue
        findings = found.findings()
        (channel,) = findings.trials[0].channels
        main_job = goodness(known.dry if dry else known.viscous).r_squared
        yield near(f"{one.name}: R^2, as in the main job", channel.r_squared, main_job, 1e-5)
        yield note(f"{one.name}: p-value of white residuals", f"{channel.whiteness.p_value:.2g}")
        told = "; ".join(findings.unidentifiable) or "all parameters"
        yield note(f"{one.name}: what the record tells", told.replace("|", "/"))
        yield at_most(f"{one.name}: worst constraint residual", findings.worst_residual, 1e-12)
        with tempfile.TemporaryDirectory() as folder:
            page = fit.write_report(findings, pathlib.Path(folder))
            yield at_most(f"{one.name}: size of the page, MB", page.stat().st_size / 1e6, 3.0)
