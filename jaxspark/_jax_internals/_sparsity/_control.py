"""Dependence on the inputs through branches, loops and linear solves."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._dependence import combine, everything, Fact, Operand, Sets, take
from ._programs import inner_programs, parameters_of, scan_counts, taken_apart


# What is known of the results of a jaxpr, given what is known of its arguments.
Run = Callable[[Any, Sequence[Fact]], list[Fact]]

# Loops of fewer equations, counted once for every iteration, are unrolled.
UNROLLED = 100_000
# Others are iterated until the sets no longer grow, or this often.
ROUNDS = 50


def conditional(eqn: Any, operands: Sequence[Operand], run: Run) -> list[Fact]:
    """The union of the branches, or the one that is taken if that is known."""
    which, facts = operands[0].fact, [operand.fact for operand in operands[1:]]
    branches = parameters_of(eqn)["branches"]
    if which.value is not None:
        return run(branches[min(max(int(which.value), 0), len(branches) - 1)], facts)
    if which.sets is not None:
        return _anything(eqn, operands)
    results = [run(branch, facts) for branch in branches]
    return [
        Fact(_union(out.aval.size, [fact.sets for fact in found]))
        for out, found in zip(eqn.outvars, zip(*results, strict=True), strict=True)
    ]


def while_loop(eqn: Any, operands: Sequence[Operand], run: Run) -> list[Fact]:
    """Iterated until the sets no longer grow."""
    facts = [operand.fact for operand in operands]
    first, second = parameters_of(eqn)["cond_nconsts"], parameters_of(eqn)["body_nconsts"]
    asked, consts, carry = facts[:first], facts[first:][:second], facts[first + second :]
    carry = _fixed_point(
        lambda carry: run(parameters_of(eqn)["body_jaxpr"], [*consts, *carry]), carry, eqn
    )
    if carry is None or run(parameters_of(eqn)["cond_jaxpr"], [*asked, *carry])[0].sets is not None:
        return _anything(eqn, operands)
    return carry


def scan(eqn: Any, operands: Sequence[Operand], run: Run) -> list[Fact]:
    """Unrolled if it is short; otherwise iterated until the sets no longer grow."""
    body, length = parameters_of(eqn)["jaxpr"], parameters_of(eqn)["length"]
    constant, carried = scan_counts(parameters_of(eqn))
    facts = [operand.fact for operand in operands]
    consts, carry = facts[:constant], facts[constant : constant + carried]
    xs = operands[constant + carried :]
    if length * _count(body) > UNROLLED:
        return _scan_all(eqn, operands, run)
    sizes = [out.aval.size // length if length else 0 for out in eqn.outvars[carried:]]
    parts = [[] for _ in sizes]
    for i in reversed(range(length)) if parameters_of(eqn)["reverse"] else range(length):
        results = run(body, [*consts, *carry, *(_row(x, i) for x in xs)])
        carry = results[:carried]
        for part, fact, size in zip(parts, results[carried:], sizes, strict=True):
            if fact.sets is not None:
                part.append((fact.sets, i * size + np.arange(size), np.arange(size)))
    stacked = [Fact(combine(size * length, part)) for part, size in zip(parts, sizes, strict=True)]
    return [*carry, *stacked]


def linear_solve(eqn: Any, operands: Sequence[Operand], run: Run) -> list[Fact]:
    """By the jaxpr that solves; the matrix it solves with is among its constants."""
    lengths = parameters_of(eqn)["const_lengths"]
    before = lengths.matvec + lengths.vecmat
    consts = operands[before : before + lengths.solve]
    right = operands[sum(lengths) :]
    return run(parameters_of(eqn)["jaxprs"].solve, [operand.fact for operand in (*consts, *right)])


def _anything(eqn: Any, operands: Sequence[Operand]) -> list[Fact]:
    return [Fact(everything(out.aval.size, operands)) for out in eqn.outvars]


def _union(size: int, found: Sequence[Sets | None]) -> Sets | None:
    every = np.arange(size)
    return combine(size, [(sets, every, every) for sets in found if sets is not None])


def _fixed_point(
    step: Callable[[list[Fact]], list[Fact]], carry: list[Fact], eqn: Any
) -> list[Fact] | None:
    carry = [Fact(fact.sets) for fact in carry]
    sizes = [out.aval.size for out in eqn.outvars]
    for _ in range(ROUNDS):
        triples = zip(sizes, carry, step(carry), strict=False)
        grown = [Fact(_union(size, [old.sets, new.sets])) for size, old, new in triples]
        if _total(grown) == _total(carry):
            return carry
        carry = grown
    return None


def _total(facts: Sequence[Fact]) -> int:
    return sum(len(fact.sets.indices) for fact in facts if fact.sets is not None)


def _row(operand: Operand, i: int) -> Fact:
    sets, value, nonzero = operand.fact
    size = math.prod(operand.shape[1:])
    return Fact(
        None if sets is None else take(sets, i * size + np.arange(size)),
        None if value is None else np.asarray(value[i]),
        None if nonzero is None else np.asarray(nonzero[i]),
    )


def _scan_all(eqn: Any, operands: Sequence[Operand], run: Run) -> list[Fact]:
    body, length = parameters_of(eqn)["jaxpr"], parameters_of(eqn)["length"]
    constant, carried = scan_counts(parameters_of(eqn))
    facts = [operand.fact for operand in operands]
    consts, carry = facts[:constant], facts[constant : constant + carried]
    rows = []
    for operand in operands[constant + carried :]:
        size, sets = math.prod(operand.shape[1:]), operand.fact.sets
        everywhere = np.arange(size * length)
        parts = [] if sets is None else [(sets, everywhere % size, everywhere)]
        rows.append(Fact(combine(size, parts)))

    def step(carry):
        return run(body, [*consts, *carry, *rows])

    found = _fixed_point(lambda carry: step(carry)[:carried], carry, eqn)
    if found is None:
        return _anything(eqn, operands)
    stacked = []
    for out, fact in zip(eqn.outvars[carried:], step(found)[carried:], strict=True):
        size = out.aval.size // length
        repeated = np.tile(np.arange(size), length)
        stacked.append(Fact(None if fact.sets is None else take(fact.sets, repeated)))
    return [*found, *stacked]


def _count(program: Any) -> int:
    total = 0
    for eqn in taken_apart(program)[0].eqns:
        inner = sum(map(_count, inner_programs(eqn)))
        total += 1 + inner * parameters_of(eqn).get("length", 1)
    return total


CONTROL: dict[str, Callable[[Any, Sequence[Operand], Run], list[Fact]]] = {
    "cond": conditional,
    "custom_linear_solve": linear_solve,
    "scan": scan,
    "while": while_loop,
}
