import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt

import jaxspark


jax.config.update("jax_enable_x64", True)

pendulum = jaxspark.LagrangianSystem(
    lambda t, q, v, args: 0.5 * jnp.sum(v**2) - 9.81 * q[1],
    holonomic=lambda t, q, args: jnp.linalg.norm(q) - 1.0,
)
start = jnp.array([1.0, 0.0]), jnp.zeros(2)
motion = jaxspark.solve(pendulum, *start, t1=2.0, ts=jnp.linspace(0.0, 2.0, 41))
figure = jaxspark.pictures.plot(motion, pendulum, labels={"y[0]": "x (m)"})  # plt.show() shows it
titles = [axis.get_title(loc="left") for axis in figure.axes]
(x,) = (line for axis in figure.axes for line in axis.lines if line.get_label() == "x (m)")
print(titles)
plt.close(figure)
assert jnp.array_equal(x.get_ydata(), motion.ys[:, 0])
