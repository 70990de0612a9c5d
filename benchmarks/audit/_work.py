"""Work of one version of jaxspark, as JSON: what `_against` runs with the version before, too.

`_against.PROGRAM` with steps or cost, and tiny or full; the version is that of PYTHONPATH.
"""

import json
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from ._cells import outcomes
from ._members import MECHANISMS
from ._methods import Method, METHODS


SMOOTH = ("pendulum", "snakeboard", "slider_crank", "appell_hamel", "rattleback", "heavy_top")
TOLERANCES = tuple(10.0**-k for k in range(4, 11))
# About as many as tolerances choose: with far smaller ones Newton would have little to do.
TIMED, STEPS, REPEATS = ("pendulum", "snakeboard"), 200, 100
TIMED_METHODS = ("Gauss(2)", "Gauss(3)", "Gauss(4)", "RadauIIA(3)", "Lobatto(4)")


def steps(tiny: bool) -> list[tuple[str, str, int, float, float]]:
    """Mechanism, method, seed, end error and steps, rejected ones included, of good runs."""
    names = SMOOTH[:1] if tiny else SMOOTH
    methods = list(METHODS.values())[: 1 if tiny else None]
    runs = outcomes(
        [MECHANISMS[name] for name in names],
        [method for method in methods if method.name != "GGL(RadauIIA(3))"],
        range(1 if tiny else 2), (1e-4, 1e-5, 1e-6) if tiny else TOLERANCES,
    )  # fmt: skip
    return [
        (x.mechanism, x.method, x.seed, x.error * x.tolerance, x.accepted + x.rejected)
        for x in runs
        if x.good
    ]


def cost(tiny: bool) -> dict[str, float]:
    """CPU seconds of a step, the least of several runs with equal steps, by mechanism and method.

    Tolerances so large that `max_step` alone determines the steps: what estimates errors runs,
    which it would not with a constant controller.
    """
    found = {}
    for name in TIMED[:1] if tiny else TIMED:
        for method in TIMED_METHODS[:1] if tiny else TIMED_METHODS:
            found[f"{name}, {method}"] = _seconds(name, METHODS[method], 2 if tiny else REPEATS)
        jax.clear_caches()
    return found


def _seconds(name: str, method: Method, repeats: int) -> float:
    mechanism = MECHANISMS[name]
    start = mechanism.seeded(0)
    size = mechanism.t1 / STEPS

    @jax.jit
    def run(y, z, args):
        solution = jaxspark.solve(
            mechanism.system, y, z, args, method=method.method, t1=mechanism.t1, rtol=1e3, atol=1e3,
            first_step=size, max_step=size, max_steps=None, throw=False,
        )  # fmt: skip
        return solution.stats.num_steps, solution.y1

    operands = jnp.asarray(start.y), jnp.asarray(start.z), start.args
    number = int(jax.block_until_ready(run(*operands))[0])
    if not STEPS <= number <= STEPS + 1:
        raise RuntimeError(f"{name} by {method.name}: {number} steps, not {STEPS}.")
    seconds = []
    for _ in range(repeats):
        begun = time.process_time()
        jax.block_until_ready(run(*operands))
        seconds.append(time.process_time() - begun)
    return float(np.min(seconds)) / number


def main() -> None:
    """Print one line of JSON, after anything else that is printed."""
    jax.config.update("jax_enable_x64", True)
    what, tiny = sys.argv[1], sys.argv[2] == "tiny"
    result = steps(tiny) if what == "steps" else cost(tiny)
    print(json.dumps({"from": jaxspark.__file__, "result": result}))


if __name__ == "__main__":
    main()
