import jax
import jax.numpy as jnp

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

times = jnp.linspace(0.0, 4.0, 41)
wrapped = (3 * times + jnp.pi) % (2 * jnp.pi) - jnp.pi  # a wheel, as its sensor shows it
record = fit.record(times, {"angle": wrapped}).unwrapped("angle")

earlier, later = record.split(0.75)
print(record.num_samples, record.duration, earlier.num_samples, record.window(1.0, 2.0).duration)
assert jnp.allclose(record.channels["angle"], 3 * times) and later.num_samples == 10
