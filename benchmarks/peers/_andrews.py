"""Andrews' squeezing mechanism, with the letters of its source."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._mechanism import Mechanism, Scalars


M1, M2, M3, M4, M5, M6, M7 = 0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498
I1, I2, I3, I4 = 2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7
I5, I6, I7 = 1.169e-5, 5.667e-7, 1.912e-5
XA, YA, XB, YB, XC, YC = -0.06934, -0.00227, -0.03635, 0.03273, 0.014, 0.072
D, DA, E, EA, RR, RA = 28e-3, 115e-4, 2e-2, 1421e-5, 7e-3, 92e-5
SS, SA, SB, SC, SD, TA, TB = 35e-3, 1874e-5, 1043e-5, 18e-3, 2e-2, 2308e-5, 916e-5
U, UA, UB, ZF, ZT, FA = 4e-2, 1228e-5, 449e-5, 2e-2, 4e-2, 1421e-5
C0, L0, MOM = 4530.0, 0.07785, 0.033


class Andrews(Mechanism):
    """Seven angles, six loop constraints; 0.03 s.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, VII.7.
    """

    name = "andrews"
    q0 = np.array([
        -0.0617138900142764496358948458001, 0.0, 0.455279819163070380255912382449,
        0.222668390165885884674473185609, 0.487364979543842550225598953530,
        -0.222668390165885884674473185609, 1.23054744454982119249735015568,
    ])  # fmt: skip
    v0 = np.zeros(7)
    t_end = 0.03

    def mass(self, m: Any, q: Scalars) -> Sequence[Scalars]:
        """The mass matrix."""
        _, th, _, ph, _, om, _ = q
        ct, sp, so = m.cos(th), m.sin(ph), m.sin(om)
        e, f = E - EA, ZF - FA
        m11 = M1 * RA**2 + M2 * (RR**2 - 2 * DA * RR * ct + DA**2) + I1 + I2
        m12 = M2 * (DA**2 - DA * RR * ct) + I2
        m45 = M4 * (e**2 + ZT * e * sp) + I4
        m55 = M4 * (ZT**2 + 2 * ZT * e * sp + e**2) + M5 * (TA**2 + TB**2) + I4 + I5
        m67 = M6 * (f**2 - U * f * so) + I6
        m77 = M6 * (f**2 - 2 * U * f * so + U**2) + M7 * (UA**2 + UB**2) + I6 + I7
        return [
            [m11, m12, 0.0, 0.0, 0.0, 0.0, 0.0],
            [m12, M2 * DA**2 + I2, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, M3 * (SA**2 + SB**2) + I3, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, M4 * e**2 + I4, m45, 0.0, 0.0],
            [0.0, 0.0, 0.0, m45, m55, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0, M6 * f**2 + I6, m67],
            [0.0, 0.0, 0.0, 0.0, 0.0, m67, m77],
        ]

    def force(self, m: Any, t: Any, q: Scalars, v: Scalars) -> Scalars:
        """The drive, the spring and the terms quadratic in the velocities."""
        del t
        _, th, ga, ph, _, om, _ = q
        bp, tp, _, pp, dp, op, xp = v
        sg, cg = m.sin(ga), m.cos(ga)
        xd, yd = SD * cg + SC * sg + XB, SD * sg - SC * cg + YB
        length = m.sqrt((xd - XC) * (xd - XC) + (yd - YC) * (yd - YC))
        pull = -C0 * (length - L0) / length
        fx, fy = pull * (xd - XC), pull * (yd - YC)
        e, f = E - EA, ZF - FA
        return [
            MOM - M2 * DA * RR * tp * (tp + 2 * bp) * m.sin(th),
            M2 * DA * RR * bp * bp * m.sin(th),
            fx * (SC * cg - SD * sg) + fy * (SD * cg + SC * sg),
            M4 * ZT * e * dp * dp * m.cos(ph),
            -M4 * ZT * e * pp * (pp + 2 * dp) * m.cos(ph),
            -M6 * U * f * xp * xp * m.cos(om),
            M6 * U * f * op * (op + 2 * xp) * m.cos(om),
        ]

    def holonomic(self, m: Any, t: Any, q: Scalars) -> Scalars:
        """Three loops close."""
        del t
        be, th, ga, ph, de, om, ep = q
        ax = RR * m.cos(be) - D * m.cos(be + th)
        ay = RR * m.sin(be) - D * m.sin(be + th)
        return [
            ax - SS * m.sin(ga) - XB,
            ay + SS * m.cos(ga) - YB,
            ax - E * m.sin(ph + de) - ZT * m.cos(de) - XA,
            ay + E * m.cos(ph + de) - ZT * m.sin(de) - YA,
            ax - ZF * m.cos(om + ep) - U * m.sin(ep) - XA,
            ay - ZF * m.sin(om + ep) + U * m.cos(ep) - YA,
        ]
