"""Andrews' squeezing mechanism: seven bodies, three loops, one degree of freedom."""

import jax.numpy as jnp
import numpy as np

import jaxspark

from ._problem import Problem, reference_loader


# Masses (kg), moments of inertia (kg m^2), positions and lengths (m), spring (N/m, m) and
# driving moment (N m), with the names of the sources.
PARAMETERS = {
    "m1": 0.04325, "m2": 0.00365, "m3": 0.02373, "m4": 0.00706, "m5": 0.07050,
    "m6": 0.00706, "m7": 0.05498,
    "I1": 2.194e-6, "I2": 4.410e-7, "I3": 5.255e-6, "I4": 5.667e-7, "I5": 1.169e-5,
    "I6": 5.667e-7, "I7": 1.912e-5,
    "xa": -0.06934, "ya": -0.00227, "xb": -0.03635, "yb": 0.03273, "xc": 0.014, "yc": 0.072,
    "c0": 4530.0, "l0": 0.07785, "mom": 0.033,
    "d": 0.028, "da": 0.0115, "e": 0.02, "ea": 0.01421, "rr": 0.007, "ra": 0.00092,
    "ss": 0.035, "sa": 0.01874, "sb": 0.01043, "sc": 0.018, "sd": 0.02, "ta": 0.02308,
    "tb": 0.00916, "u": 0.04, "ua": 0.01228, "ub": 0.00449, "zf": 0.02, "zt": 0.04,
    "fa": 0.01421,
}  # fmt: skip


def mass(t, q, args):
    """The mass matrix, shape `(7, 7)`."""
    del t
    a = args
    _, th, _, ph, _, om, _ = q
    h, k = a["e"] - a["ea"], a["zf"] - a["fa"]
    link = a["m2"] * (a["da"] ** 2 - a["da"] * a["rr"] * jnp.cos(th)) + a["I2"]
    crank = a["rr"] ** 2 - 2 * a["da"] * a["rr"] * jnp.cos(th) + a["da"] ** 2
    m11 = a["m1"] * a["ra"] ** 2 + a["m2"] * crank + a["I1"] + a["I2"]
    m22 = a["m2"] * a["da"] ** 2 + a["I2"]
    m33 = a["m3"] * (a["sa"] ** 2 + a["sb"] ** 2) + a["I3"]
    m44 = a["m4"] * h**2 + a["I4"]
    m45 = a["m4"] * (h**2 + a["zt"] * h * jnp.sin(ph)) + a["I4"]
    m55 = (
        a["m4"] * (a["zt"] ** 2 + 2 * a["zt"] * h * jnp.sin(ph) + h**2)
        + a["m5"] * (a["ta"] ** 2 + a["tb"] ** 2)
        + a["I4"] + a["I5"]
    )  # fmt: skip
    m66 = a["m6"] * k**2 + a["I6"]
    m67 = a["m6"] * (k**2 - a["u"] * k * jnp.sin(om)) + a["I6"]
    m77 = (
        a["m6"] * (k**2 - 2 * a["u"] * k * jnp.sin(om) + a["u"] ** 2)
        + a["m7"] * (a["ua"] ** 2 + a["ub"] ** 2)
        + a["I6"] + a["I7"]
    )  # fmt: skip
    rows = [
        [m11, link, 0.0, 0.0, 0.0, 0.0, 0.0],
        [link, m22, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, m33, 0.0, 0.0, 0.0, 0.0],
        [0.0, 0.0, 0.0, m44, m45, 0.0, 0.0],
        [0.0, 0.0, 0.0, m45, m55, 0.0, 0.0],
        [0.0, 0.0, 0.0, 0.0, 0.0, m66, m67],
        [0.0, 0.0, 0.0, 0.0, 0.0, m67, m77],
    ]
    return jnp.array(rows, q.dtype)


def force(t, q, v, args):
    """Spring, driving moment, Coriolis and centrifugal forces (N m), shape `(7,)`."""
    del t
    a = args
    _, th, ga, ph, _, om, _ = q
    beta, theta, _, phi, delta, omega, epsilon = v
    h, k = a["e"] - a["ea"], a["zf"] - a["fa"]
    x_arm = a["sd"] * jnp.cos(ga) + a["sc"] * jnp.sin(ga)
    y_arm = a["sd"] * jnp.sin(ga) - a["sc"] * jnp.cos(ga)
    x, y = x_arm + a["xb"] - a["xc"], y_arm + a["yb"] - a["yc"]
    length = jnp.sqrt(x**2 + y**2)
    pull = -a["c0"] * (length - a["l0"]) / length
    crank = a["m2"] * a["da"] * a["rr"] * jnp.sin(th)
    left = a["m4"] * a["zt"] * h * jnp.cos(ph)
    right = a["m6"] * a["u"] * k * jnp.cos(om)
    return jnp.stack(
        [
            a["mom"] - crank * theta * (theta + 2 * beta),
            crank * beta**2,
            pull * (y * x_arm - x * y_arm),
            left * delta**2,
            -left * phi * (phi + 2 * delta),
            -right * epsilon**2,
            right * omega * (omega + 2 * epsilon),
        ]
    )


def holonomic(t, q, args):
    """The three loops, closed at one point, shape `(6,)` (m)."""
    del t
    a = args
    be, th, ga, ph, de, om, ep = q
    x = a["rr"] * jnp.cos(be) - a["d"] * jnp.cos(be + th)
    y = a["rr"] * jnp.sin(be) - a["d"] * jnp.sin(be + th)
    return jnp.stack(
        [
            x - a["ss"] * jnp.sin(ga) - a["xb"],
            y + a["ss"] * jnp.cos(ga) - a["yb"],
            x - a["e"] * jnp.sin(ph + de) - a["zt"] * jnp.cos(de) - a["xa"],
            y + a["e"] * jnp.cos(ph + de) - a["zt"] * jnp.sin(de) - a["ya"],
            x - a["zf"] * jnp.cos(om + ep) - a["u"] * jnp.sin(ep) - a["xa"],
            y - a["zf"] * jnp.sin(om + ep) + a["u"] * jnp.cos(ep) - a["ya"],
        ]
    )


def andrews() -> Problem:
    """`y = (be, th, ga, ph, de, om, ep)` (rad), released at rest, 0.03 s.

    Source: F. Mazzia & C. Magherini, *Test Set for IVP Solvers*, Andrews' squeezing
    mechanism; E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.7.
    """
    y0 = [
        -0.0617138900142764496, 0.0, 0.455279819163070380, 0.222668390165885885,
        0.487364979543842550, -0.222668390165885885, 1.23054744454982119,
    ]  # fmt: skip
    return Problem(
        name="andrews",
        system=jaxspark.MechanicalSystem(mass, force, holonomic),
        t0=0.0,
        t_end=0.03,
        y0=np.array(y0),
        z0=np.zeros(7),
        args=dict(PARAMETERS),
        reference=reference_loader("andrews"),
    )
