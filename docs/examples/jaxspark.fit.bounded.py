import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

unknown = {"efficiency": fit.bounded(0.5, 0.0, 1.0)}
made = fit.parametrise(unknown, num_trials=1)

low, middle, high = (made.physical(made.start + step)[0] for step in (-9.0, 0.0, 9.0))
print(low, middle, high)  # whatever the search tries
assert 0 < low < middle == 0.5 < high < 1
