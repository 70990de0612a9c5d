r"""One step of an explicit method with projections: a loop over evaluations, and its derivatives.

The evaluations are the `s` stages, then pairs of projections, of positions and of velocities, as
many as rounding error asks for, three at most. Evaluation `e` is made at

    X_e = x + h sum_{j < s} R_ej K_j + sum_{s <= j < e} K_j,      t_e = t + c_e h,

with `R_ej = a_ej` for stages and `b_j` for projections, and gives the increment `K_e`; the step
ends at `X` after the last of them. Coefficients are looked up by `e`, so that there is one body.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._custom_types import BoolScalar, FloatScalar, IntScalar
from .._driver import AbstractRepeatable, at, GAINS, put, Step
from .._results import RESULTS
from ._derivatives import pull, push
from ._field import Field, Linearised, Parameters
from ._method import ExplicitMethod


# Rounds of projections, each of which squares the error of the constraints.
ROUNDS = 3
# What came of a step: its end may be used, the matrix of an evaluation was singular, a function of
# the system was not finite, or the projections did not converge.
GOOD, SINGULAR, NONFINITE, OFF_CONSTRAINTS = range(4)
REASONS = {
    SINGULAR: RESULTS.singular,
    NONFINITE: RESULTS.nonfinite,
    OFF_CONSTRAINTS: RESULTS.projection_failed,
}


class ExplicitStep(AbstractRepeatable):
    """Steps of an explicit method on a field, each with its projections.

    **Arguments:**

    - `field`: the evaluations.
    - `method`: with its coefficients.
    """

    probes, gains = True, GAINS

    def __init__(self, field: Field, method: ExplicitMethod):
        self.field, self.method = field, method
        kinds = (["positions"] if field.nlam else []) + (["velocities"] if field.m else [])
        s = method.stages
        self.stages, self.round = s, len(kinds)
        self.most = s + ROUNDS * self.round
        self.stored = s + self.round
        self.rows = np.zeros((s + 1, self.most))
        self.rows[:s, :s], self.rows[s, :s] = method.A, method.b
        self.nodes = np.concatenate([method.c, np.ones(self.most - s)])
        weights = [(1.0, 0.0, 0.0)] * s
        of_kind = {"positions": (0.0, 1.0, 0.0), "velocities": (0.0, 0.0, 1.0)}
        weights += [of_kind[kind] for kind in kinds] * ROUNDS
        self.weights = np.array(weights)

    @property
    def error_order(self) -> int:
        """The power of `h` in the estimated error."""
        return self.method.error_order

    def start(self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"]) -> Any:
        """Nothing is remembered; derivatives need the number of evaluations."""
        del parameters, t, x
        return (), jnp.zeros((), jnp.int32)

    def recalled(
        self, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"], note: IntScalar
    ) -> Any:
        """Nothing."""
        del t, h, x, note
        return ()

    def residuals(self, parameters: Parameters, t: FloatScalar, x: Float[Array, " n"]) -> Any:
        """`g`, `gdot` and `k`."""
        return self.field.residuals(parameters, t, x)

    def _at(self, table: np.ndarray, e: IntScalar, dtype: Any) -> Array:
        return jax.lax.dynamic_index_in_dim(jnp.asarray(table, dtype), e, 0, False)

    def _weights(self, e: IntScalar, dtype: Any) -> Any:
        row = self._at(self.weights, e, dtype)
        return row[0], row[1], row[2]

    def _row(self, e: IntScalar, dtype: Any) -> Float[Array, " e"]:
        """`R_e`, of the stages."""
        return self._at(self.rows, jnp.minimum(e, self.stages), dtype)

    def _projections(self, e: IntScalar, dtype: Any) -> Float[Array, " e"]:
        """One for each projection before evaluation `e`."""
        j = np.arange(self.most, dtype=np.int32)
        return jnp.asarray((j >= self.stages) & (j < e), dtype)

    def _place(self, e, t, h, x, K) -> tuple[FloatScalar, Float[Array, " n"]]:
        """`t_e` and `X_e`."""
        coefficients = h * self._row(e, x.dtype) + self._projections(e, x.dtype)
        return t + h * self._at(self.nodes, e, x.dtype), x + jnp.sum(coefficients[:, None] * K, 0)

    def _end(self, h, x, K, count) -> Float[Array, " n"]:
        last = jnp.asarray(self.stages, count.dtype)
        coefficients = h * self._row(last, x.dtype) + self._projections(count, x.dtype)
        return x + jnp.sum(coefficients[:, None] * K, 0)

    def evaluations(
        self, parameters: Parameters, t: FloatScalar, h: FloatScalar, x: Float[Array, " n"]
    ) -> tuple[Float[Array, "e n"], IntScalar, IntScalar]:
        """`K` of all evaluations, how many there are, and a verdict on them."""
        field = self.field
        # A Newton step squares the error.
        tight = float(jnp.finfo(x.dtype).eps) ** 0.5

        def body(carry):
            e, end, large, verdict, K = carry
            t_e, X = self._place(e, t, h, x, K)
            found = field.evaluate(parameters, t_e, X, self._weights(e, x.dtype))
            size = jnp.max(jnp.abs(found.increment) / (1 + jnp.abs(x)))
            stage = e < self.stages
            first = (e - self.stages) % max(self.round, 1) == 0
            large = ~stage & (~(size <= tight) | (large & ~first))
            more = (e == end - 1) & large & (end < self.most)
            end = jnp.where(more, end + self.round, end)
            code = jnp.where(found.regular, GOOD, SINGULAR)
            code = jnp.where(found.finite, code, NONFINITE).astype(verdict.dtype)
            verdict = jnp.where(verdict == GOOD, code, verdict)
            return e + 1, end, large, verdict, put(K, found.increment, e)

        start = (
            jnp.zeros((), jnp.int32), jnp.asarray(self.stored, jnp.int32),
            jnp.asarray(False), jnp.asarray(GOOD, jnp.int32),
            jnp.zeros((self.most, field.n), x.dtype),
        )  # fmt: skip
        _, end, large, verdict, K = jax.lax.while_loop(
            lambda carry: carry[0] < carry[1], body, start
        )
        verdict = jnp.where(large & (verdict == GOOD), OFF_CONSTRAINTS, verdict)
        return K, end, verdict.astype(jnp.int32)

    def repeated(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        count: IntScalar,
    ) -> tuple[Float[Array, "e n"], tuple[Linearised, Float[Array, "e n2"]]]:
        """The evaluations of a step with so many: `K`, what each needed, its solution."""

        def evaluate(e, K):
            t_e, X = self._place(e, t, h, x, K)
            return self.field.evaluate(parameters, t_e, X, self._weights(e, x.dtype))

        def trip(carry):
            e, K, kept = carry
            found = evaluate(e, K)
            return e + 1, put(K, found.increment, e), put(kept, (found.at, found.solution), e)

        zero, K = jnp.zeros((), jnp.int32), jnp.zeros((self.most, self.field.n), x.dtype)
        like = jax.eval_shape(evaluate, zero, K)
        room = lambda x: jnp.zeros((self.most, *x.shape), x.dtype)
        start = (zero, K, jax.tree.map(room, (like.at, like.solution)))
        return jax.lax.while_loop(lambda carry: carry[0] < count, trip, start)[1:]

    def make(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        memory: Any,
    ) -> Step:
        """The step from `x` at `t`, of size `h`."""
        del memory
        K, count, verdict = self.evaluations(parameters, t, h, x)
        x1 = self._end(h, x, K, count)
        error = self.method.estimate(h, x, x1, K[: self.stages])
        overflow = (verdict == GOOD) & ~jnp.all(jnp.isfinite(x1))
        verdict = jnp.where(overflow, NONFINITE, verdict)
        result = RESULTS.successful
        for code, reason in REASONS.items():
            result = RESULTS.where(verdict == code, reason, result)
        slopes = K[0], K[self.stages - 1]
        return Step(x1, error, count, (), count - self.stages, result, slopes)

    def pull(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: IntScalar,
        to_x1: Float[Array, " n"],
        to_parameters: Any,
    ) -> tuple[FloatScalar, FloatScalar, Float[Array, " n"], Any]:
        """The cotangents of `t`, `h` and `x` for that of the end.

        That of the parameters is added to `to_parameters`.
        """
        on = jnp.asarray(True)
        return self.pull_again(parameters, t, h, x, note, to_x1, to_parameters, on)[0]

    def pull_again(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: IntScalar,
        to_x1: Float[Array, " n"],
        to_parameters: Any,
        on: BoolScalar,
    ) -> tuple[tuple[FloatScalar, FloatScalar, Float[Array, " n"], Any], Float[Array, " n"]]:
        """The same, where `on`, and the end."""
        s, dtype = self.stages, x.dtype
        K, kept = self.repeated(parameters, t, h, x, note)
        last = jnp.asarray(s, jnp.int32)
        everything = jnp.asarray(self.most, jnp.int32)
        of_end = h * self._row(last, dtype) + self._projections(everything, dtype)

        def body(carry):
            e, total, later, to_t, to_h, to_parameters = carry
            t_e, X = self._place(e, t, h, x, K)
            column = jax.lax.dynamic_index_in_dim(jnp.asarray(self.rows[:s], dtype), e, 1, False)
            to_K = jax.lax.dynamic_index_in_dim(of_end, e, 0, False) * total
            to_K = to_K + h * jnp.sum(column[:, None] * later, 0)
            (linearised, solution), weights = at(kept, e), self._weights(e, dtype)
            dt, dX, dp = pull(self.field, parameters, t_e, X, weights, linearised, solution, to_K)
            slope = jnp.sum(self._row(e, dtype)[:, None] * K, 0)
            to_h = to_h + dt * self._at(self.nodes, e, dtype) + jnp.sum(dX * slope)
            projection = e >= s
            total = jnp.where(projection, total + dX, total)
            row = jnp.where(projection, jnp.zeros_like(dX), dX)
            later = put(later, row, jnp.minimum(e, s - 1))
            return e - 1, total, later, to_t + dt, to_h, jax.tree.map(jnp.add, to_parameters, dp)

        zero = jnp.zeros_like(t)
        slope = jnp.sum(self._row(last, dtype)[:, None] * K, 0)
        start = (
            jnp.where(on, note - 1, -1), to_x1, jnp.zeros((s, self.field.n), dtype),
            zero, jnp.sum(to_x1 * slope), to_parameters,
        )  # fmt: skip
        _, total, later, to_t, to_h, to_parameters = jax.lax.while_loop(
            lambda carry: carry[0] >= 0, body, start
        )
        to_x = total + jnp.sum(later, 0)
        return (to_t, to_h, to_x, to_parameters), self._end(h, x, K, note)

    def push(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: IntScalar,
        tangents: tuple[Any, FloatScalar, FloatScalar, Float[Array, " n"]],
        bounded: bool = False,
    ) -> Float[Array, " n"]:
        """The tangent of the end, for those of the parameters, `t`, `h` and `x`.

        - `bounded`: whether by a scan over all possible evaluations, which JAX can differentiate
            and transpose.
        """
        return self._pushed(parameters, t, h, x, note, tangents, bounded)[1]

    def push_again(
        self,
        parameters: Parameters,
        t: FloatScalar,
        h: FloatScalar,
        x: Float[Array, " n"],
        note: IntScalar,
        tangents: tuple[Any, FloatScalar, FloatScalar, Float[Array, " n"]],
    ) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """The end, and its tangent."""
        return self._pushed(parameters, t, h, x, note, tangents, False)

    def _pushed(self, parameters, t, h, x, note, tangents, bounded):
        dp, dt, dh, dx = tangents
        dtype = x.dtype

        def trip(carry, e):
            K, dK = carry
            t_e, X = self._place(e, t, h, x, K)
            weights, row = self._weights(e, dtype), self._row(e, dtype)
            found = self.field.evaluate(parameters, t_e, X, weights)
            coefficients = h * row + self._projections(e, dtype)
            dX = dx + jnp.sum(coefficients[:, None] * dK, 0) + dh * jnp.sum(row[:, None] * K, 0)
            along = (dp, dt + dh * self._at(self.nodes, e, dtype), dX)
            dk = push(self.field, parameters, t_e, X, weights, found.at, found.solution, along)
            k = found.increment
            if bounded:
                on = e < note
                k, dk = jnp.where(on, k, 0), jnp.where(on, dk, 0)
            return put(K, k, e), put(dK, dk, e)

        zeros = jnp.zeros((self.most, self.field.n), dtype)
        if bounded:
            steps = jnp.arange(self.most, dtype=jnp.int32)
            K, dK = jax.lax.scan(lambda c, e: (trip(c, e), None), (zeros, zeros), steps)[0]
        else:
            start = (jnp.zeros((), jnp.int32), (zeros, zeros))
            _, (K, dK) = jax.lax.while_loop(
                lambda c: c[0] < note, lambda c: (c[0] + 1, trip(c[1], c[0])), start
            )
        row = self._row(jnp.asarray(self.stages, jnp.int32), dtype)
        coefficients = h * row + self._projections(jnp.asarray(self.most, jnp.int32), dtype)
        dx1 = dx + jnp.sum(coefficients[:, None] * dK, 0) + dh * jnp.sum(row[:, None] * K, 0)
        return self._end(h, x, K, note), dx1
