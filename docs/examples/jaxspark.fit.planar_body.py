import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

rod = fit.planar_body(2.0, [0.3, 0.0], 2.0 * 0.6**2 / 12)  # 2 kg, 0.6 m, from its hinge
made = fit.parametrise({"rod": rod}, num_trials=1)

print(made.names)
body = made.args(made.start)["rod"]
assert jnp.isclose(body.inertia_about(jnp.zeros(2)), 2.0 * 0.6**2 / 3)
