import jax
import sympy
from sympy.physics.mechanics import dynamicsymbols

import jaxspark
from jaxspark import symbolic


jax.config.update("jax_enable_x64", True)

t = dynamicsymbols._t
x, y = dynamicsymbols("x y")
m, g, length = sympy.symbols("m g length")
pendulum = symbolic.from_lagrangian(
    m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y,
    [x, y],
    holonomic=[sympy.Eq(x**2 + y**2, length**2)],
    parameters={m: 1.0, g: 9.81, length: 1.0},
)
y0, z0 = pendulum.state({x: 0.1}, {x.diff(t): 0.2}, guess={y: -1.0})
motion = jaxspark.solve(pendulum.system, y0, z0, pendulum.parameters, t1=2.0, rtol=1e-9)
assert motion.stats.max_g < 1e-14
energy = lambda y, z: (z @ z) / 2 + 9.81 * y[1]
assert abs(energy(motion.y1, motion.z1) - energy(y0, z0)) < 1e-7
