"""Inertia of rigid bodies, physically consistent for any coordinates."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._transforms import AbstractTransform, as_float64, like, Numbers


# The distinct entries of an inertia matrix, row by row.
UPPER = tuple(np.array(index) for index in np.triu_indices(3))


def _floating(value: Numbers) -> Float[Array, "..."]:
    """An array of floating-point numbers; those that are keep their dtype."""
    value = jnp.asarray(value)
    return value if jnp.issubdtype(value.dtype, jnp.floating) else value.astype(float)


class RigidBody(eqx.Module):
    """Inertia of a rigid body in space.

    - `mass`: the mass (kg).
    - `centre`: the centre of mass, in the frame of the body (m), shape `(3,)`.
    - `inertia`: the inertia matrix about the centre of mass, in the axes of that frame (kg m^2),
        shape `(3, 3)`. Products of inertia have the sign of the matrix:
        `inertia[0, 1] = -integral x y dm`.
    """

    mass: Float[Array, "..."] = eqx.field(converter=_floating)
    centre: Float[Array, "... 3"] = eqx.field(converter=_floating)
    inertia: Float[Array, "... 3 3"] = eqx.field(converter=_floating)

    def pseudo_inertia(self) -> Float[Array, "4 4"]:
        """`[[S, h], [h^T, m]]`: second and first moments of mass about the origin, and mass.

        A body is physically consistent if and only if this matrix is positive definite
        (positive semi-definite for the limits: laminae, rods and points).
        """
        h = self.mass * self.centre
        eye = jnp.eye(3, dtype=self.inertia.dtype)
        second = 0.5 * jnp.trace(self.inertia) * eye - self.inertia + jnp.outer(h, self.centre)
        return jnp.block([[second, h[:, None]], [h[None], self.mass[None, None]]])

    def inertia_about(self, point: Numbers) -> Float[Array, "3 3"]:
        """The inertia matrix about another point of the frame (kg m^2), by Steiner's theorem.

        **Arguments:**

        - `point`: the point (m), shape `(3,)`.
        """
        arm = self.centre - like(point, self.centre)
        eye = jnp.eye(3, dtype=self.inertia.dtype)
        return self.inertia + self.mass * ((arm @ arm) * eye - jnp.outer(arm, arm))


class PlanarBody(eqx.Module):
    """Inertia of a rigid body that moves in a plane.

    - `mass`: the mass (kg).
    - `centre`: the centre of mass, in the frame of the body (m), shape `(2,)`.
    - `inertia`: the moment of inertia about the centre of mass, for the axis across the plane
        (kg m^2).
    """

    mass: Float[Array, "..."] = eqx.field(converter=_floating)
    centre: Float[Array, "... 2"] = eqx.field(converter=_floating)
    inertia: Float[Array, "..."] = eqx.field(converter=_floating)

    def inertia_about(self, point: Numbers) -> Float[Array, ""]:
        """The moment of inertia about another point of the frame (kg m^2).

        **Arguments:**

        - `point`: the point (m), shape `(2,)`.
        """
        arm = self.centre - like(point, self.centre)
        return self.inertia + self.mass * (arm @ arm)


class LogCholesky(AbstractTransform):
    """Ten numbers without bounds for the mass, centre and inertia of a body in space.

    The pseudo-inertia is `U U^T` with

        U = exp(a) [[exp(d1),  s12,     s13,     t1],
                    [0,        exp(d2), s23,     t2],
                    [0,        0,       exp(d3), t3],
                    [0,        0,       0,       1 ]].

    So the mass is `exp(2 a)`, the centre `t`, and the second moments about the centre are
    `m S S^T` with `S` the upper left block; the inertia is their trace less themselves. Every
    real vector is a body, and every body with a volume is one vector.

    Here `u = (a, t1, t2, t3, d1, s12, s13, d2, s23, d3)`: the mass depends on the first entry
    only, the centre on the next three, in the order of the values. Masses are counted in
    `mass`, the entries of `S` in `length` and those of `t` in `lever`.

    **Arguments:**

    - `mass`, `length`, `lever`: units (kg, m, m), positive.

    Source: C. Rucker, P. M. Wensing, Smooth parameterization of rigid-body inertia, IEEE
    Robotics and Automation Letters 7 (2022) 2771-2778.
    """

    mass: Float[np.ndarray, ""] = eqx.field(converter=as_float64)
    length: Float[np.ndarray, ""] = eqx.field(converter=as_float64)
    lever: Float[np.ndarray, ""] = eqx.field(converter=as_float64)

    def forward(self, u: Float[Array, "10"]) -> Float[Array, "10"]:
        """Mass, centre (3) and the six entries of the inertia, row by row."""
        mass = like(self.mass, u[0]) * jnp.exp(2 * u[0])
        centre = like(self.lever, u[1:4]) * u[1:4]
        s = jnp.zeros((3, 3), u.dtype).at[UPPER].set(u[4:])
        s = like(self.length, s) * (s - jnp.diag(jnp.diag(s)) + jnp.diag(jnp.exp(jnp.diag(s))))
        second = mass * (s @ s.T)
        inertia = jnp.trace(second) * jnp.eye(3, dtype=u.dtype) - second
        return jnp.concatenate([mass[None], centre, inertia[UPPER]])

    def inverse(self, value: Float[Array, "10"]) -> Float[Array, "10"]:
        a = 0.5 * jnp.log(value[0] / like(self.mass, value[0]))
        t = value[1:4] / like(self.lever, value[1:4])
        upper = jnp.zeros((3, 3), value.dtype).at[UPPER].set(value[4:])
        inertia = upper + jnp.triu(upper, 1).T
        second = 0.5 * jnp.trace(inertia) * jnp.eye(3, dtype=value.dtype) - inertia
        # The upper factor is the lower one of the matrix with rows and columns turned round.
        turned = (second / (value[0] * like(self.length, value[0]) ** 2))[::-1, ::-1]
        s = jnp.linalg.cholesky(turned)[::-1, ::-1]
        s = s - jnp.diag(jnp.diag(s)) + jnp.diag(jnp.log(jnp.diag(s)))
        return jnp.concatenate([a[None], t, s[UPPER]])

    def bounds(self, u: Float[Array, "10"]) -> tuple[Float[Array, "10"], Float[Array, "10"]]:
        positive = np.concatenate([[True], [False] * 3, UPPER[0] == UPPER[1]])
        return like(np.where(positive, 0.0, -np.inf), u), like(np.inf, u)


class LogPlanar(AbstractTransform):
    """Four numbers without bounds for the mass, centre and inertia of a body in a plane.

    Motion in a plane sees the trace of the second moments only, and any positive mass and any
    positive trace belong to some body. So `U` of [`LogCholesky`][] with its block `S` a multiple
    of the identity is enough: `mass = exp(2 a)`, `centre = t`, `inertia = mass exp(2 d)`, where
    `exp(d)` is the radius of gyration, and `u = (a, t1, t2, d)`.

    **Arguments:**

    - `mass`, `length`, `lever`: units of the mass, the radius of gyration and the centre (kg,
        m, m), positive.
    """

    mass: Float[np.ndarray, ""] = eqx.field(converter=as_float64)
    length: Float[np.ndarray, ""] = eqx.field(converter=as_float64)
    lever: Float[np.ndarray, ""] = eqx.field(converter=as_float64)

    def forward(self, u: Float[Array, "4"]) -> Float[Array, "4"]:
        """Mass, centre (2) and inertia."""
        mass = like(self.mass, u[0]) * jnp.exp(2 * u[0])
        centre = like(self.lever, u[1:3]) * u[1:3]
        inertia = mass * (like(self.length, u[3]) * jnp.exp(u[3])) ** 2
        return jnp.concatenate([mass[None], centre, inertia[None]])

    def inverse(self, value: Float[Array, "4"]) -> Float[Array, "4"]:
        mass, inertia = value[0], value[3]
        a = 0.5 * jnp.log(mass / like(self.mass, mass))
        t = value[1:3] / like(self.lever, value[1:3])
        d = 0.5 * jnp.log(inertia / (mass * like(self.length, mass) ** 2))
        return jnp.concatenate([a[None], t, d[None]])

    def bounds(self, u: Float[Array, "4"]) -> tuple[Float[Array, "4"], Float[Array, "4"]]:
        return like(np.array([0, -np.inf, -np.inf, 0]), u), like(np.inf, u)
