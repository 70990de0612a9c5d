import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

kepler = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) + 1 / jnp.linalg.norm(q)
)


def move(t, q, v, h, density=None):
    steps = jaxspark.StepDensity(lambda t, q, args: q @ q, h, 100, density)
    method = jaxspark.Gauss(2)
    return jaxspark.solve(kepler, q, v, t0=t, steps=steps, method=method, save_every=1)


q0, v0 = jnp.array([0.2, 0.0]), jnp.array([0.0, 3.0])  # an eccentric orbit
there = move(0.0, q0, v0, 0.1)
back = move(there.t1, there.y1, there.z1, -0.1, there.step_density)
sizes = jnp.diff(there.ts)
print(jnp.max(sizes) / jnp.min(sizes))
assert jnp.max(jnp.abs(back.y1 - q0)) < 1e-10 and jnp.max(sizes) > 20 * jnp.min(sizes)
