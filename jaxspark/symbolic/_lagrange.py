"""Systems from a Lagrangian of SymPy."""

from collections.abc import Mapping, Sequence
from typing import Any

from ._equations import constraints, of_momenta, without_inputs
from ._mechanism import SymbolicMechanism
from ._symbols import named, Symbols
from ._sympy import mechanics, sympy


def from_lagrangian(
    lagrangian: Any,
    coordinates: Sequence[Any],
    *,
    holonomic: Sequence[Any] = (),
    nonholonomic: Sequence[Any] = (),
    forces: Mapping[Any, Any] | Sequence[Any] = (),
    parameters: Mapping[Any, Any] | None = None,
    inputs: Mapping[Any, Any] | None = None,
) -> SymbolicMechanism:
    r"""A mechanism from a Lagrangian of SymPy, with constraints.

        d/dt L_v = L_q + forces - g_q^T lam - k_v^T psi,   0 = g(t, q),   0 = k(t, q, v)

    Expressions are of the coordinates, their derivatives `q.diff(t)`, the time and parameters.
    Constraints are given as expressions that are to be zero, or as `sympy.Eq`.

    **Arguments:**

    - `lagrangian`: an expression (J), not necessarily quadratic in the velocities.
    - `coordinates`: functions of the time, such as `sympy.physics.mechanics.dynamicsymbols("q")`,
        in the order that they have in the state.
    - `holonomic`: constraints on the coordinates; they may depend on time.
    - `nonholonomic`: constraints on the velocities; they may be nonlinear in them.
    - `forces`: generalised forces that have no potential, expressions by coordinates, or one for
        each of them (N, N m).
    - `parameters`: the value of each parameter, by symbol or name: numbers, or arrays for a
        `sympy.MatrixSymbol`. Others may be there, for inputs.
    - `inputs`: by functions of the time that are no coordinates, or by their names,
        `function(t, y, z, args)` of JAX for each. They may occur in forces and potentials.

    **Returns:** the mechanism, whose velocities are the derivatives of the coordinates.

    **Raises:** `ModuleNotFoundError` without SymPy; `ValueError` if an expression has what is
    unknown, a parameter has no value, a constraint is at the wrong level, or JAX has no counterpart
    of a function.

    Source: H. Goldstein, Ch. Poole & J. Safko, *Classical Mechanics*, 3rd edition, section 2.4.
    """
    coordinates, inputs = list(coordinates), dict(inputs or {})
    symbols = Symbols(coordinates, inputs=functions_of_time(inputs, coordinates))
    L = symbols.plain(lagrangian, "lagrangian")
    sp = sympy()
    Q = [symbols.plain(x, "forces") for x in _each(forces, symbols)]
    p = sp.Matrix([L.diff(z) for z in symbols.z])
    f = sp.Matrix([L.diff(y) + force for y, force in zip(symbols.y, Q)])
    g, k = constraints(symbols, holonomic, nonholonomic)
    without_inputs({s: name for name, s in symbols.inputs.items()}, {"momenta": list(p)})
    return SymbolicMechanism(of_momenta(symbols, p, f, g, k), parameters or {}, inputs)


def from_lagranges_method(
    method: Any,
    *,
    parameters: Mapping[Any, Any] | None = None,
    inputs: Mapping[Any, Any] | None = None,
) -> SymbolicMechanism:
    """A mechanism from a `sympy.physics.mechanics.LagrangesMethod`.

    Its Lagrangian, its constraints and the forces of its `forcelist` are taken;
    `form_lagranges_equations` need not have been called. Constraints are kept as constraints, and
    multipliers are those of SymPy's equations, `lam` and `psi` one after the other (in `rhs`, but
    not in `eom` and `solve_multipliers`, SymPy has them with the other sign).

    **Arguments:**

    - `method`: the `LagrangesMethod`.
    - `parameters`, `inputs`: as for [`jaxspark.symbolic.from_lagrangian`][].

    **Returns:** the mechanism.

    **Raises:** `TypeError` if it is no `LagrangesMethod`; else as
    [`jaxspark.symbolic.from_lagrangian`][].
    """
    if not isinstance(method, mechanics().LagrangesMethod):
        raise TypeError(f"method must be a LagrangesMethod of SymPy; got {type(method).__name__}.")
    holonomic = list(method._hol_coneqs)
    return from_lagrangian(
        method._L[0], list(method.q), holonomic=holonomic,
        nonholonomic=list(method.coneqs)[len(holonomic) :], forces=_generalised(method),
        parameters=parameters, inputs=inputs,
    )  # fmt: skip


def functions_of_time(inputs: Mapping[Any, Any], coordinates: Sequence[Any]) -> list[Any]:
    """The keys of `inputs`, with functions of time in place of their names.

    **Raises:** `TypeError` if a value is no function.
    """
    sp, found = sympy(), []
    for key, value in inputs.items():
        if not callable(value):
            raise TypeError(
                f"Input {named(key)!r} must be a function (t, y, z, args); got "
                f"{type(value).__name__}."
            )
        if isinstance(key, str) and coordinates and coordinates[0].args:
            key = sp.Function(key)(coordinates[0].args[0])
        found.append(key)
    return found


def _each(forces: Mapping[Any, Any] | Sequence[Any], symbols: Symbols) -> list[Any]:
    """One force for each coordinate."""
    names = [named(q) for q in symbols.coordinates]
    if isinstance(forces, Mapping):
        given = {named(key): force for key, force in forces.items()}
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise ValueError(f"forces has {unknown}, which are none of the coordinates {names}.")
        return [given.get(name, 0) for name in names]
    forces = list(forces)
    if forces and len(forces) != len(names):
        raise ValueError(
            f"forces needs one expression for each of the {len(names)} coordinates; got "
            f"{len(forces)}."
        )
    return forces or [0] * len(names)


def _generalised(method: Any) -> list[Any]:
    """The forces and torques of `forcelist` along the derivatives of the coordinates."""
    frame, motions = method.inertial, []
    for at, load in method.forcelist or ():
        turns = isinstance(at, mechanics().ReferenceFrame)
        motions.append((at.ang_vel_in(frame) if turns else at.vel(frame), load))
    return [sum(v.diff(u, frame).dot(load) for v, load in motions) for u in method.u]
