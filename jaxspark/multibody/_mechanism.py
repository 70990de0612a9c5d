"""A mechanism from bodies, joints and forces: its system, its parameters, its states by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._html import table
from .._system import as_args
from ._assemble import Closure, independent_rows
from ._bodies import Body
from ._by_bodies import ByBodies
from ._closure import Coupling, Loops
from ._constraint import Constraint
from ._dynamics import in_ground
from ._forces import Forces
from ._friction import Frictions, JointFriction
from ._joints import Joint, vector
from ._kinematics import carried, places, rates, transforms
from ._names import filled, held, indices, require_names
from ._results import Results, results
from ._rotations import products
from ._rows import Rows
from ._show import shape_of, show
from ._system import TreeSystem
from ._tables import parameters_of, Tables, tables_of
from ._tree import Tree


class Mechanism:
    """Rigid bodies, joints between them, and forces.

    A spanning tree of joints is chosen; the other joints close loops, and are constraints. The
    coordinates are those of the joints on the tree. Explicit methods solve trees of 26 velocities
    or more by articulated bodies, in operations linear in their number, smaller ones by a matrix.

    **Arguments:**

    - `bodies`: a [`jaxspark.multibody.Body`][] each.
    - `joints`: a [`jaxspark.multibody.Joint`][] each, such as
        [`jaxspark.multibody.Revolute`][].
    - `forces`: each a [`jaxspark.multibody.Spring`][], [`jaxspark.multibody.Bushing`][],
        [`jaxspark.multibody.Motor`][], [`jaxspark.multibody.Controller`][],
        [`jaxspark.multibody.PointForce`][], [`jaxspark.multibody.BodyForce`][],
        [`jaxspark.multibody.PenaltyContact`][] or [`jaxspark.multibody.JointFriction`][].
    - `constraints`: what holds beside the joints: each a [`jaxspark.multibody.Coupling`][] of two
        coordinates, such as a [`jaxspark.multibody.Gear`][], a [`jaxspark.multibody.Distance`][],
        [`jaxspark.multibody.PointOnSurface`][], [`jaxspark.multibody.Rolling`][],
        [`jaxspark.multibody.KnifeEdge`][], [`jaxspark.multibody.Prescribed`][], or of your own
        [`jaxspark.multibody.Holonomic`][] or [`jaxspark.multibody.Nonholonomic`][].
    - `gravity`: (m/s^2).
    - `parameters`: entries of one's own for functions of forces and constraints, which get them
        with the mechanism's as `args`.
    - `guess`: coordinates by the names of joints, near a configuration in which loops close.

    **Attributes:**

    - `system`: for [`jaxspark.solve`][] and all else that takes a system.
    - `parameters`: masses, centres, inertias, frames and axes of joints, stiffnesses and so on by
        name: a PyTree, the `args` of the system. Other entries may be added for forces of one's
        own.

    **Raises:** `ValueError` if names occur twice or are not there, bodies are not reached from the
    ground, or loops do not close.
    """

    def __init__(
        self,
        bodies: Sequence[Body],
        joints: Sequence[Joint],
        *,
        forces: Sequence[Any] = (),
        constraints: Sequence[Any] = (),
        gravity: Any = (0.0, 0.0, -9.81),
        parameters: Mapping[str, Any] | None = None,
        guess: Mapping[str, Any] | None = None,
    ):
        require_names(body=bodies, joint=joints, force=forces, constraint=constraints)
        if not bodies:
            raise ValueError("A mechanism needs bodies; there are none.")
        couplings = [x for x in constraints if isinstance(x, Coupling)]
        functions = [x for x in constraints if isinstance(x, Constraint)]
        if len(couplings) + len(functions) < len(constraints):
            strange = [x for x in constraints if not isinstance(x, Coupling | Constraint)]
            raise TypeError(f"constraints has {strange}, which are none; joints are for joints=.")
        in_tree = [getattr(x, "joint", None) for x in (*functions, *forces)]
        in_tree += [name for x in couplings for name in (x.first, x.second)]
        dry = [x for x in forces if isinstance(x, JointFriction)]
        self.tree = Tree(bodies, joints, {name for name in in_tree if name}, {x.of for x in dry})
        loads = Forces(self.tree, [x for x in forces if not isinstance(x, JointFriction)])
        frictions = Frictions(self.tree, dry)
        self.constraints, self._couplings = tuple(functions), tuple(couplings)
        self.parameters: dict[str, Any] = parameters_of(self.tree, vector("gravity", gravity))
        for kind, of in (("forces", forces), ("constraints", constraints)):
            self.parameters[kind] = {x.name: x.parameters for x in of if x.parameters}
        self.parameters |= self._own(parameters or {})
        self._at = indices(self.tree, loads.states)
        self._guess = filled(self.tree, self._at, loads.start, guess or {})
        others = Rows(self.tree, functions, True, self.parameters)
        self.rolling = Rows(self.tree, functions, False, self.parameters)
        self._closure = Closure(self.tree, couplings, others, self.rolling)
        kept = None
        if self._closure.loops.count:
            closure = self._closure.at(self.parameters)
            kept = independent_rows(closure, self._guess[: self.tree.ny])
        self.loops = Loops(self.tree, couplings, others, kept)
        self.system = TreeSystem(self.tree, self.loops, self.rolling, loads, frictions)
        self._poses = eqx.filter_jit(self._poses_of)

    def _own(self, given: Mapping[str, Any]) -> Any:
        taken = sorted({*self.parameters} & {*given})
        if taken:
            raise ValueError(f"parameters has {taken}, which are names of the mechanism's own.")
        return as_args(dict(given), self.parameters["gravity"].dtype)

    def state(
        self,
        positions: Mapping[str, Any] | None = None,
        velocities: Mapping[str, Any] | None = None,
        *,
        guess: Mapping[str, Any] | None = None,
        t: float = 0.0,
        args: Any = None,
    ) -> tuple[Array, Array]:
        """A consistent state, by the names of joints.

        **Arguments:**

        - `positions`: coordinates that are held while loops are closed: numbers, or arrays
            `(k,)` (rad, m; a quaternion after three positions for a free joint). An entry that
            is `None` is not held.
        - `velocities`: velocities that are held; others are the smallest that loops allow.
        - `guess`: coordinates from which the search for the others starts.
        - `t`: the time, where motion is prescribed.
        - `args`: parameters, by default the mechanism's own.

        **Returns:** `y0` and `z0`.

        **Raises:** `ValueError` if a name is no joint with coordinates, or no state has these
        values: the message names the joint that is open, and by how much.
        """
        positions, velocities = positions or {}, velocities or {}
        y = filled(self.tree, self._at, self._guess, {**(guess or {}), **positions})
        z = filled(self.tree, self._at, np.zeros(self.tree.nz), velocities, velocities=True)
        if not self.loops.count and not self.rolling.names:
            return jnp.asarray(y), jnp.asarray(z)
        closure = self._closure.at(self.parameters if args is None else args, t)
        y, states = np.split(y, [self.tree.ny])
        y, left = closure.closed(y, held(self.tree, self._at, positions))
        if not left <= closure.tolerance:
            raise ValueError(
                f"The loops at {self._names()} stay open, by {left:.2e} of their size; they can be "
                "closed by other values of positions, or from another guess."
            )
        z, left = closure.velocities(y, z, held(self.tree, self._at, velocities))
        y = np.concatenate([y, states])
        if not left <= closure.tolerance * (1 + np.max(np.abs(z), initial=0)):
            raise ValueError(
                f"The loops at {self._names()} do not allow these velocities, by {left:.2e} of "
                "their size per second."
            )
        return jnp.asarray(y), jnp.asarray(z)

    def _names(self) -> list[str]:
        return sorted({*self.loops.names, *self.rolling.names})

    def by_bodies(self) -> ByBodies:
        """The same mechanism in coordinates of its bodies, for very many of them.

        **Returns:** a [`jaxspark.multibody.ByBodies`][], with a system and states of its own.

        **Raises:** `ValueError` for what needs coordinates of joints: couplings, screws, armature,
        controllers with states, prescribed motion.
        """
        return ByBodies(self)

    def coordinates(self, y: Array) -> dict[str, Array]:
        """Coordinates by the names of joints, of one state or of many, along the last axis."""
        return {name: y[..., at] for name, (at, _) in self._at.items()}

    def velocities(self, z: Array) -> dict[str, Array]:
        """Velocities by the names of joints, of one state or of many, along the last axis."""
        return {name: z[..., at] for name, (_, at) in self._at.items()}

    def pose(self, body: str, y: Array, args: Any = None) -> Array:
        """The transform of a body at one state, shape `(4, 4)`.

        **Raises:** `ValueError` if there is no such body.
        """
        return self._poses(self.parameters if args is None else args, y)[self._body(body)]

    def position(self, body: str, y: Array, at: Any = (0.0, 0.0, 0.0), args: Any = None) -> Array:
        """A point of a body in the ground's frame (m), at one state.

        **Raises:** `ValueError` if there is no such body.
        """
        return carried(self.pose(body, y, args), at)

    def energy(self, y: Array, z: Array, args: Any = None) -> tuple[Array, Array]:
        """Kinetic and potential energy (J), at one state.

        The potential energy is that of weight, of springs in joints, and of each
        [`jaxspark.multibody.Bushing`][] and [`jaxspark.multibody.Spring`][] whose tension is
        linear. What a spring with a `law` of its
        own, a motor or a force at a point may have is left out.
        """
        tables = self._tables(args)
        at = places(self.tree, tables, y)
        P = in_ground(at, tables)
        V = rates(self.tree, at.S, z).V[:-1]
        kinetic = 0.5 * jnp.sum(products(V, P) * V) + 0.5 * jnp.sum(tables.armature * z**2)
        weight = -jnp.sum(tables.gravity[None, :] * P[:, :3, 3])
        q = y[self.tree.axis_y] - tables.rest
        springs = 0.5 * jnp.sum(tables.stiffness[self.tree.axis_z] * q**2)
        return kinetic, weight + springs + self.system.forces.energy(tables, at)

    def results(self, solution: Any, args: Any = None, *, frame: str = "ground") -> Results:
        """A motion by the names of bodies, joints and forces, at all saved times.

        Positions, velocities and accelerations of bodies and joints, energies, forces and torques
        in all joints, of motors and of constraints. It can be differentiated.

        **Arguments:**

        - `solution`: of [`jaxspark.solve`][], one or a batch; or a state `(t, y, z)`, or times and
            states with a leading axis.
        - `args`: parameters, by default the mechanism's own: those of the solution.
        - `frame`: the axes of forces and torques in joints: `"ground"`; `"joint"`, the joint's
            frame on its parent; `"parent"` or `"child"`, those of the joint's bodies.

        **Returns:** a [`jaxspark.multibody.Results`][].

        **Raises:** `ValueError` for another frame or states of other shapes; `TypeError` if
        `solution` is none.
        """
        return results(self, solution, args, frame)

    def shape(self, args: Any = None) -> Any:
        """The function `shape(t, y)` for [`jaxspark.pictures.animate`][]: the bodies' lines.

        A body without lines is drawn from one of its joints to the others.
        """
        return shape_of(self, args)

    def show(self, y: Any = None, *, args: Any = None, view: Any = (20.0, -60.0)) -> Any:
        """Draw the mechanism at one state: bodies as lines, joints as dots with their names.

        **Arguments:**

        - `y`: coordinates, by default those that `state()` gives.
        - `args`: parameters, by default the mechanism's own.
        - `view`: elevation and azimuth (degrees), of mechanisms in space.

        **Returns:** a `matplotlib.figure.Figure`, open: `matplotlib.pyplot.show()` shows it.
        """
        y = self.state(args=args)[0] if y is None else jnp.asarray(y)
        lines = {name: np.asarray(x) for name, x in self.shape(args)(None, y).items()}
        joints = {
            joint.name: np.asarray(self.position(joint.parent, y, joint.position, args))
            for joint in self.tree.joints
            if joint.points == (0, 1, 2) or joint.elements
        }
        return show(lines, joints, view)

    def _repr_html_(self) -> str:
        tree = self.tree
        joints = [(x.name, f"{type(x).__name__}, {x.parent} to {x.child}") for x in tree.joints]
        bodies = [(x.name, f"{x.mass:g} kg") for x in tree.bodies]
        return table(repr(self), (), [*bodies, *joints])

    def _body(self, name: str) -> int:
        numbers = {body.name: k for k, body in enumerate(self.tree.bodies)} | {"ground": -1}
        if name not in numbers:
            raise ValueError(f"{name!r} is none of the bodies; there are {sorted(numbers)}.")
        return numbers[name]

    def _poses_of(self, args: Any, y: Array) -> Array:
        """Of all bodies, the ground last."""
        tree, tables = self.tree, self._tables(args)
        links = np.array([tree.link_of[k] for k in (*range(len(tree.bodies)), -1)])
        return products(transforms(tree, tables, y)[links], tables.frames)

    def _tables(self, args: Any) -> Tables:
        args = self.parameters if args is None else args
        return args if isinstance(args, Tables) else tables_of(self.tree, self.loops, args)

    def __repr__(self) -> str:
        tree = self.tree
        cut = [tree.joints[k].name for k in tree.loops]
        return (
            f"Mechanism: {len(tree.bodies)} bodies, {tree.ny} coordinates, {tree.nz} velocities, "
            f"{self.loops.count} equations of loops" + (f", cut at {', '.join(cut)}" if cut else "")
        )
