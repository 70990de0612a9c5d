"""What `--help` says."""

import textwrap


MODEL = '''\
"""A pendulum: a bob at the end of a rod, with drag."""

import jax.numpy as jnp

import jaxspark
from jaxspark import fit


def lagrangian(t, q, v, args):  # of a bob of 1 kg, in Cartesian coordinates
    return 0.5 * jnp.sum(v**2) - 9.81 * q[1]


def rod(t, q, args):
    return jnp.linalg.norm(q) - args["length"]


def drag(t, q, v, args):
    return -args["drag"] * v


def observe(t, q, v, lam, psi, args):  # what the sensors show
    return {"angle": jnp.arctan2(q[0], -q[1]) + args["offset"]}


model = fit.Model(
    system=jaxspark.LagrangianSystem(lagrangian, holonomic=rod, force=drag),
    observe=observe,
    parameters={  # where the search starts
        "length": fit.positive(0.9, "m"),
        "drag": fit.positive(0.2, "N s/m"),
        "offset": fit.real(0.0, "rad", scale=0.1),
    },
    start=fit.Start(y=jnp.array([0.4, -0.8]), z=jnp.zeros(2)),  # a guess
    step=0.05,  # s, the longest
    title="A pendulum",
)
'''

CONFIG = """\
# trial = "run"        # a column that tells trials in one file apart
# delimiter = ";"      # between cells; default ","
# missing = "allow"    # empty cells of channels are missing samples

[time]
column = "t"           # s; default "time_s"

[channels]             # the model's channel = the column
angle = "encoder"

[units]
angle = "rad"

# [inputs]             # what drives the model: args["inputs"]["force"](t)
# force = "F"

# [noise]              # standard deviations that are known; others are estimated
# angle = 0.01

[fit]
max_iterations = 50
# window = 2.0         # s, multiple shooting: for long and for chaotic records
# held_out = ["c.csv"] # to be predicted only; relative to this file
# profiles = ["length"]
"""

DATA = """\
t,encoder
0.00,0.4817
0.05,0.4790
...
"""

FIT = """\
Identify the parameters of a mechanism from measurements.

The model is a Python file; measurements are CSV files, one for each trial. The estimates, with
confidence intervals, what the data do not tell, and how well the model explains and predicts
go to a page, report.html, with report.json for machines."""

CHECK = """\
Look at measurements and a model before a fit.

Gaps, outliers, saturated and stuck sensors, angles that wrap, wrong units and signs, rates that are
no derivative of angles; parameters without influence, combinations that the data do not tell, with
what to hold; records too long to be fitted as a whole."""

SIMULATE = """\
Simulate a model, or predict a measurement.

Times from --t0 to --t1: from the model's start, or the one that a report has found. A column
of times and one of each channel are written. With --data: at the times and with the inputs of
a measurement, to which the start, as far as it is unknown, is fitted; the measured channels are
written beside."""

FILES = """\
pendulum.py, or any MODEL.py, defines a jaxspark.fit.Model:

{model}
the CSV files, with a header; columns that are not asked for may hold anything:

{data}
channels.toml, if the columns are not called time_s and as the model's channels:

{config}
"""

FIT_REST = """\
examples:
  jaxspark fit pendulum.py swing.csv
  jaxspark fit pendulum.py a.csv b.csv --held-out c.csv --config channels.toml --out report
  jaxspark fit pendulum.py long.csv --window 2 --checkpoint fit.npz --profile all

  jaxspark fit robot.xml log.csv --identify bodies/hand --identify 'joints/*/damping'
  jaxspark fit robot.urdf log.csv --torques --save identified.urdf

A robot is an MJCF or URDF file (it needs MuJoCo: pip install 'jaxspark[robots]'). The header of
its measurements says what columns show; others are not read:

    t               time (s)
    q:JOINT         a joint's coordinate (rad, m); v:JOINT its velocity
    gyro:PLACE:x    a gyroscope on a body, or at a site or --place of it (rad/s); :y, :z
    acc:PLACE:x     an accelerometer there, which shows 9.81 upwards at rest (m/s^2)
    marker:PLACE:x  the position of a point (m)
    tau:JOINT       the torque or force of a motor (N m, N), an input
    i:JOINT         its current (A), an input; with --motor JOINT=NUMBER
    ctrl:ACTUATOR   the control of an actuator of the file, an input

Options override the configuration. With --checkpoint the fit can be stopped at any time, and
the same command goes on from there.

exit status: 0 success, 1 the fit failed or did not converge (a report is written if anything
was reached), 2 wrong arguments, data or model."""

SIMULATE_REST = """\
examples:
  jaxspark simulate pendulum.py --t1 10 --dt 0.01 --set length=0.4 --out sim.csv
  jaxspark simulate pendulum.py --t1 10 --report report/report.json > sim.csv
  jaxspark simulate pendulum.py --data c.csv --report report/report.json --out predicted.csv

MODEL.py, the CSV files and the configuration are as in  jaxspark fit --help.

exit status: 0 success, 1 the simulation failed, 2 wrong arguments, data or model."""


def fit_epilog() -> str:
    """Of `jaxspark fit`: the files, complete, and examples."""
    indented = {
        name: textwrap.indent(text, "    ")
        for name, text in (("model", MODEL), ("data", DATA), ("config", CONFIG))
    }
    return FILES.format(**indented) + FIT_REST
