"""Order slopes with variable mass matrix and rheonomic constraints, of one and both kinds."""

import functools
from collections.abc import Iterator

import jax

import jaxspark

from .._figures import Figure, near
from .._orders import integrator, slopes, States
from ..problems import mixed, Problem
from ._families import FAMILIES, lobatto


# End time and numbers of steps, inside the asymptotic regime and above rounding error.
SWEEPS = {
    2: (1.0, (40, 80, 160)),
    3: (1.0, (20, 30, 45)),
    4: (1.0, (10, 12, 15)),
    5: (2.0, (14, 16, 18)),
}


def reference(problem: Problem, t_end: float) -> States:
    """The state at `t_end`, to rounding error."""
    return integrator(problem, jaxspark.Gauss(6), t_end)(40)


def orders(tiny: bool) -> Iterator[Figure]:
    """The slopes against `2 s - 2`."""
    problems = {"nonholonomic": mixed(holonomic_too=False), "mixed": mixed()}
    for kind, problem in problems.items():
        exact = functools.cache(functools.partial(reference, problem))
        cases = [(family, s) for s in SWEEPS for family in FAMILIES]
        for family, s in cases[:1] if tiny else cases:
            method, (t_end, steps) = lobatto(family, s), SWEEPS[s]
            measured = slopes(problem, method, t_end, steps, exact(t_end))
            for name, slope in zip(("y", "z", "multipliers"), measured, strict=True):
                what = f"order of {name}, {kind}, Lobatto {family}, s = {s}"
                yield near(what, slope, method.order, 0.15)
            jax.clear_caches()
