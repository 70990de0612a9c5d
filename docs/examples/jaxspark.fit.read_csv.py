import pathlib

import jax

from jaxspark import fit


jax.config.update("jax_enable_x64", True)

pathlib.Path("swing.csv").write_text("time_s,phi,torque\n0,0.3,1\n0.1,0.2,2\n0.2,,3\n")
record = fit.read_csv(
    "swing.csv",
    channels={"angle": "phi"},
    inputs=["torque"],
    units={"angle": "rad"},
    missing="allow",
)
print(record, record.channels["angle"])
assert record.name == "swing" and record.inputs["torque"].tolist() == [1, 2, 3]
