"""Mechanisms from MJCF and URDF files, read by MuJoCo's compiler."""

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from ._bodies import Body
from ._closure import Coupling
from ._joints import Free, GROUND, Joint, Prismatic, Revolute, Spherical, Weld
from ._mechanism import Mechanism
from ._motors import Motor
from ._refused import refused
from ._spec import compiled, simulator


Control = Callable[[Any, Any], dict[str, Any]]


def load(
    source: Any,
    *,
    ignore: Collection[str] = (),
    control: Control | None = None,
    loops: Collection[Joint] = (),
    guess: dict[str, Any] | None = None,
) -> Mechanism:
    """A mechanism from an MJCF or URDF file.

    Equalities of kind `connect`, `weld` and `joint`, and `<mimic>` of URDF, hold exactly: they are
    loops and couplings. Joints, inertias, armature, damping, springs in joints and actuators of
    joints are those of the file; coordinates have the file's zero. It needs the extra `robots`,
    which is MuJoCo.

    **Arguments:**

    - `source`: a path, the text of a file, or a `mujoco.MjModel`.
    - `ignore`: what of the file is left out: `"contacts"`, `"limits"`, `"frictionloss"`,
        `"tendons"`, `"fluid"`, `"gravcomp"`, `"actuators"`, `"ranges"` of actuators,
        and of forces in joints, `"equalities"` of other kinds, `"springs"` of ball and free joints,
        `"polynomials"` of springs and dampers, `"drives"`, the damping, inertia and delay of
        actuators, `"flexes"`, `"plugins"`; and `"meshes"` that are not there, with the inertia
        that would follow from them. What flags of the file disable is left out.
    - `control`: `control(t, args)`, a dictionary of the controls by the names of actuators, 0 where
        there is none. By default controls are `args["control"][name]`, which are 0 at first.
    - `loops`: joints that are added and close loops, with names of bodies of the file.
    - `guess`: as for [`jaxspark.multibody.Mechanism`][]; by default the file's zero.

    **Returns:** the mechanism.

    **Raises:** `ModuleNotFoundError` without MuJoCo; `ValueError` if the file has something that
    is not among the above: the message lists it by name, and says what to ignore to go on.
    """
    model = compiled(source, without_meshes="meshes" in ignore)
    _require_known(model, ignore)
    named = _Names(model)
    bodies = [_body(model, named, number) for number in range(1, model.nbody)]
    joints, between = _joints(model, named)
    closing, couplings = ([], []) if _disabled(model, "EQUALITY") else _equalities(model, named)
    for joint in loops:
        joint.cut = True if joint.cut is None else joint.cut
    joints += closing
    idle = "actuators" in ignore or _disabled(model, "ACTUATION")
    forces = [] if idle else _motors(model, named, control)
    start = {name: model.qpos0[at : at + count] for name, (at, count) in named.coordinates.items()}
    own = {"control": {x.name: np.zeros(()) for x in forces}} if forces and not control else {}
    return Mechanism(
        [*bodies, *between], [*joints, *loops], forces=forces, constraints=couplings,
        gravity=_gravity(model), guess=start | (guess or {}), parameters=own,
    )  # fmt: skip


def _disabled(model: Any, what: str) -> bool:
    """Whether a flag of the file disables something."""
    return bool(model.opt.disableflags & getattr(simulator().mjtDisableBit, f"mjDSBL_{what}"))


def _gravity(model: Any) -> np.ndarray:
    return np.zeros(3) if _disabled(model, "GRAVITY") else np.array(model.opt.gravity)


def _require_known(model: Any, ignore: Collection[str]) -> None:
    found = refused(model)
    unknown = set(ignore) - set(found) - {"meshes"}
    if unknown:
        raise ValueError(f"ignore has {sorted(unknown)}; it may have {sorted([*found, 'meshes'])}.")
    left = {what: names for what, names in found.items() if names and what not in ignore}
    if left:
        words = "; ".join(f"{what}: {', '.join(names)}" for what, names in left.items())
        raise ValueError(
            f"The file has what cannot be kept exactly: {words}. To go on without, use "
            f"ignore={sorted(left)}."
        )


class _Names:
    """Names of bodies, joints and actuators, by number where the file has none."""

    def __init__(self, model: Any):
        self.model = model
        names = [model.body(k).name or f"body {k}" for k in range(1, model.nbody)]
        self.bodies = [GROUND, *(f"{x} of the file" if x == GROUND else x for x in names)]
        self.joints = [model.joint(k).name or f"joint {k}" for k in range(model.njnt)]
        sizes = {0: 7, 1: 4, 2: 1, 3: 1}
        self.coordinates = {
            name: (int(model.jnt_qposadr[k]), sizes[int(model.jnt_type[k])])
            for k, name in enumerate(self.joints)
        }


def _body(model: Any, named: _Names, number: int) -> Body:
    R = _matrix(model.body_iquat[number])
    inertia = R @ np.diag(model.body_inertia[number]) @ R.T
    return Body(
        named.bodies[number], model.body_mass[number], com=model.body_ipos[number],
        inertia=(inertia + inertia.T) / 2,
    )  # fmt: skip


def _matrix(q: np.ndarray) -> np.ndarray:
    mujoco = simulator()

    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, np.asarray(q, float))
    return out.reshape(3, 3)


def _joints(model: Any, named: _Names) -> tuple[list[Joint], list[Body]]:
    """Joints on the tree, and bodies without mass between several joints of one body."""
    joints: list[Joint] = []
    between: list[Body] = []
    for body in range(1, model.nbody):
        name, at = named.bodies[body], named.bodies[int(model.body_parentid[body])]
        place = {"position": model.body_pos[body], "quaternion": model.body_quat[body]}
        first = int(model.body_jntadr[body])
        count = int(model.body_jntnum[body]) if first >= 0 else 0
        own = range(first, first + count)
        if not own:
            joints.append(Weld(f"{name} is fixed", at, name, cut=False, **place))
        for number in own:
            last = number == own[-1]
            to = name if last else f"{name} before {named.joints[number + 1]}"
            if not last:
                between.append(Body(to))
            joints.append(_joint(model, named, number, at, to, place))
            at, place = to, {}
    return joints, between


def _joint(
    model: Any, named: _Names, number: int, parent: str, child: str, place: dict[str, Any]
) -> Joint:
    kind, at = int(model.jnt_type[number]), model.jnt_pos[number]
    dof = int(model.jnt_dofadr[number])
    count = {0: 6, 1: 3, 2: 1, 3: 1}[kind]
    common = {
        "damping": model.dof_damping[dof : dof + count] * (not _disabled(model, "DAMPER")),
        "armature": model.dof_armature[dof : dof + count],
        "cut": False,
    }
    name = named.joints[number]
    if kind == 0:
        return Free(name, parent, child, **common)
    R = _matrix(place.get("quaternion", np.array([1.0, 0, 0, 0])))
    position = place.get("position", np.zeros(3)) + R @ at
    common |= {
        "position": position, "child_position": at, **{k: place[k] for k in place if k[0] == "q"}
    }  # fmt: skip
    if kind == 1:
        return Spherical(name, parent, child, **common)
    coordinate = int(model.jnt_qposadr[number])
    stiffness = 0.0 if _disabled(model, "SPRING") else model.jnt_stiffness[number]
    joint = (Prismatic if kind == 2 else Revolute)(
        name, parent, child, axis=model.jnt_axis[number], stiffness=stiffness,
        rest=model.qpos_spring[coordinate], **common,
    )  # fmt: skip
    joint.zero = np.array([model.qpos0[coordinate]])
    return joint


def _equalities(model: Any, named: _Names) -> tuple[list[Joint], list[Coupling]]:
    mujoco = simulator()

    kinds = mujoco.mjtEq
    closing: list[Joint] = []
    couplings: list[Coupling] = []
    for number in np.flatnonzero(model.eq_active0):
        kind, data = int(model.eq_type[number]), model.eq_data[number]
        name = model.equality(int(number)).name or f"equality {number}"
        # A joint may have the same name.
        name = f"{name} (equality)" if name in named.joints else name
        ends = int(model.eq_obj1id[number]), int(model.eq_obj2id[number])
        if kind == kinds.mjEQ_JOINT:
            couplings.append(_coupling(model, named, name, ends, data))
            continue
        if kind not in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
            continue
        if int(model.eq_objtype[number]) == mujoco.mjtObj.mjOBJ_SITE:
            bodies = [named.bodies[int(model.site_bodyid[k])] for k in ends]
            place = _frames(*[(model.site_pos[k], model.site_quat[k]) for k in ends])
        else:
            bodies = [named.bodies[k] for k in ends]
            still = np.array([1.0, 0, 0, 0])
            if kind == kinds.mjEQ_CONNECT:
                place = _frames((data[:3], still), (data[3:6], still))
            else:
                place = _frames((data[3:6], data[6:10]), (data[:3], still))
        # A weld without torque holds the point alone.
        point = kind == kinds.mjEQ_CONNECT or data[10] == 0
        make = Spherical if point else Weld
        closing.append(make(name, bodies[0], bodies[1], cut=True, **place))
    return closing, couplings


def _frames(parent: tuple[Any, Any], child: tuple[Any, Any]) -> dict[str, Any]:
    return {
        "position": parent[0], "quaternion": parent[1],
        "child_position": child[0], "child_quaternion": child[1],
    }  # fmt: skip


def _coupling(
    model: Any, named: _Names, name: str, ends: tuple[int, int], data: np.ndarray
) -> Coupling:
    """`q1 - q1_0 = polynomial(q2 - q2_0)`, in coordinates themselves."""
    zero = model.qpos0[model.jnt_qposadr[ends[0]]]
    polynomial = np.polynomial.Polynomial(data[:5])
    second = None
    if ends[1] >= 0:
        second = named.joints[ends[1]]
        other = model.qpos0[model.jnt_qposadr[ends[1]]]
        polynomial = polynomial(np.polynomial.Polynomial([-other, 1.0]))
    else:
        polynomial = np.polynomial.Polynomial(data[:1])
    return Coupling(name, named.joints[ends[0]], second, polynomial=(polynomial + zero).coef)


def _motors(model: Any, named: _Names, control: Control | None) -> list[Motor]:
    motors = []
    for number in range(model.nu):
        group = int(model.actuator_group[number])
        if 0 <= group < 31 and (int(model.opt.disableactuator) >> group) & 1:
            continue
        name = model.actuator(number).name or f"actuator {number}"
        joint = int(model.actuator_trnid[number, 0])
        law = _torque(
            name, float(model.actuator_gear[number, 0]), np.array(model.actuator_gainprm[number]),
            np.array(model.actuator_biasprm[number]), control,
        )  # fmt: skip
        motors.append(Motor(name, named.joints[joint], law))
    return motors


def _torque(
    name: str, gear: float, gain: np.ndarray, bias: np.ndarray, control: Control | None
) -> Callable[..., Any]:
    """`gear (gain control + bias)`, both affine in length and rate."""

    def torque(t, q, z, args):
        value = args["control"][name] if control is None else control(t, args).get(name, 0.0)
        length, rate = gear * q, gear * z
        slope = gain[0] + gain[1] * length + gain[2] * rate
        return gear * (slope * value + bias[0] + bias[1] * length + bias[2] * rate)

    return torque
