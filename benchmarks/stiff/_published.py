"""The tables of Yen & Petzold, and what an independent implementation counts.

Source: J. Yen & L. Petzold, *An efficient Newton-type iteration for the numerical solution of
highly oscillatory constrained multibody dynamic systems*, TR 96-028 (1996), section 5. Their CM
has its annihilator where the matrix was made: `"cm_frozen"`.
"""

from ._counts import Counts


# By tolerance, eps and formulation: published, and by another implementation (NumPy, with the same
# tests of DASSL).
TABLE_52 = [
    (1e-3, 1e-4, "ggl", Counts(109, 383, 56, 13, 0), Counts(90, 307, 55, 10, 0)),
    (1e-3, 1e-4, "ggl_star", Counts(109, 337, 45, 13, 0), Counts(90, 262, 48, 10, 0)),
    (1e-3, 1e-4, "cs", Counts(150, 474, 58, 20, 0), Counts(139, 394, 57, 16, 0)),
    (1e-3, 1e-4, "cm_frozen", Counts(72, 208, 31, 7, 0), Counts(87, 250, 42, 9, 0)),
    (1e-3, 1e-5, "ggl", Counts(105, 416, 68, 11, 0), Counts(103, 380, 73, 7, 1)),
    (1e-3, 1e-5, "ggl_star", Counts(105, 387, 47, 12, 0), Counts(103, 303, 52, 8, 0)),
    (1e-3, 1e-5, "cs", Counts(135, 455, 56, 18, 0), Counts(140, 420, 65, 12, 0)),
    (1e-3, 1e-5, "cm_frozen", Counts(66, 205, 32, 4, 0), Counts(73, 195, 44, 3, 0)),
    (1e-4, 1e-4, "ggl", Counts(822, 2534, 337, 78, 0), Counts(841, 2561, 355, 82, 0)),
    (1e-4, 1e-4, "ggl_star", Counts(818, 2572, 242, 82, 0), Counts(820, 2541, 243, 82, 0)),
    (1e-4, 1e-4, "cs", Counts(943, 2727, 217, 66, 0), Counts(956, 2738, 234, 69, 0)),
    (1e-4, 1e-4, "cm_frozen", Counts(193, 577, 56, 14, 0), Counts(180, 475, 69, 16, 0)),
]

# The sound CM forms, which the paper does not have: by another implementation alone.
TABLE_52_SOUND = [
    (1e-3, 1e-4, "cm_step", Counts(222, 667, 87, 30, 0)),
    (1e-3, 1e-5, "cm_step", Counts(215, 695, 91, 24, 0)),
    (1e-4, 1e-4, "cm_step", Counts(1012, 2830, 230, 60, 0)),
    (1e-3, 1e-4, "cm_true", Counts(420, 1431, 481, 8, 142)),
    (1e-3, 1e-5, "cm_true", Counts(522, 1867, 611, 11, 181)),
    (1e-4, 1e-4, "cm_true", Counts(963, 3320, 234, 61, 4)),
]

# Tolerance 1e-3, by eps and formulation.
TABLE_51 = [
    (1e-4, "ggl", Counts(446, 1713, 263, 47, 0)),
    (1e-4, "ggl_star", Counts(478, 1304, 127, 45, 0)),
    (1e-4, "cs", Counts(381, 1036, 106, 46, 0)),
    (1e-4, "cm_frozen", Counts(373, 963, 96, 38, 0)),
    (1e-5, "ggl", Counts(431, 1726, 261, 34, 2)),
    (1e-5, "ggl_star", Counts(500, 1324, 139, 52, 2)),
    (1e-5, "cs", Counts(447, 1281, 116, 56, 2)),
    (1e-5, "cm_frozen", Counts(456, 1180, 115, 58, 1)),
    (1e-6, "ggl", Counts(427, 1693, 275, 41, 8)),
    (1e-6, "ggl_star", Counts(478, 1247, 123, 44, 4)),
    (1e-6, "cs", Counts(414, 1139, 119, 38, 5)),
    (1e-6, "cm_frozen", Counts(325, 844, 81, 34, 1)),
]

# eps = 1e-3, by tolerance and formulation.
TABLE_53 = [
    (1e-3, "ggl", Counts(59, 141, 46, 0, 12)),
    (1e-3, "ggl_star", Counts(62, 154, 48, 0, 13)),
    (1e-3, "cs", Counts(62, 156, 48, 0, 13)),
    (1e-3, "cm_frozen", Counts(62, 156, 48, 0, 13)),
    (1e-4, "ggl", Counts(61, 136, 27, 1, 5)),
    (1e-4, "ggl_star", Counts(77, 193, 65, 1, 16)),
    (1e-4, "cs", Counts(77, 193, 65, 1, 16)),
    (1e-4, "cm_frozen", Counts(77, 193, 65, 1, 16)),
    (1e-5, "ggl", Counts(108, 259, 77, 1, 21)),
    (1e-5, "ggl_star", Counts(87, 215, 54, 0, 13)),
    (1e-5, "cs", Counts(87, 215, 54, 0, 13)),
    (1e-5, "cm_frozen", Counts(87, 215, 54, 0, 13)),
]

# eps = 1e-6, tolerance 1e-4.
TABLE_54 = {
    "ggl": Counts(5267, 10536, 7899, 0, 2633),
    "ggl_star": Counts(2251, 4900, 3360, 1, 1120),
    "cs": Counts(2252, 4901, 3361, 1, 1120),
    "cm_frozen": Counts(20, 40, 7, 0, 0),
}
