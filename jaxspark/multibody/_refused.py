"""What of a MuJoCo model has no exact counterpart, by name."""

from typing import Any

import numpy as np

from ._spec import simulator


def refused(model: Any) -> dict[str, list[str]]:
    """For each word of `ignore`, the elements of the model that it would leave out."""
    mujoco = simulator()

    joints = mujoco.mjtJoint
    turned = np.isin(model.jnt_type, [int(joints.mjJNT_BALL), int(joints.mjJNT_FREE)])
    equalities = mujoco.mjtEq
    known = [
        int(kind) for kind in (equalities.mjEQ_CONNECT, equalities.mjEQ_WELD, equalities.mjEQ_JOINT)
    ]
    fluid = [name for name in ("density", "viscosity") if getattr(model.opt, name) > 0]
    return {
        "contacts": _contacts(model),
        "limits": _named(model.joint, np.flatnonzero(model.jnt_limited)),
        "frictionloss": _frictionloss(model),
        "tendons": _named(model.tendon, np.arange(model.ntendon)),
        "fluid": fluid,
        "gravcomp": _named(model.body, np.flatnonzero(model.body_gravcomp)),
        "actuators": _named(model.actuator, _unknown_actuators(model)),
        "ranges": _named(
            model.actuator, np.flatnonzero(model.actuator_forcelimited | model.actuator_ctrllimited)
        )
        + _named(model.joint, np.flatnonzero(model.jnt_actfrclimited)),
        "polynomials": _named(model.joint, _polynomials(model)),
        "drives": _named(
            model.actuator, _any(model, "actuator_damping", "actuator_armature", "actuator_delay")
        ),
        "flexes": [f"{model.nflex} flexes"] if model.nflex else [],
        "equalities": _named(
            model.equality,
            [k for k in np.flatnonzero(model.eq_active0) if int(model.eq_type[k]) not in known],
        ),
        "springs": _named(model.joint, np.flatnonzero(turned & (model.jnt_stiffness != 0))),
        "plugins": [f"{model.nplugin} plugins"] if model.nplugin else [],
    }


def _named(of: Any, numbers: Any) -> list[str]:
    return [of(int(k)).name or f"number {k}" for k in numbers]


def _any(model: Any, *names: str) -> list[int]:
    """Where one of these arrays is not zero; versions of MuJoCo have some of them."""
    found: set[int] = set()
    for name in names:
        values = getattr(model, name, None)
        if values is not None and len(values):
            rows = np.reshape(values, (len(values), -1)) != 0
            found |= {int(k) for k in np.flatnonzero(np.any(rows, axis=1))}
    return sorted(found)


def _polynomials(model: Any) -> list[int]:
    """Joints with springs or dampers that are not linear."""
    of_joints = set(_any(model, "jnt_stiffnesspoly", "jnt_springyield"))
    return sorted(of_joints | {int(model.dof_jntid[k]) for k in _any(model, "dof_dampingpoly")})


def _contacts(model: Any) -> list[str]:
    """Geoms that can touch others."""
    mujoco = simulator()

    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return []
    types, affinities = model.geom_contype, model.geom_conaffinity
    pairs = (types[:, None] & affinities[None]) | (types[None] & affinities[:, None])
    apart = model.body_weldid[model.geom_bodyid]
    touching = np.any((pairs != 0) & (apart[:, None] != apart[None]), axis=1)
    found = _named(model.geom, np.flatnonzero(touching))
    return found + [f"pair {k}" for k in range(model.npair)]


def _frictionloss(model: Any) -> list[str]:
    joints = sorted({int(model.dof_jntid[k]) for k in np.flatnonzero(model.dof_frictionloss)})
    return _named(model.joint, joints)


def _unknown_actuators(model: Any) -> list[int]:
    """Those that are not on a joint with one coordinate, have a state or another law."""
    mujoco = simulator()

    of = {
        "trntype": (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT),
        "dyntype": (mujoco.mjtDyn.mjDYN_NONE,),
        "gaintype": (mujoco.mjtGain.mjGAIN_FIXED, mujoco.mjtGain.mjGAIN_AFFINE),
        "biastype": (mujoco.mjtBias.mjBIAS_NONE, mujoco.mjtBias.mjBIAS_AFFINE),
    }
    plain = np.ones(model.nu, bool)
    for name, kinds in of.items():
        plain &= np.isin(getattr(model, f"actuator_{name}"), [int(kind) for kind in kinds])
    scalar = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    joint = model.actuator_trnid[:, 0]
    return [k for k in range(model.nu) if not (plain[k] and scalar[joint[k]])]
