"""Order slopes on the mixed problem: variable mass matrix, rheonomic constraints of both kinds."""

from collections.abc import Iterator

import jax

import jaxspark

from .._figures import Figure, near
from .._orders import integrator, slopes
from ..problems import mixed


# Number of steps of the sweep, inside the asymptotic regime and above rounding error.
GAUSS = {1: (80, 160, 320), 2: (40, 80, 160), 3: (28, 36, 44), 4: (12, 14, 16)}
RADAU = {2: (80, 160, 320), 3: (40, 60, 90), 4: (16, 20, 24)}
T_END = 2.0


def orders(tiny: bool) -> Iterator[Figure]:
    """The slopes against the orders."""
    problem = mixed()
    reference = integrator(problem, jaxspark.Gauss(6), T_END)(20 if tiny else 100)
    sweeps = [(jaxspark.Gauss(s), steps) for s, steps in GAUSS.items()]
    sweeps += [(jaxspark.RadauIIA(s), steps) for s, steps in RADAU.items()]
    for method, steps in sweeps[:1] if tiny else sweeps:
        measured = slopes(problem, method, T_END, steps, reference)
        for name, slope in zip(("y", "z", "multipliers"), measured, strict=True):
            yield near(f"order of {name}, {method}", slope, method.order, 0.15)
        jax.clear_caches()
