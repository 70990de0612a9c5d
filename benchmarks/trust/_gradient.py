"""Certificates of gradients: faults that were planted are found, and none where there is none."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark.diagnostics import check_gradient, GradientCheck

from .._figures import at_least, at_most, Figure, note
from ..audit._mechanism import Mechanism
from ..audit._members import MECHANISMS
from ..audit._workers import fast_compilation, workers


TOLERANCE, ROWS, MAX_STEPS = 1e-8, 5, 4000
PLANTED = 60
# Of mechanisms that are smooth, in their order: in so many are faults planted.
HOSTS = 12


@jax.custom_jvp
def _wrong_rule(x):
    return x


@_wrong_rule.defjvp
def _(primals, tangents):
    return primals[0], 1.02 * tangents[0]


@jax.custom_vjp
def _wrong_transpose(x):
    return x


_wrong_transpose.defvjp(lambda x: (x, None), lambda _, change: (-change,))

FAULTS: dict[str, Callable[[Any], Any]] = {
    "a rule wrong by 2 %": _wrong_rule,
    "stop_gradient": jax.lax.stop_gradient,
    "stop_gradient of a part": lambda x: 0.7 * x + 0.3 * jax.lax.stop_gradient(x),
    "a kink": lambda x: x + 0.2 * jnp.abs(x - jax.lax.stop_gradient(x)),
    "an integer": lambda x: x + (jnp.round(1e3 * x) - 1e3 * x) * 1e-3,
}


def gradient(tiny: bool) -> Iterator[Figure]:
    """Of every smooth mechanism of the audit the certificate; of some with a fault in one leaf."""
    smooth = [name for name, member in MECHANISMS.items() if member.smooth and not member.stiff]
    if tiny:
        yield note(smooth[0], _certificate(MECHANISMS[smooth[0]]).leaves[0].verdict or "agree")
        return
    alarms, planted, missed = [], 0, []
    with fast_compilation(), workers() as pool:
        tasks = [(name, i < HOSTS) for i, name in enumerate(smooth)]
        for name, (verdicts, found) in zip(smooth, pool.map(_of_mechanism, tasks)):
            alarms += [f"{name}, {x}" for x in verdicts]
            planted += len(found)
            missed += [f"{name}, {fault}" for fault, seen in found.items() if not seen]
    for words in alarms:
        yield note("false alarm", words)
    for words in missed:
        yield note("missed", words)
    yield at_most(f"false alarms, {len(smooth)} mechanisms", len(alarms), 0, "d")
    yield at_least("planted faults", planted, PLANTED, "d")
    yield at_most("planted faults that were not found", len(missed), 0, "d")


def _of_mechanism(task: tuple[str, bool]) -> tuple[list[str], dict[str, bool]]:
    """The verdicts that are not good, and of each planted fault whether it was found."""
    name, plant = task
    mechanism = MECHANISMS[name]
    whole = _certificate(mechanism)
    verdicts = [f"{leaf.name}: {leaf.verdict}" for leaf in whole.leaves if leaf.verdict]
    verdicts += list(whole.remarks)
    found = {}
    if plant:
        strongest = max(whole.leaves, key=lambda leaf: leaf.growth).name
        for fault, spoil in FAULTS.items():
            check = _certificate(mechanism, strongest, spoil)
            found[fault] = any(leaf.name == strongest and leaf.verdict for leaf in check.leaves)
    jax.clear_caches()
    return verdicts, found


def _certificate(
    mechanism: Mechanism, spoiled: str = "", spoil: Callable[[Any], Any] = lambda x: x
) -> GradientCheck:
    start = mechanism.seeded(0)
    ts = np.linspace(0, mechanism.t1, ROWS + 1)[1:]

    def run(args):
        # A factor of all times is a parameter, too: some mechanisms have no other.
        args = jax.tree_util.tree_map_with_path(
            lambda path, x: spoil(x) if f"args{jax.tree_util.keystr(path)}" == spoiled else x, args
        )
        own = args["own"]
        at = jaxspark.project(mechanism.system, 0.0, start.y, start.z, own, throw=False)
        return jaxspark.solve(
            mechanism.system, at.y, at.z, own, t1=mechanism.t1 * args["time"],
            ts=ts * args["time"], rtol=TOLERANCE, max_steps=MAX_STEPS, consistency_tol=None,
            throw=False,
        )  # fmt: skip

    return check_gradient(run, {"own": start.args, "time": 1.0})
