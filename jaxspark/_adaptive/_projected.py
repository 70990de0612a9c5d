"""Solvers of diffrax on the underlying ODE, each of whose steps is projected."""

from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
from diffrax import AbstractSolver, AbstractWrappedSolver

from .._consistent import project_nearby
from .._custom_types import Args, BoolScalar, State
from .._system import AbstractConstrainedSystem
from ._ravelled import ravelled, ravelled_interpolation
from ._term import Point, point
from ._underlying import underlying_ode


class UnderlyingTerm(diffrax.ODETerm):
    """The underlying ODE of a constrained system as a term, for states `(y, z)`.

    For any solver of diffrax, inside [`jaxspark.Projected`][] if the constraints are to hold.

    **Arguments:**

    - `system`: the constrained system.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.1 (1.46).
    """

    system: AbstractConstrainedSystem

    def __init__(self, system: AbstractConstrainedSystem):
        super().__init__(underlying_ode(system))
        self.system = system


class Projected(AbstractWrappedSolver):
    """A solver of diffrax, each of whose steps ends with a projection onto the constraints.

        diffrax.diffeqsolve(
            jaxspark.UnderlyingTerm(system), jaxspark.Projected(diffrax.Dopri8()),
            t0, t1, None, (y0, z0), args, stepsize_controller=jaxspark.PIController(rtol, atol),
        )

    The best choice among explicit methods, for motions that are not stiff and not too long.
    At times saved by `diffrax.SaveAt(ts=...)` and at events the constraints hold as far as the
    solver's interpolation is accurate: [`jaxspark.project`][] in `diffrax.SaveAt(fn=...)` helps.
    Not for `diffrax.BacksolveAdjoint`. A step whose projection fails is rejected.

    **Arguments:**

    - `solver`: for instance `diffrax.Tsit5()`.

    Source: E. Hairer, Ch. Lubich & G. Wanner, *Geometric Numerical Integration*, IV.4.
    """

    solver: AbstractSolver

    @property
    def term_structure(self) -> Any:
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:
        return ravelled_interpolation(self.solver.interpolation_cls)

    @property
    def term_compatible_contr_kwargs(self) -> Any:
        return self.solver.term_compatible_contr_kwargs

    # What diffrax looks for in a solver that says to be like the one inside.
    @property
    def scan_kind(self) -> Any:
        return self.solver.scan_kind  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def root_finder(self) -> Any:
        return self.solver.root_finder  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def root_find_max_steps(self) -> Any:
        return self.solver.root_find_max_steps  # pyright: ignore[reportAttributeAccessIssue]

    def order(self, terms: Any) -> int | None:
        """That of the solver."""
        return self.solver.order(terms)

    def error_order(self, terms: Any) -> Any:
        """That of the solver."""
        return self.solver.error_order(terms)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Any, args: Args) -> Any:
        """That of the solver."""
        vector, term, _ = ravelled(terms, y0)
        return self.solver.init(term, t0, t1, vector, args)

    def func(self, terms: Any, t0: Any, y0: Any, args: Args) -> Any:
        """That of the solver."""
        return self.solver.func(terms, t0, y0, args)

    def step(
        self,
        terms: Any,
        t0: Any,
        t1: Any,
        y0: Any,
        args: Args,
        solver_state: Any,
        made_jump: Any,
    ) -> tuple[Any, Any, Any, Any, diffrax.RESULTS]:
        """A step of the solver, and a consistent state next to its end."""
        if not isinstance(y0, (tuple, list)) or len(y0) != 2:
            raise TypeError(
                "jaxspark.Projected needs the pair (y, z) as its state. It cannot be nested, nor "
                "run backward by diffrax.BacksolveAdjoint, whose states satisfy no constraints."
            )
        vector, ravelled_term, unravel = ravelled(terms, y0)
        end, error, inside, state, result = self.solver.step(
            ravelled_term, t0, t1, vector, args, solver_state, made_jump
        )
        y1, z1 = unravel(end)
        term, time = terms, jnp.asarray(t1)
        while not isinstance(term, UnderlyingTerm):
            if not hasattr(term, "term"):
                raise TypeError("jaxspark.Projected needs jaxspark.UnderlyingTerm as its term.")
            # diffrax counts time upward; its wrapper knows the direction.
            time = time * getattr(term, "direction", 1)
            term = term.term
        start = point(term.system, time, y0[0], y0[1], args)
        y, z, good = _projected(point(term.system, time, y1, z1, args), start)
        if error is not None:
            error = unravel(jnp.where(good, error, jnp.inf))
        failed: Any = diffrax.RESULTS.nonlinear_divergence
        result = diffrax.RESULTS.where(good, result, failed)
        return (y, z), error, dict(inside=inside, like=y0), state, result


@eqx.filter_jit
def _projected(at: Point, start: Point) -> tuple[State, State, BoolScalar]:
    """A consistent state nearby; whether there is one. A step that overflowed has none."""
    flat, y, z = at.flat()
    _, y0, z0 = start.flat()
    finite = jnp.all(jnp.isfinite(y)) & jnp.all(jnp.isfinite(z))
    y, z = (jnp.where(finite, a, b) for a, b in ((y, y0), (z, z0)))
    y, z, good = project_nearby(flat, at.t, y, z)
    return flat.unravel_y(y), flat.unravel_z(z), good & finite
