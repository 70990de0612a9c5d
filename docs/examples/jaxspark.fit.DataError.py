import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

try:
    fit.record([0.0, 0.1, 0.1], {"angle": [0.3, 0.2, 0.1]})
except fit.DataError as error:
    message = str(error)
print(message)  # where, why, and what to do
assert "0.1 twice" in message
