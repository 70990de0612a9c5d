import jax
import jax.numpy as jnp

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)

tyre = multibody.Torus(0.3, 0.03, axis=(0, 1, 0))  # radii of the wheel's rim and of the tube
wheel = multibody.Mechanism(
    [multibody.Body("wheel", 1.5, inertia=(0.07, 0.13, 0.07))],
    [multibody.Free("free", "ground", "wheel")],
    constraints=[multibody.Rolling("rolls", "ground", "wheel", tyre)],
    guess={"free": [0, 0, 0.33, 1, 0, 0, 0]},
)
lean = 0.4
leaning = [0, 0, 0.3, jnp.cos(lean / 2), jnp.sin(lean / 2), 0, 0]
y0, z0 = wheel.state(guess={"free": leaning})
R = wheel.pose("wheel", y0)[:3, :3]
height = wheel.position("wheel", y0)[2]
print(height)
assert abs(height - 0.3 * jnp.sqrt(1 - R[2, 1] ** 2) - 0.03) < 1e-12
