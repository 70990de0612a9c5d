"""Lowering for platforms that this machine need not have."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp

import jaxspark

from .._figures import Figure
from ..problems import pendulum


def export(tiny: bool) -> Iterator[Figure]:
    """`jax.export` of a rollout and of its gradient, for cpu, cuda and tpu."""
    del tiny
    problem = pendulum()

    def loss(y0):
        solution = jaxspark.rollout(
            problem.system, y0, problem.z0, problem.args, method=jaxspark.Gauss(2),
            h=0.01, num_steps=10, save_every=None, throw=False,
        )  # fmt: skip
        return jnp.sum(solution.y1**2)

    for name, function in (("rollout", loss), ("gradient", jax.grad(loss))):
        platforms = ("cpu", "cuda", "tpu")
        exported = jax.export.export(jax.jit(function), platforms=platforms)(problem.y0)
        back = jax.export.deserialize(exported.serialize())
        ok = bool(jnp.allclose(back.call(problem.y0), function(jnp.asarray(problem.y0))))
        yield Figure(f"jax.export of the {name}", "cpu, cuda, tpu", ", ".join(platforms), ok)
