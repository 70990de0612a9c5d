import jax
import jax.numpy as jnp

import jaxspark


jax.config.update("jax_enable_x64", True)


class Spring(jaxspark.AbstractConstrainedSystem):
    stiffness: float  # a field: a solution can be differentiated by it

    v = p = g = r = k = reaction = friction = None

    def f(self, t, y, z, args):
        return -self.stiffness * y


def end(stiffness):
    return jaxspark.solve(Spring(stiffness), jnp.ones(1), jnp.zeros(1), t1=1.0, rtol=1e-9).y1[0]


slope = jax.grad(end)(4.0)
print(slope)
assert abs(slope + jnp.sin(2.0) / 4) < 1e-6  # of cos(sqrt(k) t) at t = 1
