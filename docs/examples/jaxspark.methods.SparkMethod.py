import jax
import jax.numpy as jnp
import numpy as np

import jaxspark


jax.config.update("jax_enable_x64", True)

tableau = jaxspark.methods.SparkTableau.build(
    "midpoint", 2, c=np.array([0.5]), b=np.array([1.0]), A=np.array([[0.5]])
)
midpoint = jaxspark.methods.SparkMethod(tableau)
spring = jaxspark.LagrangianSystem(lambda t, q, v, args: 0.5 * jnp.sum(v**2 - q**2))
q, v, _, info = jaxspark.step(spring, midpoint, 0.0, jnp.ones(1), jnp.zeros(1), 0.5)
print(q, v)
exact = (1 + 0.25j) / (1 - 0.25j)  # what it makes of exp(0.5j)
assert jnp.allclose(jnp.stack([q[0], -v[0]]), jnp.array([exact.real, exact.imag]))
