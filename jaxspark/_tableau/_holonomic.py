"""Where holonomic constraints hold, and how their forces enter."""

from typing import Any

import numpy as np

from ._quadrature import integrate_lagrange, lobatto_nodes


def real_array(name: str, value: Any) -> np.ndarray:
    """An array of finite real numbers, in extended precision.

    **Raises:** `ValueError`, with the name, if it is something else.
    """
    try:
        given = np.asarray(value)
        array = np.asarray(np.real(given), np.longdouble)
    except (TypeError, ValueError):
        given = array = np.array("no number")
    imaginary = np.iscomplexobj(given) or any(
        np.iscomplexobj(x) for x in (given.flat if given.dtype == object else ())
    )
    if not np.issubdtype(array.dtype, np.floating) or imaginary:
        raise ValueError(f"{name} must be an array of real numbers.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds a number that is not finite.")
    return array


def holonomic_coefficients(c: np.ndarray, b: np.ndarray) -> dict[str, np.ndarray]:
    """`c_tilde`, `b_tilde`, `A_bar` and `A_tilde` for constraints at Lobatto nodes.

    These are the `s` stages, if they are the Lobatto nodes, else `s + 1` nodes. `A_bar`
    integrates the polynomial through the velocities of the stages, and `A_tilde` is its
    symplectic partner: `b_i A_tilde_ij + b_tilde_j A_bar_ji = b_i b_tilde_j`.

    **Raises:** `ValueError` if `c` and `b` are not two vectors of one length, the entries of
    `c` distinct, those of `b` not zero and those of interpolatory quadrature.

    Source: L. O. Jay, *On modified Newton iterations for SPARK methods applied to constrained
    systems in mechanics*, section 2; for the Lobatto stages *Symplectic partitioned
    Runge-Kutta methods for constrained Hamiltonian systems*, SIAM J. Numer. Anal. 33 (1996).
    """
    s = c.size
    if c.ndim != 1 or b.shape != c.shape or s == 0:
        raise ValueError(f"c and b must be vectors of one length; got {c.shape} and {b.shape}.")
    if np.any(b == 0) or len(np.unique(c)) < s:
        raise ValueError("A SPARK tableau needs nonzero weights b and distinct c.")
    at_stages = s > 1 and np.allclose(
        np.asarray(c, float), np.asarray(lobatto_nodes(s), float), rtol=0, atol=1e-14
    )
    c_tilde = lobatto_nodes(s if at_stages else s + 1)
    A_bar = integrate_lagrange(c, c_tilde)
    A_bar[0] = 0
    if not np.allclose(np.asarray(A_bar[-1] - b, float), 0, rtol=0, atol=1e-13):
        raise ValueError(
            "b must hold the weights of interpolatory quadrature on c, sum_j b_j c_j^{i-1} = 1/i "
            f"for i = 1..{s}: the coordinates at the constraint nodes are interpolated, and the "
            "last node is the end of the step."
        )
    b_tilde = integrate_lagrange(c_tilde, np.ones(1, np.longdouble))[0]
    A_tilde = b_tilde[None, :] * (1 - A_bar.T / b[:, None])
    # What these have exactly must not be rounding errors: the force at the end of the step
    # moves only the end, and that at its start moves all stages alike.
    A_tilde[:, -1], A_tilde[:, 0] = 0, b_tilde[0]
    return dict(c_tilde=c_tilde, b_tilde=b_tilde, A_bar=A_bar, A_tilde=A_tilde)
