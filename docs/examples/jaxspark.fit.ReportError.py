import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

try:
    fit.from_json('{"schema": 99}')
except fit.ReportError as error:
    message = str(error)
print(message)
assert "schema" in message
