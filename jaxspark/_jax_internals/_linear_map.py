"""A linear map that is the solution of linear equations, and knows its transpose."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp

from ._primitive import ad, batching, full_batch, lowered_as, OwnPrimitive


Rule = Callable[[Any, Any], Any]


class LinearMap:
    """`lin -> U`, the solution of the linear equations `A(given) U = lin`.

    What `jax.lax.custom_linear_solve` does, but each rule is traced only by the transformation
    that needs it: values need none, first derivatives no `matvec`. It has derivatives of any order,
    forward and reverse, and batches. Without the primitive it is `jax.lax.custom_linear_solve`, or
    `again`.

    **Arguments:**

    - `forward`: `forward(given, lin)` is `U`.
    - `backward`: `backward(given, cotangent)`: the same with the transpose of `A`.
    - `matvec`: `matvec(given, U)` is `A(given) U`, by operations that JAX can transpose and
        differentiate with respect to `given`, too; `None` if there is `again`.
    - `lanes`: how a function of PyTrees is applied to each lane of a batch; `jax.vmap` by default.
    - `again`: in place of `matvec`: `again(given, lin)` is `U`, by operations that JAX can
        differentiate with respect to `given`, and transpose.

    All rules are functions of PyTrees of arrays, `U` and `lin` of one structure, and close over
    nothing that is traced.
    """

    def __init__(
        self,
        forward: Rule,
        backward: Rule,
        matvec: Rule | None,
        lanes: Callable[[Callable[..., Any]], Callable[..., Any]] = jax.vmap,
        again: Rule | None = None,
    ):
        self.forward, self.backward, self.matvec, self.lanes = forward, backward, matvec, lanes
        self.again = again

    @staticmethod
    def usable() -> bool:
        """Whether it is a primitive of its own."""
        return linear_map_p.usable()

    def __call__(self, given: Any, lin: Any) -> Any:
        """The solution for `lin`."""
        if not linear_map_p.usable():
            return self._plain(given, lin)
        arrays, static = eqx.partition(given, eqx.is_array)
        others, others_structure = jax.tree.flatten(arrays)
        leaves, structure = jax.tree.flatten(lin)

        def on_leaves(rule: Rule | None) -> Any:
            if rule is None:
                return None

            def call(others, leaves):
                arrays = jax.tree.unflatten(others_structure, others)
                given = eqx.combine(arrays, static)
                return jax.tree.leaves(rule(given, jax.tree.unflatten(structure, leaves)))

            return call

        forward, backward = on_leaves(self.forward), on_leaves(self.backward)
        matvec, again = on_leaves(self.matvec), on_leaves(self.again)
        flat = LinearMap(forward, backward, matvec, self.lanes, again)
        out = linear_map_p.bind(
            *others, *leaves, rules=flat, count=len(others), transposed=False, batched=0
        )
        return jax.tree.unflatten(structure, out)

    def _plain(self, given: Any, lin: Any) -> Any:
        if self.again is not None:
            return self.again(given, lin)
        matvec = self.matvec
        assert matvec is not None
        frozen = jax.lax.stop_gradient(given)
        # One vector: a right-hand side of many arrays, some of them constant, does not transpose.
        vector, unravel = jax.flatten_util.ravel_pytree(lin)

        def on_vector(rule: Rule, given: Any) -> Callable[[Any], Any]:
            return lambda x: jax.flatten_util.ravel_pytree(rule(given, unravel(x)))[0]

        forward, backward = on_vector(self.forward, frozen), on_vector(self.backward, frozen)
        return unravel(
            jax.lax.custom_linear_solve(
                on_vector(matvec, given), vector,
                lambda _, b: forward(b), lambda _, b: backward(b),
            )
        )  # fmt: skip


def _rule(name: str, rules: LinearMap, batched: int) -> Rule:
    function = getattr(rules, name)
    for _ in range(batched):
        function = rules.lanes(function)
    return function


def _value(*operands, rules, count, transposed, batched):
    name = "backward" if transposed else "forward"
    return _rule(name, rules, batched)(list(operands[:count]), list(operands[count:]))


def _compiled(*operands, **params):
    return jax.jit(lambda *x: _value(*x, **params))(*operands)


def _batch(operands, axes, **params):
    _, full = full_batch(operands, axes)
    out = linear_map_p.bind(*full, **{**params, "batched": params["batched"] + 1})
    return out, [0] * len(out)


def _jvp(primals, tangents, *, rules, count, transposed, batched):
    params = dict(rules=rules, count=count, transposed=transposed, batched=batched)
    out = linear_map_p.bind(*primals, **params)
    changes = [ad.instantiate_zeros(x) for x in tangents[count:]]
    moving = [i for i, x in enumerate(tangents[:count]) if type(x) is not ad.Zero]
    moving = [i for i in moving if jnp.issubdtype(jnp.result_type(primals[i]), jnp.inexact)]
    if not moving:
        return out, linear_map_p.bind(*primals[:count], *changes, **params)
    # The equations at the solution, or the solution as a function of what it depends on.
    repeated = rules.again is not None
    rule = _rule("again" if repeated else "matvec", rules, batched)
    operand = list(primals[count:]) if repeated else out

    def applied(*values):
        given = list(primals[:count])
        for i, value in zip(moving, values, strict=True):
            given[i] = value
        if transposed:
            return jax.linear_transpose(lambda x: rule(given, x), operand)(operand)[0]
        return rule(given, operand)

    start = tuple(primals[i] for i in moving)
    _, moved = jax.jvp(applied, start, tuple(tangents[i] for i in moving))
    if repeated:
        fixed = linear_map_p.bind(*primals[:count], *changes, **params)
        return out, [a + b for a, b in zip(fixed, moved, strict=True)]
    changes = [a - b for a, b in zip(changes, moved, strict=True)]
    return out, linear_map_p.bind(*primals[:count], *changes, **params)


def _transpose(cotangents, *operands, rules, count, transposed, batched):
    filled = [ad.instantiate_zeros(x) for x in cotangents]
    out = linear_map_p.bind(
        *operands[:count], *filled,
        rules=rules, count=count, transposed=not transposed, batched=batched,
    )  # fmt: skip
    linear = operands[count:]
    wanted = [o if ad.is_undefined_primal(x) else None for o, x in zip(out, linear, strict=True)]
    return [None] * count + wanted


def _shapes(*operands, count, **_):
    return list(operands[count:])


def _register(primitive: Any) -> None:
    primitive.multiple_results = True
    primitive.def_impl(_compiled)
    primitive.def_abstract_eval(_shapes)
    lowered_as(primitive, _value)
    batching.primitive_batchers[primitive] = _batch
    ad.primitive_jvps[primitive] = _jvp
    ad.primitive_transposes[primitive] = _transpose


def _trial() -> bool:
    """The quotient of two numbers, its derivatives to the second order, for a batch."""
    quotient = LinearMap(lambda a, b: b / a, lambda a, b: b / a, lambda a, x: a * x)
    x, y = jnp.array([2.0, 4.0]), jnp.array([3.0, 5.0])
    mixed = jax.jit(jax.vmap(jax.grad(jax.grad(quotient), 1)))(x, y)
    bent = jax.jit(jax.vmap(jax.jacfwd(jax.grad(quotient))))(x, y)
    good = jnp.allclose(mixed, -1 / x**2) & jnp.allclose(bent, 2 * y / x**3)
    return bool(good)


linear_map_p = OwnPrimitive(
    "linear_map", _register, _trial, "Derivatives of explicit solves take longer to compile."
)
