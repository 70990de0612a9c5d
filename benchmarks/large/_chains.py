"""Chains of rigid rods, planar and spatial, one after the other from the ground.

All rods of a chain together have length 1 m and mass 1 kg; gravity is along the second axis of
the plane, or the third of space.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxspark


GRAVITY = 9.81
# Principal moments of a rod of unit mass and length, about its own axis and across it.
INERTIA = (0.02, 0.08, 0.09)


@dataclass(frozen=True, eq=False)
class Model:
    """A mechanism and where it starts.

    - `name`: in the report.
    - `system`: the equations; `args`: the mass (kg) of each body and what all have in common.
    - `y0`, `z0`: consistent initial coordinates and velocities, one row for each body.
    """

    name: str
    system: jaxspark.MultibodySystem
    y0: np.ndarray
    z0: np.ndarray
    args: dict[str, Any]

    @property
    def bodies(self) -> int:
        """How many there are."""
        return len(self.y0)


def masses_of(args: dict[str, Any]) -> Any:
    """What each body has of its own."""
    return args["masses"]


def rod_mass(t, y, own, args):
    """`diag(m, m, m l^2 / 12)` of a uniform planar rod, its diagonal."""
    del t
    one = jnp.ones((), y.dtype)
    return own * jnp.stack([one, one, one * args["length"] ** 2 / 12])


def rod_weight(t, y, z, own, args):
    """Gravity along `-y`."""
    del t, z
    return jnp.asarray([0.0, -1.0, 0.0], y.dtype) * own * args["gravity"]


def half_rod(theta, args):
    """From the centre of a planar rod to its end."""
    return args["length"] / 2 * jnp.stack([jnp.cos(theta), jnp.sin(theta)])


def _hinge(t, a, b, own, args):
    """Rod `a` begins where rod `b` ends."""
    del t, own
    return a[:2] - half_rod(a[2], args) - b[:2] - half_rod(b[2], args)


def _pin(t, a, ground, own, args):
    """The first rod begins at the origin."""
    del t, ground, own
    return a[:2] - half_rod(a[2], args)


def planar_chain(n: int, angle: float = -np.pi / 4) -> Model:
    """Straight and at rest, at an angle (rad) from the horizontal: by default 45 degrees below."""
    length = 1 / n
    joints = [jaxspark.Joint(_pin, [(0, -1)], name="pin")]
    if n > 1:
        joints.append(jaxspark.Joint(_hinge, _links(n)[1:], name="hinge"))
    system = jaxspark.MultibodySystem(
        rod_mass,
        rod_weight,
        joints,
        own=masses_of,
    )
    along = (np.arange(n) + 0.5) * length
    y0 = np.stack([along * np.cos(angle), along * np.sin(angle), np.full(n, angle)], 1)
    return Model(f"planar chain, N = {n}", system, y0, np.zeros((n, 3)), _args(n))


def horizontal_chain(n: int) -> Model:
    """That of the problem `chain_rods`, released from the horizontal."""
    return planar_chain(n, 0.0)


def _links(n: int) -> list[tuple[int, int]]:
    return [(i, i - 1) for i in range(n)]


def _args(n: int) -> dict[str, Any]:
    return {"masses": np.full(n, 1 / n), "length": 1 / n, "gravity": GRAVITY}


def _velocity(t, y, z, own, args):
    """`x' = u`, `p0' = -pv.W / 2`, `pv' = (p0 W + pv x W) / 2`."""
    del t, own, args
    (p0, p1, p2, p3), (a, b, c) = y[3:], z[3:]
    rates = (
        -p1 * a - p2 * b - p3 * c,
        p0 * a + p2 * c - p3 * b,
        p0 * b + p3 * a - p1 * c,
        p0 * c + p1 * b - p2 * a,
    )
    return jnp.concatenate([z[:3], 0.5 * jnp.stack(rates)])


def _moments(y, args):
    return args["length"] ** 2 * jnp.asarray(INERTIA, y.dtype)


def _spatial_mass(t, y, own, args):
    """`diag(m, m, m, Jx, Jy, Jz)`, its diagonal."""
    del t
    return own * jnp.concatenate([jnp.ones(3, y.dtype), _moments(y, args)])


def _spatial_force(t, y, z, own, args):
    """Gravity along `-z` and the gyroscopic torque `-W x J W`."""
    del t
    rate = z[3:]
    weight = jnp.asarray([0.0, 0.0, -1.0], y.dtype) * args["gravity"]
    return own * jnp.concatenate([weight, -jnp.cross(rate, _moments(y, args) * rate)])


def _half_body(p, args):
    """From the centre to the end of a rod along its first axis, `R(p) (l, 0, 0) / 2`."""
    p0, p1, p2, p3 = p
    axis = (p0**2 + p1**2 - p2**2 - p3**2, 2 * (p1 * p2 + p0 * p3), 2 * (p1 * p3 - p0 * p2))
    return args["length"] / 2 * jnp.stack(axis)


def _ball(t, a, b, own, args):
    """Rod `a` begins where rod `b` ends, free to turn any way."""
    del t, own
    return a[:3] - _half_body(a[3:], args) - b[:3] - _half_body(b[3:], args)


def _socket(t, a, ground, own, args):
    """The first rod begins at the origin."""
    del t, ground, own
    return a[:3] - _half_body(a[3:], args)


def spatial_chain(n: int) -> Model:
    """Straight, 45 degrees below the horizontal, turning slowly about the vertical.

    Beside that the rods spin about their own axes, each against the one before.
    """
    length, tilt, turning, spin = 1 / n, np.pi / 4, 0.5, 0.3
    joints = [jaxspark.Joint(_socket, [(0, -1)], name="socket")]
    if n > 1:
        joints.append(jaxspark.Joint(_ball, _links(n)[1:], name="ball"))
    system = jaxspark.MultibodySystem(
        _spatial_mass,
        _spatial_force,
        joints,
        velocity=_velocity,
        own=masses_of,
    )
    axis = np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    along = ((np.arange(n) + 0.5) * length)[:, None]
    quaternion = np.array([np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0])
    y0 = np.concatenate([along * axis, np.tile(quaternion, (n, 1))], 1)
    # The vertical in body axes is (-sin, 0, cos).
    rates = np.tile(turning * np.array([-np.sin(tilt), 0.0, np.cos(tilt)]), (n, 1))
    rates[:, 0] += spin * (-1.0) ** np.arange(n)
    z0 = np.concatenate([along * np.cross([0.0, 0.0, turning], axis), rates], 1)
    return Model(f"spatial chain, N = {n}", system, y0, z0, _args(n))
