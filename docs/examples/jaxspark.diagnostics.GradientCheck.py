import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


@jax.custom_jvp
def square(x):
    return x**2


square.defjvp(lambda x, dx: (x[0] ** 2, 3.0 * x[0] * dx[0]))  # wrong
check = jaxspark.diagnostics.check_gradient(
    lambda args: square(args["a"]) + jnp.sin(args["b"]), {"a": 2.0, "b": 1.0}
)
print(check)
verdicts = {leaf.name: leaf.verdict for leaf in check.leaves}
assert not check.good and [bool(verdict) for verdict in verdicts.values()] == [True, False]
