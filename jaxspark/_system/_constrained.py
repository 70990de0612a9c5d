"""The general problem: overdetermined differential-algebraic equations of index 2 and 3."""

import dataclasses
from typing import Any, NamedTuple, TYPE_CHECKING

import equinox as eqx

from .._custom_types import Args, Function, State
from .._html import in_words, table


class Part(NamedTuple):
    """A function of a system, to be checked.

    - `name`: by which the user knows it.
    - `function`: is called with the time, `operands` and `args`.
    - `like`: a PyTree of the structure and shapes that it should return.
    - `like_name`: that structure in words.
    """

    name: str
    function: Function | None
    operands: tuple[Any, ...]
    like: Any
    like_name: str


class AbstractConstrainedSystem(eqx.Module):
    r"""The functions of a constrained system, as plain JAX functions.

        y' = v(t, y, z)
        d/dt p(t, y, z) = f(t, y, z) + r(t, y, lam) + friction(t, y, z, lam)
                          + reaction(t, y, z, psi)
        0 = g(t, y),   0 = g_t + g_y v,   0 = k(t, y, z)

    A function that is `None` stands for its default: `v = z`, `p = z`, no constraint `g`,
    no constraint `k`, no friction, and for `r` and `reaction` the ideal constraint forces
    `-(g_y v_z)^T lam` and `-k_z^T psi`.

    A subclass has `f` and the others, or `None` for them, as fields or methods. Each is a pure JAX
    function, and is called with `args` last: `f(t, y, z, args)` and `g(t, y, args)` for instance.
    What it takes and returns is structured as [`jaxspark.ConstrainedSystem`][] says, which is
    made of given functions.

    The paper has `f(t, y, z, psi)` in place of `f + reaction`. They are apart here because
    methods of Lobatto type may give them different coefficients. It has no `friction`: Gauss and
    Radau IIA methods have no velocities where the constraints hold.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, equations (1)-(3), and *Lagrange-d'Alembert SPARK integrators
        for nonholonomic Lagrangian systems*, equations (2.1) and section 3.3.
    """

    if TYPE_CHECKING:
        # Seen as fields, they would be arguments of every subclass to a type checker.
        @property
        def v(self) -> Function | None: ...
        @property
        def p(self) -> Function | None: ...
        @property
        def f(self) -> Function: ...
        @property
        def r(self) -> Function | None: ...
        @property
        def g(self) -> Function | None: ...
        @property
        def k(self) -> Function | None: ...
        @property
        def reaction(self) -> Function | None: ...
        @property
        def friction(self) -> Function | None: ...
    else:
        v: eqx.AbstractVar[Function | None]
        p: eqx.AbstractVar[Function | None]
        f: eqx.AbstractVar[Function]
        r: eqx.AbstractVar[Function | None]
        g: eqx.AbstractVar[Function | None]
        k: eqx.AbstractVar[Function | None]
        reaction: eqx.AbstractVar[Function | None]
        friction: eqx.AbstractVar[Function | None]

    def _repr_html_(self) -> str:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return table(
            type(self).__name__,
            (),
            [(name, in_words(value)) for name, value in fields.items() if value is not None],
        )

    def prepared(self, args: Args) -> Any:
        """What all functions get in place of `args`, computed once for a solution: `args`."""
        return args

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The functions that the user gave, and what they should return.

        A system that is built from other functions than these overrides it, so that errors
        name what the user wrote.

        **Arguments:**

        - `y`, `z`, `lam`, `psi`: of which only structure, shapes and dtypes matter.
        """
        parts = (
            Part("v", self.v, (y, z), y, "y"),
            Part("p (momentum)", self.p, (y, z), z, "z"),
            Part("f (forces)", self.f, (y, z), z, "z"),
            Part("r", self.r, (y, lam), z, "z"),
            Part("reaction", self.reaction, (y, z, psi), z, "z"),
            Part("friction", self.friction, (y, z, lam), z, "z"),
        )
        return tuple(part for part in parts if part.function is not None)


class ConstrainedSystem(AbstractConstrainedSystem):
    """A constrained system given by its functions.

        y' = v(t, y, z)
        d/dt p(t, y, z) = f(t, y, z) + r(t, y, lam) + friction(t, y, z, lam)
                          + reaction(t, y, z, psi)
        0 = g(t, y),   0 = g_t + g_y v,   0 = k(t, y, z)

    Regularity is needed of `K2 = [[p_z, -r_lam, -f_psi], [g_y v_z, 0, 0], [k_z, 0, 0]]`, with
    `f_psi` the derivative of `reaction` and `r_lam` that of `r + friction`, and of `K3`, its
    leading part without `psi`; the mass matrix `p_z` itself may be singular, except for methods
    of Lobatto type.

    The states `y` (coordinates) and `z` (velocities) are arrays or PyTrees of arrays. What
    `g` and `k` return, an array or a PyTree of arrays, gives `lam` and `psi` their
    structure. All functions are differentiated automatically.

    **Arguments:**

    - `f`: `f(t, y, z, args)`, the forces but those of the constraints, structured as `z`.
    - `v`: `v(t, y, z, args)`, the derivatives of the coordinates, structured as `y`. Default: `z`.
        With holonomic constraints and the default `r` it must be affine in `z`, which is not
        checked: if it is not, methods differ in what they take for ideal constraint forces.
    - `p`: `p(t, y, z, args)`, the momenta, structured as `z`. Default: `z`.
    - `r`: `r(t, y, lam, args)`, the holonomic constraint forces, structured as `z`.
        Default: `-(g_y v_z)^T lam`, for a `v` that is affine in `z`.
    - `g`: `g(t, y, args)`, the holonomic constraints. Default: none.
    - `k`: `k(t, y, z, args)`, the nonholonomic constraints. Default: none.
    - `reaction`: `reaction(t, y, z, psi, args)`, the nonholonomic constraint forces, friction
        that depends on them included, structured as `z`. Default: `-k_z^T psi`.
    - `friction`: `friction(t, y, z, lam, args)`, forces of the holonomic constraints that
        depend on the velocities, too, as dry friction does, structured as `z`. Only for
        [`jaxspark.Lobatto`][] and [`jaxspark.GGL`][]. Default: none.

    **Raises:** `TypeError` if an argument is not callable; `ValueError` if there is `r` or
    `friction` without `g`, or `reaction` without `k`. Wrong shapes and dtypes are found where
    the system meets its first state.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
        systems in mechanics*, equations (1)-(3).
    """

    f: Function
    v: Function | None = None
    p: Function | None = None
    r: Function | None = None
    g: Function | None = None
    k: Function | None = None
    reaction: Function | None = None
    friction: Function | None = None

    def __check_init__(self):
        require_callable("f", self.f, optional=False)
        for name in ("v", "p", "r", "g", "k", "reaction", "friction"):
            require_callable(name, getattr(self, name))
        require_holonomic("r(t, y, lam, args)", self.r, self.g)
        require_holonomic("friction(t, y, z, lam, args)", self.friction, self.g)
        if self.reaction is not None and self.k is None:
            raise ValueError(
                "reaction(t, y, z, psi, args) is given, but no nonholonomic constraint k."
            )


def require_holonomic(name: str, force: Function | None, g: Function | None) -> None:
    """Raise `ValueError` if a force of the holonomic constraints is given, but no constraint."""
    if force is not None and g is None:
        raise ValueError(f"{name} is given, but no holonomic constraint g.")


def require_callable(name: str, function: Any, *, optional: bool = True) -> None:
    """Raise `TypeError`, naming the argument, unless it is callable (or absent)."""
    if callable(function) or (optional and function is None):
        return
    raise TypeError(f"{name} must be a function; got {type(function).__name__}.")
