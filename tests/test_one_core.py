"""Programs run where the process has one core: containers, batch queues, benchmarks."""

import os
import subprocess
import sys

import pytest


PROGRAM = """
import os
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
import jax, jax.numpy as jnp, jaxspark
jax.config.update("jax_enable_x64", True)

def swings(count):
    # So many double pendulums; from eight on dense matrices are LAPACK's.
    system = jaxspark.LagrangianSystem(
        lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * jnp.sum(q[..., 1]),
        holonomic=lambda t, q, args: (
            jnp.linalg.norm(jnp.diff(q, axis=1, prepend=0.0), axis=2) - 1.0
        ),
    )
    first = jnp.tile(jnp.array([1.0, 0.0]), (count, 1))
    q = jnp.stack([first, 2 * first], 1)
    return jaxspark.solve(system, q, jnp.zeros_like(q), t1=0.2).y1

many, one = swings(8), swings(1)
assert jnp.max(jnp.abs(many - one)) <= 1e-6

system = jaxspark.MechanicalSystem(
    lambda t, y, args: jnp.eye(2),
    lambda t, y, z, args: jnp.array([0.0, -9.81]),
    holonomic=lambda t, y, args: jnp.linalg.norm(y) - 1.0,
)
end = jaxspark.solve(system, jnp.array([1.0, 0.0]), jnp.zeros(2), t1=0.2)
assert jnp.abs(jnp.linalg.norm(end.y1) - 1.0) <= 1e-14
"""


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no processes")
def test_dense_and_small_systems():
    """XLA compiles differently there, and has lost what says how LAPACK is to be called."""
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
