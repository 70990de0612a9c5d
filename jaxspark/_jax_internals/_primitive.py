"""Primitives of our own: made where JAX allows it, and tried out where JAX is newer than tested."""

import contextvars
from collections.abc import Callable
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
from jax.sharding import AbstractMesh, use_abstract_mesh

from ._switch import allowed
from ._understood import not_understood


try:
    from jax.extend.core import jaxpr_as_fun, Primitive
    from jax.interpreters import ad as ad, batching as batching, mlir as mlir
except ImportError as error:
    Primitive: Any = None
    jaxpr_as_fun: Any = None
    ad = batching = mlir = None
    MISSING: Exception | None = error
else:
    MISSING = None

# This package was tested with all releases below this one.
TESTED = (0, 12, 1)
# What rules look up when they run, where nothing can be caught.
NEEDED = {
    "ad": (
        "Zero", "instantiate_zeros", "is_undefined_primal", "primitive_jvps",
        "primitive_transposes", "deflinear2",
    ),
    "batching": ("primitive_batchers",),
    "mlir": ("lower_fun", "register_lowering"),
}  # fmt: skip


def lacking() -> Exception | None:
    """What of `NEEDED` is not there."""
    if MISSING is not None:
        return MISSING
    modules = {"ad": ad, "batching": batching, "mlir": mlir}
    names = [
        f"{m}.{x}" for m, wanted in NEEDED.items() for x in wanted if not hasattr(modules[m], x)
    ]
    return AttributeError(f"jax.interpreters has no {', '.join(names)}") if names else None


_ON_CPU: contextvars.ContextVar[bool | None] = contextvars.ContextVar("on_cpu", default=None)


def on_cpu() -> bool | None:
    """Whether what is traced will run on a CPU; `None` where that is not known."""
    return _ON_CPU.get()


def lowered_as(primitive: Any, value: Callable[..., Any]) -> None:
    """Let a primitive of several results be lowered as `value`, traced for one platform.

    `jax.lax.platform_dependent` traces what all platforms would run.
    """

    assert mlir is not None
    lower_fun, register = mlir.lower_fun, mlir.register_lowering

    def told(cpu: bool) -> Callable[..., Any]:
        def call(*operands: Any, **params: Any) -> Any:
            token = _ON_CPU.set(cpu)
            try:
                return on_one_device(value)(*operands, **params)
            finally:
                _ON_CPU.reset(token)

        return lower_fun(call, multiple_results=True)

    register(primitive, told(False))
    register(primitive, told(True), platform="cpu")


def on_one_device(value: Callable[..., Any]) -> Callable[..., Any]:
    """`value`, traced as on a device of its own where it will run on each of several.

    In a `jax.shard_map` arrays made from numbers are of another type than operands, which
    `equinox.filter_closure_convert` and others take for an error.
    """

    def call(*operands: Any, **params: Any) -> Any:
        kinds = [jax.typeof(x) for x in operands]
        if all(x.sharding.mesh.empty for x in kinds):
            return value(*operands, **params)
        examples = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) for x in kinds]
        with use_abstract_mesh(AbstractMesh((), ())):
            traced = jax.make_jaxpr(lambda *x: value(*x, **params))(*examples)
        return jaxpr_as_fun(traced)(*operands)

    return call


class OwnPrimitive:
    """A primitive, or why there is none.

    **Arguments:**

    - `name`: of the primitive.
    - `register`: gives it its rules.
    - `trial`: makes use of these, on numbers; raises, or returns `False`, if one is wrong.
    - `cost`: a sentence on what is done without it.
    """

    def __init__(
        self,
        name: str,
        register: Callable[[Any], None],
        trial: Callable[[], bool],
        cost: str,
    ):
        self.name, self.cost = name, cost
        self._trial: Callable[[], bool] | None = trial
        self._error = lacking()
        self.primitive: Any = None
        if self._error is None:
            try:
                self.primitive = Primitive(name)
                register(self.primitive)
            except Exception as error:
                self._error = error

    def usable(self) -> bool:
        """Whether it may be bound: if not, though it should be, with a warning."""
        if not allowed():
            return False
        if self._error is None and self._trial is not None and jax.__version_info__ >= TESTED:
            self._try()
        if self._error is None:
            return True
        what = f"The primitive {self.name!r} of jaxspark's own cannot be used: "
        not_understood(f"{what}{type(self._error).__name__}: {self._error}", self.cost)
        return False

    def _try(self) -> None:
        trial, self._trial = self._trial, None
        assert trial is not None
        try:
            with jax.ensure_compile_time_eval(), jax.transfer_guard("allow"):
                if not trial():
                    self._error = ValueError("a trial gave wrong numbers")
        except Exception as error:
            self._error = error

    def bind(self, *operands: Any, **params: Any) -> Any:
        """The primitive, applied."""
        return self.primitive.bind(*operands, **params)


def moved_to_front(operands: Any, axes: Any) -> tuple[Any, list[Any]]:
    """The size of a batch, which may be symbolic, and operands with it along their first axis."""
    pairs = [(jnp.asarray(x), axis) for x, axis in zip(operands, axes, strict=True)]
    size = next(x.shape[axis] for x, axis in pairs if axis is not None)
    moved = [x if axis is None else jnp.moveaxis(x, axis, 0) for x, axis in pairs]
    return size, moved


def full_batch(operands: Any, axes: Any) -> tuple[Any, list[Any]]:
    """The size of a batch, and operands that all have it along their first axis."""
    size, moved = moved_to_front(operands, axes)
    pairs = zip(moved, axes, strict=True)
    return size, [jnp.broadcast_to(x, (size, *x.shape)) if a is None else x for x, a in pairs]


def zero_tangent(x: Any) -> Any:
    """The tangent of `x` where there is none, symbolically."""
    inexact = jnp.issubdtype(jnp.result_type(x), jnp.inexact)
    dtype = jnp.result_type(x) if inexact else jax.dtypes.float0
    assert ad is not None
    return ad.Zero(jax.core.ShapedArray(jnp.shape(x), dtype))
