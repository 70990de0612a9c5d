"""A slider crank with an elastic connecting rod and a prescribed crank angle."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import load_reference, Problem, reference_loader


# As in the test set, on purpose.
PI = 3.1415927

# Masses (kg), lengths (m), moments of inertia (kg m^2), modulus (Pa), width and height (m),
# density (kg/m^3) and angular velocity of the crank (rad/s), with the names of the sources.
PARAMETERS = {
    "m1": 0.36, "m2": 0.151104, "m3": 0.075552, "l1": 0.15, "l2": 0.30,
    "J1": 0.002727, "J2": 0.0045339259, "E": 2e11, "b": 0.008, "h": 0.008,
    "rho": 7870.0, "Om": 150.0,
}  # fmt: skip


def _elastic(args, dtype):
    """`(MQ, KQ, BQ, c1, c2, c12, c21)` of the four elastic coordinates."""
    volume = args["b"] * args["h"] * args["l2"]
    axial = args["E"] * args["b"] * args["h"] / args["l2"]
    slender = (args["h"] / args["l2"]) ** 2
    inertia = [
        [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 8.0, 1.0],
        [0.0, 0.0, 1.0, 2.0],
    ]  # fmt: skip
    stiffness = [
        [PI**4 / 24 * slender, 0.0, 0.0, 0.0],
        [0.0, 2 / 3 * PI**4 * slender, 0.0, 0.0],
        [0.0, 0.0, 16 / 3, -8 / 3],
        [0.0, 0.0, -8 / 3, 7 / 3],
    ]
    b13, b14, b24 = -16 / PI**3, 8 / PI**3 - 1 / PI, 1 / (2 * PI)
    coriolis = [
        [0.0, 0.0, b13, b14], [0.0, 0.0, 0.0, b24], [-b13, 0.0, 0.0, 0.0],
        [-b14, -b24, 0.0, 0.0],
    ]  # fmt: skip
    moments = [
        [0.0, 0.0, 2 / 3, 1 / 6], [2 / PI, 0.0, 0.0, 0.0], [0.0, 0.0, 1 / 3, 1 / 6],
        [1 / PI, -1 / (2 * PI), 0.0, 0.0],
    ]  # fmt: skip
    c1, c2, c12, c21 = volume * jnp.array(moments, dtype)
    return (
        args["rho"] * volume * jnp.array(inertia, dtype),
        axial * jnp.array(stiffness, dtype),
        volume * jnp.array(coriolis, dtype),
        c1, c2, args["l2"] * c12, args["l2"] * c21,
    )  # fmt: skip


def mass(t, y, args):
    """The mass matrix of rigid and elastic motion, shape `(7, 7)`."""
    del t
    mq, _, bq, c1, c2, c12, c21 = _elastic(args, y.dtype)
    l1, l2, m2, rho = args["l1"], args["l2"], args["m2"], args["rho"]
    c, s, q = jnp.cos(y[0] - y[1]), jnp.sin(y[0] - y[1]), y[3:]
    m12 = 0.5 * l1 * l2 * m2 * c + rho * l1 * (s * (c2 @ q) + c * (c1 @ q))
    m22 = args["J2"] + q @ (mq @ q) + 2 * rho * (c12 @ q)
    rigid = [
        [args["J1"] + m2 * l1**2, m12, 0.0], [m12, m22, 0.0], [0.0, 0.0, args["m3"]],
    ]  # fmt: skip
    coupling = jnp.stack(
        [
            rho * l1 * (c * c2 - s * c1),
            rho * c21 + rho * (q @ bq),
            jnp.zeros(4, y.dtype),
        ]
    )
    return jnp.block([[jnp.array(rigid, y.dtype), coupling], [coupling.T, mq]])


def force(t, y, v, args):
    """Coriolis, centrifugal and elastic forces, no gravity, shape `(7,)`.

    The test set's term `q' BQ q'` is left out: it vanishes, since `BQ` is antisymmetric.
    """
    del t
    mq, kq, bq, c1, c2, c12, _ = _elastic(args, y.dtype)
    l1, rho = args["l1"], args["rho"]
    beam = 0.5 * l1 * args["l2"] * args["m2"]
    c, s = jnp.cos(y[0] - y[1]), jnp.sin(y[0] - y[1])
    q, qdot, v1, v2 = y[3:], v[3:], v[0], v[1]
    f1 = (
        -beam * v2**2 * s
        + rho * l1 * v2**2 * (c * (c2 @ q) - s * (c1 @ q))
        - 2 * rho * l1 * v2 * (c * (c1 @ qdot) + s * (c2 @ qdot))
    )
    f2 = (
        beam * v1**2 * s
        + rho * l1 * v1**2 * (s * (c1 @ q) - c * (c2 @ q))
        - 2 * rho * v2 * (c12 @ qdot)
        - 2 * v2 * (qdot @ (mq @ q))
    )
    elastic = (
        v2**2 * (mq @ q)
        + rho * (v2**2 * c12 + l1 * v1**2 * (c * c1 + s * c2) + 2 * v2 * (bq @ qdot))
        - kq @ (q + args["damping"] * qdot)
    )
    return jnp.concatenate([jnp.stack([f1, f2, jnp.zeros_like(f1)]), elastic])


def holonomic(t, y, args):
    """Height and position of the slider (m), the prescribed angle (rad), shape `(3,)`."""
    rod = args["l2"] + y[6]
    return jnp.stack(
        [
            args["l1"] * jnp.sin(y[0]) + rod * jnp.sin(y[1]),
            y[2] - args["l1"] * jnp.cos(y[0]) - rod * jnp.cos(y[1]),
            y[0] - args["Om"] * t,
        ]
    )


def elastic_frequencies(args) -> np.ndarray:
    """Of the rod, undamped and at rest, from the lowest (rad/s), shape `(4,)`."""
    mq, kq, *_ = (np.asarray(x) for x in _elastic(args, jnp.result_type(float)))
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(mq, kq)).real))


def slider_crank_flexible(damping: float = 0.0) -> Problem:
    """`y = (ph1, ph2, x3, q1, q2, q3, q4)`: two lateral modes, two axial nodes; 0.1 s.

    Linear stiffness. The initial values are those of the test set, made consistent. The test set
    and the reference have no damping; here it may be `damping` (s) times the stiffness.

    Source: F. Mazzia & C. Magherini, *Test Set for IVP Solvers*, slider crank; B. Simeon,
    *Modelling a flexible slider crank mechanism by a mixed system of DAEs and PDEs*, Math.
    Modelling of Systems 2 (1996).
    """
    start = load_reference("slider_crank_flexible")
    return Problem(
        name="slider_crank_flexible",
        system=jaxspark.MechanicalSystem(mass, force, holonomic),
        t0=0.0,
        t_end=0.1,
        y0=np.array(start["y0"]),
        z0=np.array(start["z0"]),
        args={**PARAMETERS, "damping": damping},
        reference=None if damping else reference_loader("slider_crank_flexible"),
    )
