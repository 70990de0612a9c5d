import jax
import pandas

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

log = {"time_s": [0.0, 0.0, 0.1, 0.1], "angle": [0.3, 0.5, 0.2, 0.4], "run": [1, 2, 1, 2]}
first, second = fit.from_dataframe(
    pandas.DataFrame(log), channels=["angle"], trial="run", units={"angle": "rad"}
)
print(first, second.name)
assert second.channels["angle"].tolist() == [0.5, 0.4] and second.times.tolist() == [0.0, 0.1]
