"""How large the error of a step is, from its stages alone."""

import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import FloatScalar
from .._implicit import stop_gradient
from .._jax_internals import mix
from .._step import legendre, ModifiedJacobian, polynomial_nodes, Stages
from .._tableau import SparkTableau


# The errors of all the radians of a motion add up: so many of them are allowed for.
RADIANS = 10.0


class History(eqx.Module):
    """What the estimate remembers of the step before.

    - `acceleration`: the mean one.
    - `rho`: the frequency of the motion times the step size.
    - `h`: that step size; 0 before the first step.
    """

    acceleration: Float[Array, " nz"]
    rho: FloatScalar
    h: FloatScalar


def no_history(z: Float[Array, " nz"]) -> History:
    """The history before the first step."""
    none = jnp.zeros((), z.dtype)
    return History(jnp.zeros_like(z), none, none)


class StepError(eqx.Module):
    """The estimated error of a step in `y` and `z`, and what the next one remembers of it."""

    y: Float[Array, " ny"]
    z: Float[Array, " nz"]
    history: History


def estimate(
    tableau: SparkTableau,
    jacobian: ModifiedJacobian,
    z0: Float[Array, " nz"],
    h: FloatScalar,
    stages: Stages,
    history: History,
) -> StepError:
    r"""The error of a step, in every entry of the state, proportional to `h^order`.

    The stages lie on a polynomial, whose coefficients tell the derivatives `d_k = h^k z^{(k)}`
    up to the highest degree `q`. With their sizes in the mass metric, and `mu = rho^2` as the
    step before found it,

        rho^4 = mu (|d_q|^2 + mu |d_{q-1}|^2) / (|d_{q-1}|^2 + mu |d_{q-2}|^2)

    is `(omega h)^4` for a motion of frequency `omega`, an oscillation in any phase or a rotation:
    where two of the three vanish, it remains what it was. The first step starts from `mu = |d_q| /
    |d_{q-2}|`, which tells `omega` of a start at rest, too.
    The estimate for `z` is

        10 C rho^(order - q) sqrt(e_q^2 + rho^2 e_{q-1}^2),

    with the error constant `C` of the method, and for `y` the same with `h v_z e_{k-1}` in place
    of `e_k`. Of `d_k`, `e_k` is the part along the constraints, for the other is theirs to
    determine: it is what the matrix K2 of Newton's iteration leaves over, which so filters
    the stiffest of all forces out of the estimate. It is the error made in ten radians of the
    motion, not in one step, so that the error at a given time is proportional to it.

    Methods whose polynomial is of degree 1 take `d_2` from the difference to the step before.

    **Arguments:**

    - `tableau`: the method.
    - `jacobian`: the factors that the Newton iteration of the step used.
    - `z0`, `h`, `stages`: where the step started, its size, and its converged stages.
    - `history`: that of the step before.

    **Returns:** the estimate, through which no gradient flows.

    Source: `rho` and the estimate are this project's, measured by `python -m benchmarks figures
    adaptive --only proportionality`. For an oscillation `|d_k|` is the amplitude, `(omega h)^k`
    and, in turn, `|cos|` and `|sin|` of the phase, multiplied, which gives both. The restriction
    to the independent coordinates is that of J. Yen & L. Petzold, *An efficient Newton-type
    iteration for the numerical solution of highly oscillatory constrained multibody dynamic
    systems*, equation (2.27).
    """
    jacobian, z0, h, stages, history = stop_gradient((jacobian, z0, h, stages, history))
    degree = polynomial_degree(tableau)
    # Differences from the start: it would only add rounding errors to derivatives.
    values = jnp.concatenate([jnp.zeros_like(z0)[None, :], stages.z - z0[None, :]])
    derivatives = mix(derivative_weights(tableau), values)
    if degree <= 2:
        derivatives = derivatives.at[0].add(z0)
    acceleration = derivatives[1] / h
    if degree == 1:
        derivatives = _with_history(derivatives, h, history)
    rho = _frequency(jacobian, derivatives, h, history)
    d = jacobian.tangential(derivatives, stages)
    # A method of order 1 needs no more than the first derivative.
    top = min(max(degree, 2), tableau.order)
    upper, lower, lowest = (d[2], d[1], d[0]) if top > 1 else (d[1], d[0], d[0])
    scale = RADIANS * error_constant(tableau) * rho ** (tableau.order - top)

    def size(a, b):
        return scale * jnp.sqrt(a**2 + rho**2 * b**2)

    def along(x):
        moves = x if jacobian.v_z is None else jacobian.v_z.times(x[None, :])[0]
        return h * moves

    return StepError(
        size(along(lower), along(lowest)), size(upper, lower), History(acceleration, rho, h)
    )


def _frequency(
    jacobian: ModifiedJacobian,
    derivatives: Float[Array, "3 nz"],
    h: FloatScalar,
    history: History,
) -> FloatScalar:
    """`rho`, from the sizes of the derivatives in the mass metric."""
    momenta = jacobian.p_z.times(derivatives)
    low, middle, high = jnp.abs(jnp.sum(derivatives * momenta, 1))

    def ratio(a, b):
        return jnp.where(b > 0, a / jnp.where(b > 0, b, 1), 0)

    mu = jnp.where(low > 0, jnp.sqrt(ratio(high, low)), ratio(high, middle))
    last = jnp.where(history.h == 0, 1, history.h)
    mu = jnp.where(history.rho > 0, (history.rho * h / last) ** 2, mu)
    return (mu * ratio(high + mu * middle, middle + mu * low)) ** 0.25


def _with_history(moved: Float[Array, "2 nz"], h: FloatScalar, history: History) -> Array:
    """`d_0, d_1, d_2`, the last by the change of the acceleration from the step before."""
    mean, first = moved
    change = 2 * h * (first - h * history.acceleration) / (h + history.h)
    sizes = jnp.linalg.norm(first), jnp.linalg.norm(mean)
    ratio = jnp.minimum(1.0, sizes[0] / jnp.where(sizes[1] > 0, sizes[1], 1))
    return jnp.stack([mean, first, jnp.where(history.h == 0, ratio * first, change)])


def polynomial_degree(tableau: SparkTableau) -> int:
    """The degree of the polynomial on which the stages and both ends lie."""
    inner = [c for c in tableau.c if 0 < c < 1]
    # With all stages inside, that of the forces: a collocation polynomial has no degree s + 1.
    return len(inner) if len(inner) == tableau.stages else len(inner) + 1


def derivative_weights(tableau: SparkTableau) -> np.ndarray:
    """Rows that, applied to `z_0, Z_1..Z_s, z_1`, give `d_k` for the highest two or three `k`.

    From the coefficients `a_k` of the shifted Legendre polynomials: `d_k = 2^k (2k - 1)!! a_k`
    to leading order.
    """
    nodes, known = polynomial_nodes(tableau)
    coefficients = np.linalg.inv(legendre(np, nodes, len(nodes) - 1)) @ known
    degree = polynomial_degree(tableau)
    rows = range(max(degree - 2, 0), degree + 1)
    return np.stack([coefficients[k] * 2.0**k * _double_factorial(2 * k - 1) for k in rows])


def _double_factorial(n: int) -> int:
    return math.prod(range(n, 0, -2))


def error_constant(tableau: SparkTableau) -> float:
    """The first coefficient in which the stability function differs from `exp`.

    Source: E. Hairer & G. Wanner, *Solving Ordinary Differential Equations II*, IV.3.
    """
    series = tableau.b @ np.linalg.matrix_power(tableau.A, tableau.order)
    return abs(float(np.sum(series)) - 1 / math.factorial(tableau.order + 1))
