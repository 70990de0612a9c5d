import tempfile

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark


jax.config.update("jax_enable_x64", True)

ball = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[0])


def height(speed):
    start = jnp.zeros(1), speed * jnp.ones(1)
    return jaxspark.solve(ball, *start, t1=1.0, throw=False).y1[0]


speeds = np.linspace(0.0, 10.0, 25)
with tempfile.TemporaryDirectory() as folder:
    run = jaxspark.batch.in_chunks(height, 10, folder=folder)
    heights = run(speeds)
    again = run(speeds)  # reads three files
print(heights)
assert np.array_equal(heights, again) and np.allclose(heights, speeds - 9.81 / 2)
