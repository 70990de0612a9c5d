"""Collocation methods as SPARK tableaux: Gauss and Radau IIA."""

import numpy as np

from ._quadrature import integrate_lagrange, lobatto_nodes
from ._spark import SparkTableau


def collocation_spark(name: str, order: int, nodes: np.ndarray) -> SparkTableau:
    """The (s,s)-SPARK tableau of the collocation method on `nodes`.

    The constraint nodes are the `s + 1` Lobatto nodes, and `A_tilde` is the symplectic
    partner of `A_bar`: `b_i A_tilde_ij + b_tilde_j A_bar_ji = b_i b_tilde_j`.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, section 2.
    """
    c_tilde = lobatto_nodes(len(nodes) + 1)
    A = integrate_lagrange(nodes, nodes)
    A_bar = integrate_lagrange(nodes, c_tilde)
    b = A_bar[-1]
    b_tilde = integrate_lagrange(c_tilde, np.ones(1, np.longdouble))[0]
    A_tilde = b_tilde[None, :] * (1 - A_bar.T / b[:, None])
    # The last constraint node is the end of the step, where A_bar repeats b.
    A_tilde[:, -1] = 0
    arrays = dict(
        c=nodes, b=b, A=A, A_hat=A, b_hat=b, c_tilde=c_tilde, b_tilde=b_tilde,
        A_bar=A_bar, A_tilde=A_tilde,
    )  # fmt: skip
    rounded = {key: np.asarray(value, np.float64) for key, value in arrays.items()}
    return SparkTableau(name=name, order=order, **rounded)
