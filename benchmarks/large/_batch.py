"""Many short chains at once, by blocks and by a dense factorisation."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark

from .._figures import at_least, at_most, Figure, note
from ._chains import planar_chain
from ._integrate import small_step
from ._measure import call_seconds


def batch(tiny: bool) -> Iterator[Figure]:
    """Chains of 16 rods, of other masses in every lane; the bare solve is in `linear`."""
    lanes, links, steps = (2, 8, 2) if tiny else (256, 16, 20)
    model, h = planar_chain(links), small_step(links)
    shares = np.random.default_rng(0).uniform(0.5, 1.5, (lanes, links))
    masses = jnp.asarray(shares * model.args["masses"])

    def end(solver):
        def one(masses):
            solution = jaxspark.rollout(
                model.system, model.y0, model.z0,
                {**model.args, "masses": masses}, method=jaxspark.Gauss(2), h=h, num_steps=steps,
                save_every=None,
                linear_solver=solver, throw=False,
            )  # fmt: skip
            return solution.y1, solution.z1, solution.result == jaxspark.RESULTS.successful

        return jax.jit(jax.vmap(one))

    what = f"batch of {lanes} chains, N = {links}, {steps} steps of Gauss(2)"
    runs = {"blocks": end(None), "dense": end(jaxspark.linear.DenseLU())}
    (y, z, good), (other, speed, _) = (run(masses) for run in runs.values())
    succeed = int(jnp.sum(good))
    yield at_least(f"{what}: lanes that succeed", succeed, lanes, "d")
    apart = max(float(jnp.max(jnp.abs(a - b))) for a, b in ((y, other), (z, speed)))
    yield at_most(f"{what}: ends by blocks from those by the dense path", apart, 1e-10)
    ours, theirs = (call_seconds(run, masses, repeats=3) for run in runs.values())
    each = 1e6 / (lanes * steps)
    words = f"{each * ours:.4g}, {each * theirs:.4g}"
    yield note(f"{what}: CPU microseconds of a step of one lane, by blocks and dense", words)
    yield at_least(f"{what}: CPU time of the dense path over ours", theirs / ours, 4)
