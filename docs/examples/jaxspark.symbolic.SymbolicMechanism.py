import jax
import jax.numpy as jnp
import sympy
from sympy.physics.mechanics import dynamicsymbols

import jaxspark
from jaxspark import symbolic


jax.config.update("jax_enable_x64", True)

t = dynamicsymbols._t
x, y = dynamicsymbols("x y")
m = sympy.Symbol("m")
L = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - 9.81 * m * y
wire = symbolic.from_lagrangian(L, [x, y], holonomic=[y - x**2], parameters={m: 1.0})
print(wire)
y0, z0 = wire.state({x: 1.0}, {x: -0.5})  # y and its velocity follow
assert jnp.allclose(y0, jnp.array([1.0, 1.0])) and jnp.allclose(z0, jnp.array([-0.5, -1.0]))
motion = jaxspark.solve(wire.system, y0, z0, wire.parameters, t1=1.0)
print(wire.coordinates(motion.y1)["x"], wire.velocities(motion.z1)["x"])
