"""Base parameters: which combinations of masses, centres and inertias a motion can identify."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._adaptive import underlying_ode
from ._mechanism import Mechanism
from ._regressor import heavy_bodies, regressor, regressor_names, standard_parameters


# Coefficients below this share of the largest in a combination are left out of words.
NEGLIGIBLE = 1e-6
# So many rounding errors are zero, of coefficients of columns of unit length.
ROUNDING = 1e4


@dataclass(frozen=True, repr=False)
class BaseParameters:
    """What motions tell of inertias; made by [`jaxspark.multibody.base_parameters`][].

    - `names`: of the `p` standard parameters: `"arm.m"` is the mass of the body `arm`, `"arm.mx"`
        its first moment along x, `"arm.Ixy"` an entry of its inertia about the frame's origin.
    - `chosen`: the base parameters are these standard ones, `r` of `p`, together with multiples of
        others.
    - `combinations`: the base parameters as combinations of the standard ones, shape `(r, p)`.
    - `regressor`: what the motions need for a unit of each base parameter, shape `(rows, r)`: of
        all times, projected on what loops leave free.
    - `condition`: the condition number of the regressor with columns of unit length. Where it is
        hundreds of times what other motions reach, some combinations are hardly identified.
    - `without_effect`: names of the standard parameters that no force depends on.
    """

    names: tuple[str, ...]
    chosen: tuple[str, ...]
    combinations: Float[np.ndarray, "r p"]
    regressor: Float[np.ndarray, "rows r"]
    condition: float
    without_effect: tuple[str, ...]
    _of: tuple[Any, ...] = field(compare=False)

    @property
    def rank(self) -> int:
        """How many combinations the motions can identify."""
        return len(self.chosen)

    @property
    def words(self) -> tuple[str, ...]:
        """The base parameters in words, such as `"upper.Izz + 0.25 lower.m"`."""
        return tuple(_sum(row, self.names) for row in self.combinations)

    def of(self, args: Any = None) -> Float[Array, " r"]:
        """The values of the base parameters.

        **Arguments:**

        - `args`: parameters, by default the mechanism's own. The values are differentiable by them.
        """
        mechanism, bodies, joints = self._of
        values = standard_parameters(mechanism, args, bodies, joints)
        return jnp.asarray(self.combinations, values.dtype) @ values

    def __repr__(self) -> str:
        lines = [
            f"The motions can identify {self.rank} combinations of {len(self.names)} parameters, "
            f"with condition number {self.condition:.3g}."
        ]
        return "\n".join([*lines, *(f"  {words}" for words in self.words)])


def base_parameters(
    mechanism: Mechanism,
    y: Any,
    z: Any,
    u: Any = None,
    *,
    t: Any = 0.0,
    args: Any = None,
    bodies: Collection[str] | None = None,
    joints: Sequence[str] = (),
    rtol: float | None = None,
) -> BaseParameters:
    """Find which combinations of masses, centres of mass and inertias motions can identify.

    The generalised forces that a motion needs are linear in these. Columns of the regressor are
    taken one after the other, from the ground outwards; one that depends on those before it is left
    out, and its parameter joins theirs. With loops, forces are projected on the velocities that
    loops allow: reactions are not known.

    **Arguments:**

    - `mechanism`: a [`jaxspark.multibody.Mechanism`][].
    - `y`, `z`: states at times of a motion, shapes `(times, ny)` and `(times, nz)`, for instance
        `ys` and `zs` of a solution; or states drawn at random, for what could be told at best.
    - `u`: accelerations, shape `(times, nz)`; by default those that the mechanism has by itself,
        with `args` at the times `t`. A motion without forces but weight tells inertias only as
        multiples of each other, one combination less.
    - `args`, `bodies`, `joints`: as for [`jaxspark.multibody.regressor`][].
    - `rtol`: how small what is new of a column is where it counts as dependent, relative to the
        column; by default the square root of the precision.

    **Returns:** a [`jaxspark.multibody.BaseParameters`][]; print it.

    **Raises:** `ValueError` if states are not finite or shapes do not belong together.

    Source: M. Gautier, *Numerical calculation of the base inertial parameters of robots*, Journal
    of Robotic Systems 8 (1991); W. Khalil & E. Dombre, *Modeling, Identification and Control of
    Robots*, section 9.4 and appendix 5.
    """
    y, z = jnp.asarray(y), jnp.asarray(z)
    args = mechanism.parameters if args is None else args
    u = _accelerations(mechanism, t, y, z, args) if u is None else jnp.asarray(u)
    _check(mechanism, y, z, u)
    names = regressor_names(mechanism, bodies, joints)

    Y = np.asarray(regressor(mechanism, y, z, u, args=args, bodies=bodies, joints=joints))
    C = np.asarray(jax.jit(lambda *at: _constraint_jacobians(mechanism, t, *at))(y, z, args))
    rows = _projected(Y, C).reshape(-1, len(names))
    eps = float(np.finfo(Y.dtype).eps)
    small = eps**0.5 if rtol is None else float(rtol)
    found, combinations, without = _grouped(rows.astype(float), small, eps)
    base = rows[:, found]
    size = np.linalg.norm(base, axis=0)
    condition = float(np.linalg.cond(base / size)) if found else 1.0
    pick = lambda which: tuple(names[k] for k in which)
    of = (mechanism, tuple(heavy_bodies(mechanism, bodies)), tuple(joints))
    return BaseParameters(
        names, pick(found), combinations, base, condition, pick(np.flatnonzero(without)), of
    )


def _check(mechanism: Mechanism, y: Array, z: Array, u: Array) -> None:
    tree = mechanism.tree
    for name, value, size in (("y", y, tree.ny), ("z", z, tree.nz), ("u", u, tree.nz)):
        if value.ndim != 2 or value.shape != (len(y), size):
            raise ValueError(
                f"{name} has shape {value.shape}; there is a row for each time, ({len(y)}, {size})."
            )
        if not bool(jnp.all(jnp.isfinite(value))):
            raise ValueError(
                f"{name} is not finite at all times: take the states of a solution up to where it "
                "ended."
            )


def _accelerations(mechanism: Mechanism, t: Any, y: Array, z: Array, args: Any) -> Array:
    """Those that the mechanism has by itself."""
    motion = underlying_ode(mechanism.system)
    times = jnp.broadcast_to(jnp.asarray(t, y.dtype), y.shape[:1])
    return jax.jit(jax.vmap(lambda t, y, z: motion(t, (y, z), args)[1]))(times, y, z)


def _constraint_jacobians(
    mechanism: Mechanism, t: Any, y: Array, z: Array, args: Any
) -> Float[Array, "times m nz"]:
    """With respect to velocities; by derivatives of the constraints themselves."""
    system, tables = mechanism.system, mechanism.system.prepared(args)
    g, k, v = system.g, system.k, system.v

    def rates(z, y, t):
        moved = z if v is None else v(t, y, z, tables)
        parts = [jnp.zeros(0, z.dtype)]
        if g is not None:
            parts.append(jax.jvp(lambda y: g(t, y, tables), (y,), (moved,))[1])
        if k is not None:
            parts.append(k(t, y, z, tables))
        return jnp.concatenate(parts)

    times = jnp.broadcast_to(jnp.asarray(t, y.dtype), y.shape[:1])
    return jax.vmap(jax.jacfwd(rates))(z, y, times)


def _projected(Y: np.ndarray, C: np.ndarray) -> np.ndarray:
    """What is left of generalised forces on velocities that the constraints allow."""
    if not C.shape[1]:
        return Y
    # As many rows at all times, those of dependent constraints being zero.
    _, size, V = np.linalg.svd(C, full_matrices=True)
    tiny = np.sqrt(np.finfo(C.dtype).eps) * size.max(initial=0.0)
    held = np.zeros(V.shape[:2], bool)
    held[:, : size.shape[1]] = size > tiny
    return np.where(held[:, :, None], 0, V @ Y)


def _grouped(rows: np.ndarray, rtol: float, eps: float) -> tuple[list[int], np.ndarray, np.ndarray]:
    """Columns that are independent, all as combinations of these, and which are zero.

    Gram and Schmidt's process, each column orthogonalised twice. (Of QR without pivoting, rounding
    errors of dependent columns would take part in those that follow.)
    """
    size = np.linalg.norm(rows, axis=0)
    without = size <= rtol * size.max(initial=0.0)
    basis = np.zeros((0, rows.shape[0]))
    found: list[int] = []
    for k in np.flatnonzero(~without):
        column = rows[:, k] / size[k]
        rest = column - basis.T @ (basis @ column)
        rest = rest - basis.T @ (basis @ rest)
        left = np.linalg.norm(rest)
        if left > rtol:
            found.append(int(k))
            basis = np.concatenate([basis, rest[None] / left])
    combinations = np.zeros((len(found), rows.shape[1]))
    if found:
        scaled = rows / np.where(without, 1, size)
        # The triangle of the columns that are chosen, and the others in terms of these.
        R = np.triu(basis @ scaled[:, found])
        relative = np.linalg.solve(R, basis @ scaled)
        relative[np.abs(relative) <= ROUNDING * eps] = 0.0
        combinations = relative * np.where(without, 0, size) / size[found][:, None]
        combinations[:, found] = np.eye(len(found))
    return found, combinations, without


def _sum(row: np.ndarray, names: Sequence[str]) -> str:
    """A combination in words, its base parameter, whose coefficient is one, first."""
    matters = np.abs(row) > NEGLIGIBLE * np.abs(row).max()
    at = sorted(np.flatnonzero(matters).tolist(), key=lambda k: (row[k] != 1.0, k))
    text = ""
    for k in at:
        value = f"{abs(row[k]):.4g}"
        sign = (" - " if row[k] < 0 else " + ") if text else ("-" if row[k] < 0 else "")
        text += sign + (names[k] if value == "1" else f"{value} {names[k]}")
    return text
