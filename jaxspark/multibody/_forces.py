"""Forces: springs and dampers in joints and between points, motors, forces at points."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._blocks import take
from ._dynamics import wrench
from ._joints import vector
from ._kinematics import down, homogeneous, Places
from ._rotations import products
from ._tables import Tables
from ._tree import Tree


class Spring:
    """A spring and a damper between points of two bodies.

    The tension is `stiffness (distance - length) + damping (rate of the distance)`, or
    `law(distance, rate, args)`. The points must not meet: the force would have no direction, and a
    solve fails there.

    **Arguments:**

    - `name`: by which its parameters are known.
    - `first`, `second`: names of bodies, or `"ground"`.
    - `at_first`, `at_second`: points in their frames (m).
    - `stiffness` (N/m), `length` without tension (m), `damping` (N s/m).
    - `law`: a function that returns the tension (N) in place of these.
    """

    def __init__(
        self,
        name: str,
        first: str,
        second: str,
        *,
        at_first: Any = (0.0, 0.0, 0.0),
        at_second: Any = (0.0, 0.0, 0.0),
        stiffness: float = 0.0,
        length: float = 0.0,
        damping: float = 0.0,
        law: Callable[..., Any] | None = None,
    ):
        self.name, self.first, self.second, self.law = name, first, second, law
        self.at_first = vector(f"at_first of {name!r}", at_first)
        self.at_second = vector(f"at_second of {name!r}", at_second)
        self.stiffness, self.length, self.damping = float(stiffness), float(length), float(damping)

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        names = ("at_first", "at_second", "stiffness", "length", "damping")
        return {name: jnp.asarray(np.asarray(getattr(self, name), float)) for name in names}


class Motor:
    """A force or torque in a joint: a function of time, the joint's motion and the parameters.

    **Arguments:**

    - `name`: of the element.
    - `joint`: the name of a joint whose elements are along axes.
    - `torque`: `torque(t, q, z, args)`, with the joint's coordinates and velocities, shapes `(k,)`:
        the forces on the child (N m, N), shape `(k,)`.
    """

    def __init__(self, name: str, joint: str, torque: Any):
        self.name, self.joint, self.torque = name, joint, torque
        if not callable(torque):
            raise TypeError(f"torque of {name!r} must be a function torque(t, q, z, args).")

    parameters: dict[str, Any] = {}


class PointForce:
    """A force on a body at a point.

    **Arguments:**

    - `name`: of the element.
    - `body`: on which it acts; `at`: a point in its frame (m).
    - `force`: `force(t, x, v, args)` with the point's position and velocity in the ground's frame
        (m, m/s): the force in that frame (N), shape `(3,)`.
    """

    def __init__(self, name: str, body: str, force: Any, *, at: Any = (0.0, 0, 0)):
        self.name, self.body, self.force = name, body, force
        self.at = vector(f"at of {name!r}", at)
        if not callable(force):
            raise TypeError(f"force of {name!r} must be a function force(t, x, v, args).")

    @property
    def parameters(self) -> dict[str, Any]:
        """By name, as arrays."""
        return {"at": jnp.asarray(self.at)}


class Forces:
    """All forces of a mechanism.

    **Arguments:**

    - `tree`: of which links there are.
    - `elements`: springs, motors and forces at points.
    """

    def __init__(self, tree: Tree, elements: Sequence[Any]):
        self.tree, self.elements = tree, tuple(elements)
        self.numbers = {body.name: k for k, body in enumerate(tree.bodies)} | {"ground": -1}
        joints = {joint.name: k for k, joint in enumerate(tree.joints)}
        self.springs = [x for x in elements if isinstance(x, Spring)]
        self.points = [x for x in elements if isinstance(x, PointForce)]
        self.motors = []
        for element in elements:
            if isinstance(element, Motor):
                self.motors.append((element, *self._indices(element, joints)))
            else:
                for name in self._bodies(element):
                    if name not in self.numbers:
                        raise ValueError(
                            f"Force {element.name!r} acts on {name!r}, which is none of the "
                            f"bodies; there are {sorted(self.numbers)}."
                        )
        self.has_springs = any(np.any(x.stiffness) for x in tree.joints)

    def _bodies(self, element: Any) -> tuple[str, ...]:
        return (element.first, element.second) if isinstance(element, Spring) else (element.body,)

    def _indices(self, motor: Motor, joints: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
        tree = self.tree
        if motor.joint not in joints:
            raise ValueError(
                f"Motor {motor.name!r} is in {motor.joint!r}, which is none of the joints; there "
                f"are {sorted(joints)}."
            )
        links = [k for k, x in enumerate(tree.links) if x.joint == joints[motor.joint]]
        if not links or any(tree.links[k].kind != "axis" for k in links):
            raise ValueError(
                f"Motor {motor.name!r} needs a joint with axes that no loop cuts; "
                f"{motor.joint!r} is none. Cut another joint by cut=True."
            )
        links.sort(key=lambda k: tree.links[k].element)
        return np.array([tree.y_at[k] for k in links]), np.array([tree.z_at[k] for k in links])

    def evaluated(
        self, t: Any, y: Array, z: Array, tables: Tables, at: Places
    ) -> tuple[Array, Array]:
        """Forces in the joints, shape `(nz,)`, and wrenches on the links, `(n, 3, 4)`."""
        tree = self.tree
        own = -tables.damping * z
        if self.has_springs and len(tree.axis):
            pull = take(tables.stiffness, tree.axis_z) * (take(y, tree.axis_y) - tables.rest)
            own = own - jnp.zeros_like(own).at[tree.axis_z].set(pull)
        for motor, of_y, of_z in self.motors:
            own = own.at[of_z].add(self._torque(motor, t, y[of_y], z[of_z], tables.args))
        total = jnp.zeros((tree.n + 1, 3, 4), y.dtype)
        for body, force in self.on_bodies(t, z, tables, at):
            total = total.at[tree.link_of[body]].add(force)
        return own, total[:-1]

    def on_bodies(
        self, t: Any, z: Array, tables: Tables, at: Places
    ) -> list[tuple[int, Float[Array, "3 4"]]]:
        """The wrenches of springs and forces at points, each with the body on which it acts."""
        if not self.springs and not self.points:
            return []
        V = down(self.tree, at.S * z[:, None, None])
        return [*self._of_springs(tables, at, V), *self._of_points(t, tables, at, V)]

    def of_motors(self, t: Any, y: Array, z: Array, args: Any) -> dict[str, Array]:
        """Forces and torques by the names of motors, shapes `(k,)`."""
        return {
            motor.name: self._torque(motor, t, y[of_y], z[of_z], args)
            for motor, of_y, of_z in self.motors
        }

    @staticmethod
    def _torque(motor: Motor, t: Any, q: Array, z: Array, args: Any) -> Array:
        return jnp.asarray(motor.torque(t, q, z, args), q.dtype).reshape(q.shape)

    def energy(self, tables: Tables, at: Places) -> Array:
        """That of springs between points whose tension is linear (J)."""
        total, V = jnp.zeros((), at.T.dtype), jnp.zeros_like(at.T[:, :3])
        for spring in self.springs:
            if spring.law is not None:
                continue
            own = tables.args["forces"][spring.name]
            _, x, _ = self._point(spring.first, own["at_first"], tables, at, V)
            _, y, _ = self._point(spring.second, own["at_second"], tables, at, V)
            longer = jnp.sqrt(jnp.sum((y - x) ** 2)) - own["length"]
            total = total + 0.5 * own["stiffness"] * longer**2
        return total

    def _point(self, name: str, point: Array, tables: Tables, at: Places, V: Array) -> tuple:
        number = self.numbers[name]
        link = self.tree.link_of[number]
        T = products(at.T[link], tables.frames[number])
        x = jnp.sum(T[:3] * homogeneous(point)[None, :], 1)
        return number, x, jnp.sum(V[link] * homogeneous(x)[None, :], 1)

    def _of_springs(self, tables: Tables, at: Places, V: Array) -> list[tuple[int, Array]]:
        out = []
        for spring in self.springs:
            own = tables.args["forces"][spring.name]
            i, x, v = self._point(spring.first, own["at_first"], tables, at, V)
            j, y, w = self._point(spring.second, own["at_second"], tables, at, V)
            apart = y - x
            distance = jnp.sqrt(jnp.sum(apart * apart))
            rate = jnp.sum(apart * (w - v)) / distance
            if spring.law is not None:
                tension = spring.law(distance, rate, tables.args)
            else:
                tension = own["stiffness"] * (distance - own["length"]) + own["damping"] * rate
            force = tension * apart / distance
            out += [(i, wrench(force[None], x[None])[0]), (j, wrench(-force[None], y[None])[0])]
        return out

    def _of_points(self, t: Any, tables: Tables, at: Places, V: Array) -> list[tuple[int, Array]]:
        out = []
        for element in self.points:
            point = tables.args["forces"][element.name]["at"]
            body, x, v = self._point(element.body, point, tables, at, V)
            force = jnp.asarray(element.force(t, x, v, tables.args), x.dtype)
            out.append((body, wrench(force[None], x[None])[0]))
        return out
