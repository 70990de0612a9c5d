"""The parts of a program, by whatever names the JAX at hand has for them."""

from collections.abc import Sequence
from typing import Any

from .._gathered import NAME as GATHERED


try:
    from jax.extend.core import (
        ClosedJaxpr,  # pyright: ignore[reportPrivateImportUsage]
        jaxprs_in_params,
        Literal,
    )
except ImportError:  # then readers fail, which is guarded
    ClosedJaxpr = Literal = jaxprs_in_params = None


def _known(found: Any) -> Any:
    if found is None:
        raise ImportError("jax.extend.core has no ClosedJaxpr, Literal or jaxprs_in_params")
    return found


def taken_apart(program: Any) -> tuple[Any, Sequence[Any]]:
    """The program itself, which has `eqns` and variables, and its constants.

    Closed and open programs are classes of their own up to JAX 0.10, and one since.
    """
    if isinstance(program, _known(ClosedJaxpr)):
        return program.jaxpr, program.consts
    return program, ()


def is_literal(var: Any) -> bool:
    """Whether an operand of an equation is a number, and not a variable."""
    return isinstance(var, _known(Literal))


def name_of(eqn: Any) -> str:
    """That of the primitive which an equation applies; ours of a gather is one."""
    name = eqn.primitive.name
    return "gather" if name == GATHERED else name


def parameters_of(eqn: Any) -> dict[str, Any]:
    """The static parameters of an equation."""
    return eqn.params


def inner_programs(eqn: Any) -> Sequence[Any]:
    """The programs among its parameters."""
    return list(_known(jaxprs_in_params)(eqn.params))


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """How many operands of a scan are constants, and how many are carried.

    Parameters of their own up to JAX 0.10; since then lengths of trees of the operands.
    """
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    consts, carry, _ = params["ft_in"].unpack()
    return len(consts), len(carry)
