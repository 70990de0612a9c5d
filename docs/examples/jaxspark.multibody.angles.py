import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

half = 0.25 * jnp.pi
quarter_turn = jnp.array([jnp.cos(half), 0.0, 0.0, jnp.sin(half)])  # about z, as (w, x, y, z)
yaw, pitch, roll = multibody.angles(quarter_turn, "ZYX")
print(jnp.rad2deg(jnp.array([yaw, pitch, roll])))
assert abs(yaw - jnp.pi / 2) < 1e-15 and abs(pitch) < 1e-15 and abs(roll) < 1e-15
