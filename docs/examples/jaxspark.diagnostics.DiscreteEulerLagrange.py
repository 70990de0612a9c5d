import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)

bead = jaxspark.LagrangianSystem(  # on a straight wire
    lambda t, q, v, args: 0.5 * jnp.sum(v**2), nonholonomic=lambda t, q, v, args: v[1] - v[0]
)
ts = jnp.array([0.0, 0.1, 0.2, 0.3])
along, off = jnp.stack([ts, ts], 1), jnp.stack([ts, 2 * ts], 1)
on_it, beside = (
    jaxspark.diagnostics.discrete_euler_lagrange(bead, jaxspark.Gauss(1), ts, qs)
    for qs in (along, off)
)
print(on_it.residual, on_it.constraint, beside.constraint)
assert on_it.residual.shape == (2, 2) and on_it.actions.L_d.shape == (3,)
assert jnp.max(jnp.abs(on_it.residual)) < 1e-13 and jnp.max(jnp.abs(on_it.constraint)) < 1e-13
assert jnp.allclose(beside.constraint, 1.0)  # a velocity, for each step
