"""The benchmark bicycle of bodies and joints, and its linearised motion.

Source: J. P. Meijaard, J. M. Papadopoulos, A. Ruina & A. L. Schwab, *Linearized dynamics equations
for the balance and steer of a bicycle: a benchmark and review*, Proc. R. Soc. A 463 (2007): table 1
and equations (5.3), (6.1) to (6.4). There `z` points down, here up.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxspark
from jaxspark import multibody


BASE, TRAIL, TILT, SPEED = 1.02, 0.08, np.pi / 10, 5.0
M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
K0 = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
K2 = [[0, 76.59734589573222], [0, 2.65431523794604]]
C1 = [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]]


def bicycle() -> Any:
    """All frames are those of the ground where the bicycle stands upright."""
    inertia = lambda xx, yy, zz, xz: [[xx, 0, xz], [0, yy, 0], [xz, 0, zz]]
    bodies = [
        multibody.Body("rear", 2.0, com=(0, 0, 0.3), inertia=(0.0603, 0.12, 0.0603)),
        multibody.Body("frame", 85.0, com=(0.3, 0, 0.9), inertia=inertia(9.2, 11, 2.8, -2.4)),
        multibody.Body(
            "fork", 4.0, com=(0.9, 0, 0.7), inertia=inertia(0.05892, 0.06, 0.00708, 0.00756)
        ),
        multibody.Body("front", 3.0, com=(BASE, 0, 0.35), inertia=(0.1405, 0.28, 0.1405)),
    ]
    at = lambda *x: {"position": x, "child_position": x}
    y, tilted = (0, 1, 0), (-np.sin(TILT), 0, np.cos(TILT))
    joints = [
        multibody.Free("free", "ground", "frame"),
        multibody.Revolute("rear wheel", "frame", "rear", axis=y, **at(0, 0, 0.3)),
        multibody.Revolute("steer", "frame", "fork", axis=tilted, **at(BASE + TRAIL, 0, 0)),
        multibody.Revolute("front wheel", "fork", "front", axis=y, **at(BASE, 0, 0.35)),
    ]
    wheel = lambda name, radius, x: multibody.Rolling(
        f"{name} rolls", "ground", name, multibody.Disk(radius, axis=y),
        child_position=(x, 0, radius),
    )  # fmt: skip
    return multibody.Mechanism(
        bodies, joints, constraints=[wheel("rear", 0.3, 0), wheel("front", 0.35, BASE)]
    )


def published() -> np.ndarray:
    """The eigenvalues at `SPEED`, from the paper's matrices."""
    inverse = np.linalg.inv(M)
    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = -inverse @ (9.81 * np.array(K0) + SPEED**2 * np.array(K2))
    A[2:, 2:] = -inverse @ (SPEED * np.array(C1))
    return np.sort_complex(np.linalg.eigvals(A))


def eigenvalues(mechanism: Any) -> np.ndarray:
    """Of lean and steer and their rates about upright riding, by exact derivatives."""
    system, args = mechanism.system, mechanism.parameters
    y0, z0 = mechanism.state({}, {"rear wheel": SPEED / 0.3, "steer": 0.0, "free": straight()})
    steer_y, steer_z = (int(at[0]) for at in _at(mechanism, "steer", y0, z0))
    free_y, free_z = _at(mechanism, "free", y0, z0)
    spin = int(_at(mechanism, "rear wheel", y0, z0)[1][0])
    # Height and pitch follow from contact, all but these three velocities from rolling.
    hold_y = np.ones(y0.size, bool)
    hold_y[[free_y[2], free_y[5]]] = False
    hold_z = np.zeros(z0.size, bool)
    hold_z[[free_z[3], steer_z, spin]] = True

    def accelerations(x):
        y = y0.at[free_y[4]].set(x[0] / 2).at[steer_y].set(x[1])
        z = z0.at[free_z[3]].set(x[2]).at[steer_z].set(x[3])
        state = jaxspark.project(system, 0.0, y, z, args, hold_y=hold_y, hold_z=hold_z)
        of = jaxspark.multipliers(system, 0.0, state.y, state.z, args)
        return jnp.stack([of.zdot[free_z[3]], of.zdot[steer_z]])

    A = np.zeros((4, 4))
    A[:2, 2:] = np.eye(2)
    A[2:] = np.asarray(jax.jit(jax.jacfwd(accelerations))(jnp.zeros(4)))
    return np.sort_complex(np.linalg.eigvals(A))


def straight() -> list[float]:
    """The velocities of the frame."""
    return [SPEED, 0, 0, 0, 0, 0]


def _at(mechanism: Any, name: str, y: Any, z: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where a joint's coordinates and velocities are."""
    of_y = mechanism.coordinates(np.arange(y.size))[name]
    return of_y, mechanism.velocities(np.arange(z.size))[name]
