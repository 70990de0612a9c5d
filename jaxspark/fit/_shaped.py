"""Data with room for more samples and steps, so that programs fit several records."""

import dataclasses

import jax
import jax.numpy as jnp

from ._problem import Data, padded, Problem


def room_of(problem: Problem) -> tuple[int, int, int]:
    """For how many steps, samples and samples of inputs there is room."""
    inputs = [signal.times.shape[1] for signal in problem.data.inputs.values()]
    return problem.data.ts.shape[1], problem.data.at.shape[1], max(inputs, default=0)


def room_for(problem: Problem) -> tuple[int, int, int]:
    """Few sizes serve records of all lengths: at most an eighth more than is needed."""
    steps, samples, inputs = map(_rounded, room_of(problem))
    return steps, samples, inputs


def _rounded(count: int) -> int:
    unit = max(1, 2 ** (max(count, 1).bit_length() - 4))
    return -(-count // unit) * unit


def fits(problem: Problem, steps: int, samples: int, inputs: int) -> bool:
    """Whether a problem needs no more room."""
    own = room_of(problem)
    return all(a <= b for a, b in zip(own, (steps, samples, inputs), strict=True))


def shaped(problem: Problem, steps: int, samples: int, inputs: int) -> Problem:
    """The same problem with so much room."""
    data = problem.data
    edge = lambda x, count: jnp.pad(x, ((0, 0), (0, count - x.shape[1])), mode="edge")
    zero = lambda x: jnp.pad(x, ((0, 0), (0, samples - x.shape[1]), (0, 0)))
    longer = jax.vmap(lambda signal: padded(signal, inputs))
    data = Data(
        edge(data.ts, steps),
        edge(data.at, samples),
        data.last,
        zero(data.measured),
        zero(data.present),
        {name: longer(signal) for name, signal in data.inputs.items()},
    )
    return dataclasses.replace(problem, data=data)
