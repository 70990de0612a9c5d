"""What the first call costs: tracing, compiling, and running a pendulum for 10 s."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from .._figures import at_most, Figure


PROGRAM = """
import json, time
import jax, jax.numpy as jnp, jaxspark
jax.config.update("jax_enable_x64", True)
from benchmarks.speed._pendulums import system
method = jaxspark.Composition(jaxspark.Lobatto(2), 8)
y0, z0, length = jnp.array([1.0, 0.0]), jnp.zeros(2), jnp.ones(())

def loss(z, length):
    end = jaxspark.rollout(
        system(), y0, z, length, method=method, t1=10.0, num_steps=125, save_every=None, throw=False
    )
    return jnp.sum(end.y1**2) + end.z1[0]

seconds = []
for function in (jax.jit(loss), jax.jit(jax.value_and_grad(loss, (0, 1)))):
    start = time.process_time()
    jax.block_until_ready(function(z0, length))
    seconds.append(time.process_time() - start)
print(json.dumps(seconds))
"""


def first_call(tiny: bool) -> Iterator[Figure]:
    """CPU seconds of the first value and the first gradient, in a process of their own."""
    if tiny:
        return
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, check=True, capture_output=True
    )
    value, gradient = json.loads(done.stdout)
    what = "pendulum, RATTLE composed to order 8, 125 steps: CPU s of the first"
    yield at_most(f"{what} value", value, 2, ".2f")
    yield at_most(f"{what} gradient", gradient, 4, ".2f")
