"""Systems of many bodies and joints, given by the functions of one of each."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._blocks import product, take
from .._custom_types import Args, Function, State
from ._constrained import AbstractConstrainedSystem, Part, require_callable
from ._joints import ForceElement, Joint, RollingJoint


class MultibodySystem(AbstractConstrainedSystem):
    r"""Bodies and joints as arrays of blocks: the functions of one body and of one joint.

        y_i' = v(y_i, z_i),   d/dt (M z_i) = force_i + elements + constraint forces on body i
        0 = g(t, y_a, y_b) for every joint,   0 = k(t, y_a, z_a, y_b, z_b) for rolling ones

    These functions are mapped over all bodies and joints. Jacobians are found joint by joint, and
    linear systems are solved by elimination along the mechanism: for `N` bodies nothing of the size
    `N^2` ever exists, and the cost of a step grows like `N`, for trees and for mechanisms whose
    loops are short or few.

    Every array in the state has one entry for each body along its first axis. The holonomic
    multipliers are a tuple with an array of shape `(count, r)` for each element of `joints`;
    those of `rolling` likewise.

    **Arguments:**

    - `mass`: `mass(t, y, own, args)` of one body: a symmetric matrix, shape `(q, q)`, or its
        diagonal, shape `(q,)`, acting on the raveled velocities of the body (kg, kg m^2).
    - `force`: `force(t, y, z, own, args)` of one body, structured as its velocities (N, N m); with
        centrifugal forces, if its mass depends on `y`.
    - `joints`: one [`jaxspark.Joint`][] for each kind of joint.
    - `rolling`: one [`jaxspark.RollingJoint`][] for each kind of nonholonomic constraint.
    - `elements`: one [`jaxspark.ForceElement`][] for each kind of spring, damper or motor.
    - `velocity`: `v(t, y, z, own, args)`, the derivatives of the coordinates of one body,
        for instance of a quaternion. Default: `z`.
    - `own`: `own(args)`, a PyTree whose arrays have one entry for each body along their first
        axis: the parameters of each body. Without it functions get the number of the body.
    - `ground`: the coordinates of the ground, structured as those of one body. Default: zeros.

    **Raises:** `TypeError` if an argument is not a function, joint or force element where it should
    be one. Wrong numbers of bodies are found where the system meets its first state.

    ??? cite "Reference"
        L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained systems
        in mechanics*, equation (1); P. Areias, *A dimensional reduction algorithm and software for
        acyclically dependent constraints*, for the elimination.
    """

    mass: Function
    force: Function
    joints: tuple[Joint, ...]
    rolling: tuple[RollingJoint, ...] = ()
    elements: tuple[ForceElement, ...] = ()
    velocity: Function | None = None
    own: Callable[[Args], Any] | None = None
    ground: Any = None

    def __init__(
        self,
        mass: Function,
        force: Function,
        joints: Sequence[Joint] | Joint = (),
        *,
        rolling: Sequence[RollingJoint] | RollingJoint = (),
        elements: Sequence[ForceElement] | ForceElement = (),
        velocity: Function | None = None,
        own: Callable[[Args], Any] | None = None,
        ground: Any = None,
    ):
        require_callable("mass", mass, optional=False)
        require_callable("force", force, optional=False)
        require_callable("velocity", velocity)
        require_callable("own", own)
        self.mass, self.force, self.velocity = mass, force, velocity
        self.own, self.ground = own, ground
        self.joints = _all("joints", joints, Joint)
        self.rolling = _all("rolling", rolling, RollingJoint)
        self.elements = _all("elements", elements, ForceElement)

    @property
    def v(self) -> Function | None:
        """The derivatives of the coordinates; `None` if they are the velocities."""
        return None if self.velocity is None else self._v

    def _v(self, t, y, z, args):
        velocity = self.velocity
        assert velocity is not None
        own = self.own_rows(y, args)
        return jax.vmap(lambda y, z, own: velocity(t, y, z, own, args))(y, z, own)

    def p(self, t, y, z, args):
        """The momenta `M z`."""
        return jax.vmap(lambda y, z, own: self._momentum(t, y, z, own, args))(
            y, z, self.own_rows(y, args)
        )

    def f(self, t, y, z, args):
        """`force + (M_t + M_y[v]) z`, and the forces of all elements."""

        def of_body(y, z, own):
            v = z if self.velocity is None else self.velocity(t, y, z, own, args)
            _, transport = jax.jvp(
                lambda t, y: self._momentum(t, y, z, own, args), (t, y), (jnp.ones_like(t), v)
            )
            return jax.tree.map(jnp.add, self.force(t, y, z, own, args), transport)

        total = jax.vmap(of_body)(y, z, self.own_rows(y, args))
        for element in self.elements:
            states = self.ends(element, t, y, z)
            own = own_of(element, args)
            forces = jax.vmap(lambda *at: element.function(t, *at, args))(*states, own)
            for side in range(2):
                total = jax.tree.map(
                    lambda sum, part, side=side: sum + _onto(part, element.index[:, side], sum),
                    total, forces[side],
                )  # fmt: skip
        return total

    @property
    def r(self) -> None:
        """The constraint forces are ideal."""

    @property
    def reaction(self) -> None:
        """So are those of rolling joints."""

    @property
    def friction(self) -> None:
        """There is no friction in the joints."""

    @property
    def g(self) -> Function | None:
        """The constraints of all joints."""
        return self._g if self.joints else None

    def _g(self, t, y, args):
        def of(joint):
            a, b = (ends(joint.index[:, side], y, self.ground_like(y)) for side in range(2))
            own = own_of(joint, args)
            return jax.vmap(lambda a, b, own: joint.function(t, a, b, own, args))(a, b, own)

        return tuple(of(joint) for joint in self.joints)

    @property
    def k(self) -> Function | None:
        """The constraints of all rolling joints."""
        return self._k if self.rolling else None

    def _k(self, t, y, z, args):
        def of(joint):
            own = own_of(joint, args)
            states = self.ends(joint, t, y, z)
            return jax.vmap(lambda *at: joint.function(t, *at, args))(*states, own)

        return tuple(of(joint) for joint in self.rolling)

    def _momentum(self, t, y, z, own, args):
        flat, unravel = jax.flatten_util.ravel_pytree(z)
        mass = self.mass(t, y, own, args)
        if jnp.ndim(mass) == 1:
            return unravel(mass * flat)
        return unravel(product(mass, flat[:, None])[:, 0])

    def own_rows(self, y: State, args: Args) -> Any:
        """What each body has of its own, row by row: its parameters, or its number."""
        if self.own is not None:
            return self.own(args)
        return jnp.arange(jax.tree.leaves(y)[0].shape[0])

    def ground_like(self, y: State) -> Any:
        """The coordinates of the ground."""
        if self.ground is None:
            return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), y)
        dtype = jnp.result_type(*jax.tree.leaves(y))
        return jax.tree.map(lambda at: jnp.asarray(at, dtype), self.ground)

    def ends(self, connection: Any, t: Any, y: State, z: State) -> tuple[Any, ...]:
        """`y_a`, `z_a`, `y_b`, `z_b` for each connection."""
        del t
        still = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape[1:], leaf.dtype), z)
        sides = [connection.index[:, side] for side in range(2)]
        ground = self.ground_like(y)
        return tuple(
            ends(side, state, at) for side in sides for state, at in ((y, ground), (z, still))
        )

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """The functions of the whole system, those of one body mapped over all."""
        del lam, psi
        own = Part("p (mass)", self.p, (y, z), z, "z"), Part("f (force)", self.f, (y, z), z, "z")
        kinematics = Part("velocity", self.v, (y, z), y, "y")
        return own if self.v is None else (*own, kinematics)


def _all(name: str, given: Any, kind: type) -> tuple[Any, ...]:
    parts = (given,) if isinstance(given, kind) else tuple(given)
    for part in parts:
        if not isinstance(part, kind):
            raise TypeError(f"{name} must be jaxspark.{kind.__name__}(...); got {part!r}.")
    return parts


def own_of(connection: Any, args: Args) -> Any:
    """What each connection has of its own: parameters, or its number."""
    return jnp.arange(len(connection)) if connection.own is None else connection.own(args)


def ends(index: np.ndarray, state: State, ground: Any) -> State:
    """The states of the bodies with these numbers, of which -1 is the ground."""

    def of(leaf, at):
        if index.min(initial=0) >= 0:
            return take(leaf, index)
        return take(jnp.concatenate([at[None], leaf]), index + 1)

    return jax.tree.map(of, state, ground)


def _onto(parts: Array, index: np.ndarray, like: Array) -> Array:
    """The sum of the parts for each body; what acts on the ground is left away."""
    padded = jnp.zeros((like.shape[0] + 1, *like.shape[1:]), like.dtype)
    return padded.at[jnp.asarray(index + 1)].add(parts)[1:]
