"""Systems from Kane's method of SymPy."""

from collections.abc import Mapping
from typing import Any

from ._equations import constraints, of_mass, without_inputs
from ._implied import not_implied
from ._lagrange import functions_of_time
from ._mechanism import SymbolicMechanism, values_of
from ._symbols import Symbols
from ._sympy import mechanics, sympy


def from_kanes_method(
    method: Any,
    *,
    parameters: Mapping[Any, Any] | None = None,
    inputs: Mapping[Any, Any] | None = None,
) -> SymbolicMechanism:
    r"""A mechanism from a `sympy.physics.mechanics.KanesMethod`.

        q' = v(t, q, u),   M u' = forces - (g_q v_u)^T lam - k_u^T psi
        0 = g(t, q),   0 = k(t, q, u)

    The velocities are all generalised speeds `u`, also those that the object calls dependent:
    constraints are kept, and nothing is eliminated. Its velocity constraints are `k`, without those
    that are derivatives of its configuration constraints `g`, and hold anyway; constraints on
    accelerations are their derivatives. `M` and the forces are Kane's for its bodies and loads as
    they are without constraints.

    **Arguments:**

    - `method`: the `KanesMethod`, with bodies and loads: given when it was made, or to
        `kanes_equations`. Of a `sympy.physics.mechanics.System` it is `system.eom_method`, after
        `system.form_eoms()`.
    - `parameters`, `inputs`: as for [`jaxspark.symbolic.from_lagrangian`][].

    **Returns:** the mechanism.

    **Raises:** `ModuleNotFoundError` without SymPy; `TypeError` if it is no `KanesMethod`;
    `ValueError` if it has auxiliary speeds, no kinematic differential equations or no bodies, and
    for the same reasons as [`jaxspark.symbolic.from_lagrangian`][].

    Source: T. R. Kane & D. A. Levinson, *Dynamics: Theory and Applications*, sections 4.11 and 6.1.
    """
    _require_complete(method)
    sp = sympy()
    inputs = dict(inputs or {})
    coordinates, speeds = list(method.q), list(method.u)
    symbols = Symbols(coordinates, speeds, functions_of_time(inputs, coordinates))
    rates = method.kindiffdict()
    v = [symbols.plain(rates[q.diff(symbols.time)], "kd_eqs") for q in coordinates]
    symbols.add({q.diff(symbols.time): rate for q, rate in zip(coordinates, v)})
    mass, forcing = _unconstrained(method, rates)
    M = mass.applyfunc(lambda x: symbols.plain(x, "mass matrix"))
    h = forcing.applyfunc(lambda x: symbols.plain(x, "forces"))
    g, k = constraints(symbols, list(method._f_h), _velocity_constraints(method))
    of_input = {s: name for name, s in symbols.inputs.items()}
    without_inputs(of_input, {"mass matrix": list(M), "kinematic differential equations": v})
    values = values_of(symbols, parameters or {})
    k = not_implied(symbols, sp.Matrix(v), g, k, values)
    same = v == list(symbols.z)
    equations = of_mass(symbols, None if same else sp.Matrix(v), M, h, g, k)
    return SymbolicMechanism(equations, parameters or {}, inputs)


def _require_complete(method: Any) -> None:
    if not isinstance(method, mechanics().KanesMethod):
        raise TypeError(f"method must be a KanesMethod of SymPy; got {type(method).__name__}.")
    if len(method._uaux):
        raise ValueError(
            f"The auxiliary speeds {list(map(str, method._uaux))} are for reactions, which the "
            "multipliers are here: make the KanesMethod without u_auxiliary."
        )
    if not len(method.mass_matrix_kin):
        raise ValueError("The KanesMethod has no kinematic differential equations: give kd_eqs.")
    if not method.bodies:
        raise ValueError(
            "The KanesMethod has no bodies: give them when it is made, or to kanes_equations."
        )


def _unconstrained(method: Any, rates: dict[Any, Any]) -> tuple[Any, Any]:
    """The mass matrix and the forces of Kane's equations of the same bodies without constraints."""
    free = mechanics().KanesMethod(
        method._inertial, q_ind=list(method.q), u_ind=list(method.u),
        kd_eqs=[rate - value for rate, value in rates.items()],
    )  # fmt: skip
    free.kanes_equations(method.bodies, method.loads or None)
    return free.mass_matrix, free.forcing


def _velocity_constraints(method: Any) -> list[Any]:
    """Those of the object, affine in the speeds."""
    if not len(method._k_nh):
        return []
    return list(method._k_nh * method.u + method._f_nh)
