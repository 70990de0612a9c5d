import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


def rope(count):
    return jaxspark.MultibodySystem(
        mass=lambda t, y, own, args: jnp.ones(2),
        force=lambda t, y, z, own, args: jnp.array([0.0, -9.81]),
        joints=jaxspark.Joint(
            lambda t, y_a, y_b, own, args: jnp.linalg.norm(y_a - y_b, keepdims=True) - 0.1,
            [(i, i - 1) for i in range(count)],
        ),
    )


short, long = (
    jaxspark.linear.explain(rope(count), jnp.zeros((count, 2)), jnp.zeros((count, 2)))
    for count in (3, 100)
)
print(short, long, sep="\n\n")
assert "9 unknowns" in short and "100 blocks" in long and "tree" in long
