"""Many trajectories at once by diffrax: of an equation in minimal coordinates, and the KKT ODE."""

from collections.abc import Callable
from typing import Any

import diffrax
import jax
import jax.numpy as jnp

from ._kkt import kkt_ode
from ._mechanism import Mechanism, Scalars


MAX_STEPS = 100_000


def reduced_lanes(
    field: Callable[[Scalars, Any], Scalars],
    expand: Callable[[Scalars, Any], tuple[Scalars, Scalars]],
    t_end: float,
    tolerance: float,
    solver: diffrax.AbstractSolver = diffrax.Dopri8(),
    **control: float,
) -> Callable[[Any, Any], Any]:
    """A function of states and parameters, one row each, that returns all ends.

    **Arguments:**

    - `field`: the derivatives of a state, from the state and the parameters.
    - `expand`: coordinates and velocities, from the same.
    - `solver`, `control`: of diffrax, and how its `PIDController` is to differ from the default.

    **Returns:** coordinates and velocities joined, a row for each trajectory.
    """

    def run(x: Any, p: Any) -> Any:
        reduced = lambda t, x, p: jnp.stack(field(list(x), p))
        end = _end(reduced, x, p, t_end, tolerance, solver, **control)
        q, v = expand(list(end), p)
        return jnp.stack([*q, *v])

    return jax.vmap(run)


def drifting_lanes(
    make: Callable[[Any], Mechanism], t_end: float, tolerance: float
) -> Callable[[Any, Any], Any]:
    """The same for states `(q, v)`, joined, of mechanisms made of their parameters."""

    def run(x: Any, p: Any) -> Any:
        return _end(lambda t, x, p: kkt_ode(make(p))(t, x, None), x, p, t_end, tolerance)

    return jax.vmap(run)


def _end(
    field: Any,
    x: Any,
    p: Any,
    t_end: float,
    tolerance: float,
    solver: diffrax.AbstractSolver = diffrax.Dopri8(),
    **control: float,
) -> Any:
    controller = diffrax.PIDController(rtol=tolerance, atol=tolerance, **control)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field), solver, 0.0, t_end, None, x, p, max_steps=MAX_STEPS,
        stepsize_controller=controller,
    )  # fmt: skip
    assert solution.ys is not None
    return solution.ys[-1]
