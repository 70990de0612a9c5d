"""Derivatives of every Lobatto family: those of the core, on the mixed problem."""

from collections.abc import Callable, Iterator

import jax
import numpy as np

from .._figures import at_most, Figure
from ..core._gradients import (
    batch_against_loop,
    differences,
    first_order,
    mixed_loss,
    mixed_theta,
    second_order,
)
from ._families import FAMILIES, lobatto


def family_loss(family: str, stages: int = 3) -> Callable[[jax.Array], jax.Array]:
    """The loss of the mixed problem by mass, drive, start time, step size and state."""
    method = lobatto(family, stages)
    return lambda theta: mixed_loss(theta, method)


def family_hessians(family: str, names=None, stages: int = 3) -> dict[str, float]:
    """Hessians inside the scan against differences of the gradient."""
    loss, theta = family_loss(family, stages), mixed_theta()
    expected = differences(jax.jit(jax.grad(loss)), theta)
    return second_order(loss, theta, (expected + expected.T) / 2, names)


def gradients(tiny: bool) -> Iterator[Figure]:
    """Forward, reverse, differences, second derivatives and batches."""
    theta = mixed_theta()
    for family in FAMILIES if not tiny else ["A-B-C*"]:
        loss, what = family_loss(family), f"Lobatto {family}, s = 3:"
        forward, numeric = first_order(loss, theta)
        yield at_most(f"gradient, {what} reverse against forward", forward, 1e-8)
        yield at_most(f"gradient, {what} reverse against differences", numeric, 1e-8)
        if tiny:
            return
        # Forward over forward never meets the adjoint: once is enough.
        modes = ["fwd(rev)", "rev(rev)"] + ["fwd(fwd)"] * (family == "A-B-C*")
        for mode, difference in family_hessians(family, modes, stages=2).items():
            words = f"Hessian in the scan, Lobatto {family}, s = 2: {mode} against differences"
            yield at_most(words, difference, 1e-7)
        batch = batch_against_loop(loss, np.asarray(theta))
        yield at_most(f"vmap(grad) against a loop, {what}", batch, 1e-12)
        jax.clear_caches()
