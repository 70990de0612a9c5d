import jax
import sympy
from sympy.physics import mechanics

import jaxspark
from jaxspark import symbolic


jax.config.update("jax_enable_x64", True)

t = mechanics.dynamicsymbols._t
x, y, angle = mechanics.dynamicsymbols("x y angle")
m, J = sympy.symbols("m J")
skate = mechanics.LagrangesMethod(
    m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 + J * angle.diff(t) ** 2 / 2,
    [x, y, angle],
    nonhol_coneqs=[sympy.sin(angle) * x.diff(t) - sympy.cos(angle) * y.diff(t)],
)
mechanism = symbolic.from_lagranges_method(skate, parameters={m: 2.0, J: 0.1})
y0, z0 = mechanism.state({}, {x: 1.0, angle: 0.5})
motion = jaxspark.solve(mechanism.system, y0, z0, mechanism.parameters, t1=1.0)
end = mechanism.coordinates(motion.y1)
# It moves on a circle of radius 1 / .5.
assert abs(end["x"] ** 2 + (end["y"] - 2) ** 2 - 4) < 1e-5
