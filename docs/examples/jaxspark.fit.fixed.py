import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

held = {"mass": fit.fixed(3.22, "kg"), "inertia": fit.positive(0.2, "kg m^2")}
made = fit.parametrise(held, num_trials=1)

print(made.names, made.fixed)  # estimated, and held but listed
assert made.names == ("inertia",) and made.args(made.start + 1)["mass"] == 3.22
