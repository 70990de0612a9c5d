"""Solvers of diffrax on states as one vector: half the operations of a pair."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from diffrax import AbstractLocalInterpolation, AbstractTerm

from .._custom_types import Args


class Ravelled(AbstractTerm):
    """A term for `(y, z)` as one for the vector of both."""

    term: AbstractTerm
    unravel: Callable[[Any], Any] = eqx.field(static=True)

    def vf(self, t: Any, y: Any, args: Args) -> Any:
        """The vector field, as a vector."""
        return ravel(self.term.vf(t, self.unravel(y), args))

    def contr(self, t0: Any, t1: Any, **kwargs) -> Any:
        """That of the term."""
        return self.term.contr(t0, t1, **kwargs)

    def prod(self, vf: Any, control: Any) -> Any:
        """The vector field times the step size."""
        return vf * control


def ravel(state: Any) -> Any:
    """A state as one vector."""
    return jax.flatten_util.ravel_pytree(state)[0]


def ravelled(term: Any, state: Any) -> tuple[Any, Ravelled, Callable[[Any], Any]]:
    """The state as a vector, the term for it, and the way back."""
    vector, unravel = jax.flatten_util.ravel_pytree(state)
    return vector, Ravelled(term, unravel), unravel


class RavelledInterpolation(AbstractLocalInterpolation):
    """An interpolation of vectors, whose values are states again.

    - `t0`, `t1`: the interval.
    - `inside`: what the interpolation of the solver needs.
    - `like`: a state.
    - `kind`: that interpolation.
    """

    t0: Any
    t1: Any
    inside: dict[str, Any]
    like: Any
    kind: Callable[..., AbstractLocalInterpolation] = eqx.field(static=True)

    def _solver(self) -> AbstractLocalInterpolation:
        return self.kind(t0=self.t0, t1=self.t1, **self.inside)

    def _state(self, vector: Any) -> Any:
        like = jax.tree.map(lambda x: jnp.zeros(jnp.shape(x), x.dtype), self.like)
        return jax.flatten_util.ravel_pytree(like)[1](vector)

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> Any:
        """The state at `t0`, or its change from there to `t1`."""
        return self._state(self._solver().evaluate(t0, t1, left))

    def derivative(self, t0: Any, left: bool = True) -> Any:
        """Its derivative at `t0`."""
        return self._state(self._solver().derivative(t0, left))


@functools.cache
def ravelled_interpolation(
    kind: Callable[..., AbstractLocalInterpolation],
) -> Callable[..., AbstractLocalInterpolation]:
    """The interpolation of states by that of vectors; always the same one for the same."""
    return functools.partial(RavelledInterpolation, kind=kind)
