"""Order slopes with variable mass matrix and rheonomic constraints, of one and both kinds."""

import functools
import itertools
from collections.abc import Iterator

import jax
import numpy as np

import jaxspark

from .._figures import Figure, near, note
from .._orders import integrator, ROUNDING, slopes, States
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


def combinations(tiny: bool) -> Iterator[Figure]:
    """All combinations of families with three stages: those whose slope is farthest from 4."""
    problem, (t_end, steps) = mixed(), (1.0, (10, 20, 40))
    exact = reference(problem, t_end)
    everything = itertools.product("A B C C* D".split(), "A B C C* D".split(), "B C C* D".split())
    found = []
    for y, f, psi in list(everything)[:1] if tiny else everything:
        method = jaxspark.Lobatto(3, y=y, f=f, psi=psi)
        found.append(slopes(problem, method, t_end, steps, exact)[:2])
        jax.clear_caches()
    for name, each in zip(("y", "z"), np.array(found).T, strict=True):
        farthest = each[np.argmax(np.abs(each - 4))]
        what = f"order of {name}, mixed, farthest of {len(each)} combinations, Lobatto, s = 3"
        yield near(what, farthest, 4, 0.15)


def orders(tiny: bool) -> Iterator[Figure]:
    """The slopes against `2 s - 2`."""
    problems = {"nonholonomic": mixed(holonomic_too=False), "mixed": mixed()}
    for kind, problem in problems.items():
        exact = functools.cache(functools.partial(reference, problem))
        cases = [(family, s) for s in SWEEPS for family in FAMILIES]
        for family, s in cases[:1] if tiny else cases:
            method, (t_end, steps) = lobatto(family, s), SWEEPS[s]
            # References of different step sizes agree to 4e-15, also for five stages.
            rounding = 2e-13 if s == 5 else ROUNDING
            measured = slopes(problem, method, t_end, steps, exact(t_end), rounding)
            for name, slope in zip(("y", "z", "multipliers"), measured, strict=True):
                what = f"order of {name}, {kind}, Lobatto {family}, s = {s}"
                if s == 5 and name == "multipliers":
                    # At 2 s the leading terms of their errors nearly cancel for some families.
                    yield note(what, f"{slope:.3f}")
                else:
                    yield near(what, slope, method.order, 0.15)
            jax.clear_caches()
