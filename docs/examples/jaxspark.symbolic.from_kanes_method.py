import jax
import jax.numpy as jnp
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

import jaxspark
from jaxspark import symbolic


jax.config.update("jax_enable_x64", True)

kane = n_link_pendulum_on_cart(2, cart_force=True)  # SymPy's, with a force F on the cart
mechanism = symbolic.from_kanes_method(
    kane,
    parameters={"g": 9.81, "m0": 1.0, "m1": 0.5, "m2": 0.5, "l0": 0.4, "l1": 0.3, "gain": 2.0},
    inputs={"F": lambda t, y, z, args: args["gain"] * jnp.sin(3 * t) - 0.1 * z[0]},
)
y0, z0 = mechanism.state({"q1": 0.2, "q2": 0.1})
end = lambda args: jaxspark.solve(mechanism.system, y0, z0, args, t1=1.0, rtol=1e-8).y1
print(mechanism.coordinates(end(mechanism.parameters)))
print(jax.jacobian(end)(mechanism.parameters)["gain"])
