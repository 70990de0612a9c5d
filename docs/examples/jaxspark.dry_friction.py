import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def friction(t, q, v, load, args):
    along = jaxspark.dry_friction(v[0], load, args["mu"], slip_width=0.01, load_floor=0.01)
    return jnp.stack([along, jnp.zeros_like(along)])


block = jaxspark.MechanicalSystem(
    lambda t, q, args: jnp.eye(2),
    lambda t, q, v, args: jnp.array([0.0, -9.81]),
    holonomic=lambda t, q, args: q[1],  # the floor
    friction=friction,
)
q0, v0 = jnp.zeros(2), jnp.array([2.0, 0.0])
options = {"method": jaxspark.Lobatto(3), "steps": jaxspark.EqualSteps(20)}
motion = jaxspark.solve(block, q0, v0, {"mu": 0.1}, t1=1.0, **options)
print(motion.z1)
assert abs(motion.z1[0] - (2.0 - 0.1 * 9.81)) < 1e-3
