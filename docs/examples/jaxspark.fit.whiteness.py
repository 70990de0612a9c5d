import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

noise = jax.random.normal(jax.random.key(0), (1000,))
coloured = jax.lax.scan(lambda x, e: (0.8 * x + e, 0.8 * x + e), 0.0, noise)[1]

white, other = fit.whiteness(noise), fit.whiteness(coloured)
print(white.p_value, other.p_value, other.autocorrelation[:4])
assert white.p_value > 0.01 > other.p_value and abs(other.autocorrelation[1] - 0.8) < 0.1
