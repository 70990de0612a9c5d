"""Lobatto methods: how their equations decouple, what is refused, how they look, static data."""

import itertools
import re

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from exact import largest, lobatto_families, to_mp
from helpers import counted
from jaxspark import Gauss, Lobatto
from jaxspark.methods import AbstractSparkMethod


FAMILIES = ("A", "B", "C", "C*", "D")
each_psi = pytest.mark.parametrize(
    "psi, s", [(psi, s) for psi in FAMILIES[1:] for s in range(2, 9)]
)


def exact_matrices(psi, s):
    """`N` of the papers' monomials, `[A_psi; b]` and `[A_tilde; b_tilde]`, in 50 digits."""
    c, b, families = lobatto_families(s)
    N = mp.zeros(s, s + 1)
    for i, j in itertools.product(range(s - 1), range(s)):
        N[i, j] = b[j] * c[j] ** i
    N[s - 1, s] = 1
    stacked = (mp.matrix([*families[name].tolist(), *b.tolist()]) for name in (psi, "B"))
    return N, *stacked


@each_psi
def test_q_tilde_imposes_the_conditions_of_the_papers(psi, s):
    N, alpha_psi, _ = exact_matrices(psi, s)
    expected = mp.inverse(N * alpha_psi) * N
    error = largest(to_mp(Lobatto(s, psi=psi).tableau.decoupling.Q_tilde) - expected)
    assert error <= 1e-14 * largest(expected)


@each_psi
def test_gamma(psi, s):
    """It annihilates `alpha_psi`, and has known entries but for IIIB."""
    _, alpha_psi, _ = exact_matrices(psi, s)
    gamma = Lobatto(s, psi=psi).tableau.decoupling.gamma
    assert largest(to_mp(gamma) * alpha_psi) <= 1e-15
    expected = np.zeros(s + 1)
    if psi == "B":  # whose last stage no force moves
        assert gamma[-1] == 0 and np.max(np.abs(gamma)) == 1
        return
    if psi in ("C", "D"):  # the last stage of IIIC is the end of the step
        expected[-2:] = -1, 1
    if psi in ("C*", "D"):  # the first stage of IIIC* is its start
        expected[0] = 1 if psi == "C*" or s % 2 == 0 else -1
    assert np.max(np.abs(gamma - expected)) <= 1e-14


@each_psi
def test_decoupling(psi, s):
    tableau = Lobatto(s, psi=psi).tableau
    decoupling = tableau.decoupling
    Q, Q_tilde, Q_check = decoupling.Q, decoupling.Q_tilde, decoupling.Q_check
    identity = np.eye(s + 1)
    assert np.array_equal(Q, np.vstack([Q_tilde, decoupling.gamma]))
    assert np.max(np.abs(Q_tilde @ tableau.alpha_psi - identity[:s, :s])) <= 1e-13
    assert np.max(np.abs(decoupling.Q_inverse @ Q - identity)) <= 1e-13
    conditions = np.zeros((s, s + 1))
    conditions[: s - 1, :s], conditions[-1, -1] = tableau.A_bar[1:], 1
    assert np.array_equal(decoupling.holonomic_conditions, conditions)
    assert Q_check.shape == (s, s)
    assert np.max(np.abs(Q_check @ conditions - Q[:s])) <= 1e-14 * np.max(np.abs(Q))
    recovered = decoupling.lam_recovery @ Q_tilde @ tableau.alpha_tilde
    assert np.max(np.abs(recovered - identity[:s, :s])) <= 1e-13


@each_psi
def test_coupling_of_the_last_velocity(psi, s):
    """`gamma^T alpha_tilde (Q_tilde alpha_tilde)^{-1}`: none for IIIB, that of `A_tilde`."""
    decoupling = Lobatto(s, psi=psi).tableau.decoupling
    N, alpha_psi, alpha_tilde = exact_matrices(psi, s)
    recovery = mp.inverse(mp.inverse(N * alpha_psi) * N * alpha_tilde)
    assert largest(to_mp(decoupling.lam_recovery) - recovery) <= 1e-13
    expected = to_mp(decoupling.gamma) * alpha_tilde * recovery
    if psi == "B":
        assert decoupling.coupling is None and largest(expected) <= 1e-15
    else:
        assert largest(to_mp(decoupling.coupling) - expected) <= 1e-14
        assert largest(expected) > 0.03


def test_the_decoupling_is_that_of_psi_alone():
    """Neither the coordinates nor `f` have a part in it."""
    own = Lobatto(3, "C", "D", "C*").tableau.decoupling
    other = Lobatto(3, "A", "B", "C*").tableau.decoupling
    for name in ("Q", "Q_check", "lam_recovery", "coupling"):
        assert np.array_equal(getattr(own, name), getattr(other, name)), name


# What is refused.


@pytest.mark.parametrize("s", range(2, 9))
def test_iiia_for_psi_is_refused(s):
    words = r"by IIIA, .* do not determine their multipliers .* is singular.* Take B, C, C\* or D"
    with pytest.raises(ValueError, match=words):
        Lobatto(s, psi="A")


def test_iiib_for_y_with_two_stages_is_refused():
    """Its stages are at the middle of the step, their times at its ends."""
    with pytest.raises(ValueError, match="IIIB cannot advance .* with two stages"):
        Lobatto(2, y="B")


@pytest.mark.parametrize("place", ["y", "f", "psi"])
@pytest.mark.parametrize("family", ["IIIA", "c", "E", ""])
def test_unknown_family(place, family):
    words = rf"{place} must be one of A, B, C, C\*, D; got {family!r}"
    with pytest.raises(ValueError, match=words):
        Lobatto(3, **{place: family})


@pytest.mark.parametrize("stages", [1, 9, 0, -2])
def test_number_of_stages_out_of_range(stages):
    with pytest.raises(ValueError, match=f"stages must be from 2 to 8; got {stages}"):
        Lobatto(stages)


@pytest.mark.parametrize("stages", [2.0, True, "2", None])
def test_number_of_stages_is_no_integer(stages):
    with pytest.raises(TypeError, match="stages"):
        Lobatto(stages)


# How they look.


def test_repr_of_a_method():
    expected = "Lobatto(stages=3, y='C', f='C*', psi='D')"
    assert repr(Lobatto(3, "C", "C*", "D")) == expected
    assert eval(expected) == Lobatto(3, "C", "C*", "D")
    assert repr(Lobatto()) == "Lobatto(stages=2)"


def printed(text):
    """The tableaux in a text: name to nodes, coefficients, and weights with their name."""
    found = {}
    for block in re.split(r"\n(?=\w+:$)", text, flags=re.MULTILINE)[1:]:
        name, *lines = block.split("\n")
        rows = [line.split("|") for line in lines if "|" in line]
        numbers = [[float(x) for x in row.split()] for _, row in rows]
        left = [node.strip() for node, _ in rows]
        weights = left.pop() if re.match("[a-z]", left[-1]) else None
        found[name.rstrip(":")] = [float(x) for x in left], numbers, weights
    return found


@pytest.mark.parametrize(
    "method, head, sets",
    [
        (
            Lobatto(3),
            "Lobatto IIIA-IIIB-IIIB, s = 3, order 4, symmetric, Lagrange-d'Alembert, "
            "R(infinity) = 1",
            ["A", "A_hat"],
        ),
        (
            Lobatto(4, "C", "C*", "D"),
            "Lobatto IIIC-IIIC*-IIID, s = 4, order 6, not symmetric, Lagrange-d'Alembert, "
            "R(infinity) = 0",
            ["A", "A_hat", "A_psi"],
        ),
        (
            Lobatto(2, "C*", "D", "C*"),
            "Lobatto IIIC*-IIID-IIIC*, s = 2, order 2, not symmetric, not Lagrange-d'Alembert, "
            "R(infinity) = inf",
            ["A", "A_hat"],
        ),
        (
            Gauss(3),
            "Gauss, s = 3, order 6, symmetric, Lagrange-d'Alembert, R(infinity) = -1",
            ["A"],
        ),
    ],
    ids=str,
)
def test_repr_of_a_tableau(method, head, sets):
    """Its properties, and each set of coefficients once, in full precision."""
    tableau = method.tableau
    first, _ = repr(tableau).split("\n", 1)
    assert first == head
    found = printed(repr(tableau))
    assert list(found) == [*sets, "A_bar", "A_tilde"]
    for name, (nodes, numbers, weights) in found.items():
        stage_times = tableau.c_tilde if name == "A_bar" else tableau.c
        assert np.max(np.abs(nodes - stage_times)) <= 1e-16
        expected = getattr(tableau, name)
        if name == "A_bar":
            assert weights is None
        else:
            assert weights == name.replace("A", "b")
            expected = np.vstack([expected, getattr(tableau, weights)])
        assert np.max(np.abs(numbers - expected)) <= 1e-16, name


# Static data.


def test_a_lobatto_method_is_static():
    assert Lobatto(3).tableau is Lobatto(3, "A", "B", "B").tableau
    assert Lobatto(3).tableau is Lobatto(stages=3, psi="B", f="B", y="A").tableau
    assert Lobatto(3) == Lobatto(3, "A", "B", "B")
    assert hash(Lobatto(3)) == hash(Lobatto(3, "A", "B", "B"))
    others = [Lobatto(2), Lobatto(3, y="D"), Lobatto(3, f="D"), Lobatto(3, psi="D"), Gauss(3)]
    for other in others:
        assert other != Lobatto(3) and other.tableau != Lobatto(3).tableau
    assert len({Lobatto(3), Lobatto(3), *others}) == 6

    function, traces = counted(lambda method, x: jnp.asarray(method.tableau.A_psi) @ x)
    x = jnp.asarray([1.0, -2.0, 0.5])
    first, second = function(Lobatto(3), x), function(Lobatto(3, psi="B"), 2 * x)
    assert len(traces) == 1
    assert np.array_equal(2 * first, second)
    assert not np.allclose(function(Lobatto(3, psi="C*"), x), first)
    assert len(traces) == 2


def test_methods_are_small_static_objects():
    method = Lobatto(4, psi="C")
    assert isinstance(method, AbstractSparkMethod)
    assert jax.tree.leaves(method) == []
    assert (method.stages, method.order) == (4, 6)
    assert (method.y, method.f, method.psi) == ("A", "B", "C")
