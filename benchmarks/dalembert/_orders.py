"""Order slopes with variable mass matrix and rheonomic constraints, of one and both kinds."""

from collections.abc import Iterator

import jax

import jaxspark

from .._figures import Figure, near
from .._orders import integrator, slopes
from ..problems import mixed
from ._families import FAMILIES, lobatto


# Number of steps of the sweep, inside the asymptotic regime and above rounding error.
STEPS = {2: (80, 160, 320), 3: (40, 60, 90), 4: (20, 24, 30), 5: (14, 16, 18)}
T_END = 2.0


def orders(tiny: bool) -> Iterator[Figure]:
    """The slopes against `2 s - 2`."""
    problems = {"nonholonomic": mixed(holonomic_too=False), "mixed": mixed()}
    for kind, problem in problems.items():
        reference = integrator(problem, jaxspark.Gauss(6), T_END)(10 if tiny else 40)
        sweeps = [(family, s) for s in STEPS for family in FAMILIES]
        for family, s in sweeps[:1] if tiny else sweeps:
            method = lobatto(family, s)
            measured = slopes(problem, method, T_END, STEPS[s], reference)
            for name, slope in zip(("y", "z", "multipliers"), measured, strict=True):
                what = f"order of {name}, {kind}, Lobatto {family}, s = {s}"
                yield near(what, slope, method.order, 0.15)
            jax.clear_caches()
