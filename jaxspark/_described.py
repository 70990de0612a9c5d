"""What an object is, as text that is the same in another process: functions by their code."""

import dataclasses
import functools
import re
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np


# Classes and functions of these are known by name, as they change with their versions only.
_LIBRARIES = {
    "jaxspark", "jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "diffrax", "lineax",
    "optimistix", "builtins", "functools", "jaxtyping", "abc", "collections", "typing",
}  # fmt: skip
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def described(value: Any) -> Iterator[bytes]:
    """Pieces that tell a value from others, for a digest.

    Arrays are known by their entries, data classes by their fields, functions by their code, with
    what they hold and the numbers and functions of their own package that they name; all else by
    what `repr` says, without addresses.
    """
    yield from _described(value, {})


def _described(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        array = np.asarray(value)
        yield f"array {array.dtype} {array.shape}".encode()
        yield array.tobytes()
        return
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        yield repr(value).encode()
        return
    if id(value) in seen:
        yield f"number {list(seen).index(id(value))} again".encode()
        return
    # Kept, lest another object gets its address.
    seen[id(value)] = value
    yield f"{type(value).__module__}.{type(value).__qualname__}(".encode()
    yield from _parts(value, seen)
    yield b")"


def _parts(value: Any, seen: dict[int, Any]) -> Iterator[bytes]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _described(key, seen)
            yield from _described(item, seen)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _described(item, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted(map(_plain, value))
    elif isinstance(value, functools.partial):
        yield from _described((value.func, value.args, value.keywords), seen)
    elif isinstance(value, types.MethodType):
        yield from _described((value.__func__, value.__self__), seen)
    elif isinstance(value, types.FunctionType):
        yield from _function(value, seen)
    elif isinstance(value, types.CodeType):
        yield value.co_code
        yield from _described((value.co_consts, value.co_names, value.co_varnames), seen)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        yield from _class(type(value), seen)
        for field in dataclasses.fields(value):
            yield field.name.encode()
            yield from _described(getattr(value, field.name, None), seen)
    elif hasattr(value, "__wrapped__"):
        yield from _described(getattr(value, "__wrapped__"), seen)
    else:
        yield _plain(value)


def _plain(value: Any) -> bytes:
    return _ADDRESS.sub("", repr(value)).encode()


def _function(function: types.FunctionType, seen: dict[int, Any]) -> Iterator[bytes]:
    yield function.__qualname__.encode()
    if _of_library(function):
        yield function.__module__.encode()
        cells = function.__closure__ or ()
        yield from _described([_content(cell) for cell in cells], seen)
        return
    yield from _described(function.__code__, seen)
    yield from _described((function.__defaults__, function.__kwdefaults__), seen)
    yield from _described([_content(cell) for cell in function.__closure__ or ()], seen)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            given = function.__globals__[name]
            own = isinstance(given, types.FunctionType) and not _of_library(given)
            if own or isinstance(given, bool | int | float | str | np.ndarray | jax.Array):
                yield name.encode()
                yield from _described(given, seen)


def _names(code: types.CodeType) -> set[str]:
    """Of what the code takes from outside, functions inside of it included."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _names(constant)
    return found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _class(of: type, seen: dict[int, Any]) -> Iterator[bytes]:
    """The methods of classes that users wrote."""
    for kind in of.__mro__:
        if _of_library(kind):
            continue
        for name, member in sorted(vars(kind).items()):
            member = getattr(member, "method", getattr(member, "__func__", member))
            if isinstance(member, property):
                member = member.fget
            written = not name.startswith("__") or name == "__call__"
            if written and isinstance(member, types.FunctionType):
                yield from _described(member, seen)


def _of_library(value: Any) -> bool:
    return (getattr(value, "__module__", None) or "").split(".")[0] in _LIBRARIES
