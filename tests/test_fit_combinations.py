"""Which combinations of parameters are known, and in which words that is said."""

import numpy as np
import pytest

from jaxspark.fit._combination_words import percent
from jaxspark.fit._combinations import (
    directions,
    relative_jacobian,
    unidentifiable_words,
)


T = np.linspace(0.0, 10.0, 400)


def random(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def oscillator(mass, stiffness, gain=1.0, sigma=0.01):
    """`gain x` with `mass x'' = -stiffness x`: derivatives by logarithms, and by `x(0), x'(0)`."""
    rate = np.sqrt(stiffness / mass)
    x0, v0 = 0.3, 0.1
    cosine, sine = np.cos(rate * T), np.sin(rate * T)
    x = gain * (x0 * cosine + v0 / rate * sine)
    by_rate = gain * (-x0 * T * sine + v0 / rate * T * cosine - v0 / rate**2 * sine)
    parameters = np.stack([-rate / 2 * by_rate, rate / 2 * by_rate, x], axis=1)
    start = gain * np.stack([cosine, sine / rate], axis=1)
    return parameters / sigma, start / sigma


def combinations(*arguments, **options):
    return directions(*arguments, **options).combinations


def weights(found):
    return np.stack([one.weights for one in found])


def errors(found):
    return np.array([one.error for one in found])


def test_oscillator_tells_only_the_ratio():
    """And its relative error is twice that of the frequency."""
    J, start = oscillator(2.0, 50.0)
    found = directions(["mass", "stiffness"], J[:, :2], start)
    np.testing.assert_allclose(weights(found.combinations), np.array([[1, 1], [1, -1]]) / 2**0.5)
    assert [one.words for one in found.combinations] == ["mass * stiffness", "mass / stiffness"]
    assert np.isinf(found.combinations[0].error)
    by_frequency = np.concatenate([2 * J[:, 1:2], start], axis=1)
    frequency = np.sqrt(np.linalg.inv(by_frequency.T @ by_frequency)[0, 0])
    # Weights have unit length: the exponents are 1 / sqrt(2).
    np.testing.assert_allclose(found.combinations[1].error, 2 * frequency / 2**0.5, rtol=1e-11)
    assert unidentifiable_words(found) == ("mass and stiffness only through stiffness / mass",)


def test_initial_states_hide_a_gain():
    """A gain is known if the start is, and cannot be told from it otherwise."""
    J, start = oscillator(2.0, 50.0)
    names = ["stiffness", "gain"]
    found = directions(names, J[:, 1:], start)
    assert unidentifiable_words(found) == ("gain cannot be told from the initial states",)
    assert found.combinations[0].words == "gain"
    assert unidentifiable_words(directions(names, J[:, 1:])) == ()


def test_elimination_is_a_block_of_the_inverse():
    J, nuisance = random(1, 80, 3), random(2, 80, 4) * 10.0 ** np.array([-9, 0, 3, 9])
    both = np.concatenate([nuisance, J], axis=1)
    lengths = np.linalg.norm(both, axis=0)
    covariance = np.linalg.inv((both / lengths).T @ (both / lengths))[4:, 4:]
    covariance *= 0.3 / np.outer(lengths[4:], lengths[4:])
    # Twice the same nuisance unknown makes no difference.
    nuisance = np.concatenate([nuisance, nuisance[:, 1:2], np.zeros((80, 1))], axis=1)
    found = combinations(["a", "b", "c"], J, nuisance, variance=0.3)
    values, vectors = np.linalg.eigh(covariance)
    np.testing.assert_allclose(errors(found), np.sqrt(values[::-1]), rtol=1e-11)
    alike = np.abs(np.sum(weights(found) * vectors[:, ::-1].T, axis=1))
    np.testing.assert_allclose(alike, 1, rtol=1e-11)


@pytest.mark.parametrize("scale", [(1, 1, 1, 1), (1e-6, 1e6, 1e3, 1e-2)])
def test_separate_causes_are_named_separately(scale):
    """Two null directions that any orthonormal basis would mix."""
    basis = random(3, 60, 2)
    J = 1e9 * np.stack([basis[:, 0], -basis[:, 0], np.zeros(60), basis[:, 1]], axis=1)
    found = directions(["mass", "stiffness", "damping", "length"], J * np.array(scale))
    first, second = (one.weights for one in found.combinations[:2])
    expected = np.array([1 / scale[0], 1 / scale[1], 0, 0])
    np.testing.assert_allclose(first, expected / np.linalg.norm(expected), rtol=1e-10)
    np.testing.assert_array_equal(second, [0, 0, 1, 0])
    sentences = unidentifiable_words(found)
    assert sentences[1] == "damping has no effect on the measurements"
    if scale[0] == 1:
        assert sentences[0] == "mass and stiffness only through stiffness / mass"
    assert len(sentences) == 2


def test_three_parameters_with_one_known_product():
    """The null space has two dimensions, without separate causes."""
    column = 100 * random(4, 50, 1)
    found = directions(["a", "b", "c", "d"], np.concatenate([column] * 3 + [column**2], axis=1))
    assert unidentifiable_words(found) == ("a, b and c only through a * b * c",)
    null, told = weights(found.combinations)[:2], found.combinations[2:]
    np.testing.assert_allclose(null @ [1, 1, 1, 0], 0, atol=1e-14)
    # Sparse: two parameters in each.
    assert np.all(np.sum(null != 0, axis=1) == 2)
    np.testing.assert_allclose(weights(told) @ null.T, 0, atol=1e-14)


def test_powers():
    """Data that tell `x = a c^2` and `y = b / c` alone."""
    x, y = 100 * random(5, 2, 50)
    J = np.stack([x, y, 2 * x - y], axis=1)
    found = directions(["a", "b", "c"], J)
    assert found.combinations[0].words == "b * c * a^-2"
    # a b^2 = x y^2, and a c^2 = x.
    assert unidentifiable_words(found) == ("a, b and c only through a * b^2 and a * c^2",)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ((0.707, -0.707), "mass / stiffness"),
        ((0.707, 0.707), "mass * stiffness"),
        ((-0.447, 0.894), "mass * stiffness^-2"),
        ((0.447, -0.894), "mass * stiffness^-2"),
        ((0.832, 0.555), "mass^3 * stiffness^2"),
        ((0.814, 0.581), "0.81 log mass + 0.58 log stiffness"),
        ((0.998, 0.06), "mass"),
    ],
)
def test_words_of_the_worst_known(row, words):
    """Of two directions: the one given, badly known, and the one perpendicular to it."""
    row = np.array(row) / np.linalg.norm(row)
    J = np.array([0.1 * row, 10.0 * np.array([-row[1], row[0]])])
    found = combinations(["mass", "stiffness"], J)
    np.testing.assert_allclose(errors(found), [10, 0.1], rtol=1e-12)
    assert found[0].words == words


def test_sums():
    """Two masses that move as one: only their sum is told, whatever their values."""
    J = 100 * random(6, 40, 1) * np.array([[0.31, 0.57]])
    scales = np.array([0.31, 0.57])
    found = directions(["rod", "load"], J, scales=scales)
    assert found.combinations[0].words == "rod - load"
    assert found.combinations[1].words == "rod + load"
    assert unidentifiable_words(found) == ("rod and load only through rod + load",)


def test_parameters_that_may_be_zero():
    """No products with them, and their error is one of their scale."""
    column, other = 100 * random(7, 2, 40)
    scales, additive = np.array([2.0, 0.1, 0.1]), np.array([False, True, True])
    names = ["mass", "offset 1", "offset 2"]
    J = np.stack([other, column, column], axis=1)
    found = directions(names, J, scales=scales, additive=additive)
    assert unidentifiable_words(found) == (
        "offset 1 and offset 2 only through offset 1 + offset 2",
    )
    J = np.stack([column, -column, other], axis=1)
    found = directions(names, J, scales=scales, additive=additive)
    assert found.combinations[0].words == "0.71 log mass + 7.1 offset 1"
    J = np.stack([column, other, np.eye(40)[0]], axis=1)
    found = directions(names, J, scales=scales, additive=additive)
    (sentence,) = unidentifiable_words(found)
    assert sentence.startswith("offset 2 has hardly any effect") and "100 % of 0.1" in sentence
    J = np.stack([column, other, 1e-3 * np.eye(40)[0]], axis=1)
    (sentence,) = unidentifiable_words(directions(names, J, scales=scales, additive=additive))
    assert sentence.endswith("it is known to +- 1e+02 (typical: 0.1) only")


def test_badly_known_pair():
    """Mass and stiffness each to 70 %, their ratio to 1 %; damping hardly seen."""
    basis = np.eye(3)
    row = np.array([1.0, 1.0, 0]) / 2**0.5
    J = np.stack([row, np.array([1.0, -1, 0]) / 0.01, basis[2] / 3.4])
    found = directions(["mass", "stiffness", "damping"], J)
    pair, single = unidentifiable_words(found)
    assert pair == (
        "mass (to 71 %) and stiffness (to 71 %) well only through stiffness / mass (to 1 %)"
    )
    assert single == "damping has hardly any effect on the measurements: it is known to 340 % only"
    assert unidentifiable_words(found, limit=4.0) == ()


def test_badly_known_without_anything_instead():
    """The ratio alone is told, and that badly."""
    J = 1.25 * np.array([[-1.0, 1.0, 0], [0, 0, 100]])
    sentences = unidentifiable_words(directions(["mass", "stiffness", "length"], J))
    assert sentences == (
        "mass and stiffness only through stiffness / mass",
        "mass / stiffness only to 80 %",
    )


def test_equally_bad_ones_are_not_mixed():
    """Equal errors of two parameters: eigenvectors are arbitrary, sentences are not."""
    turn = np.linalg.qr(random(8, 3, 3))[0]
    J = turn @ np.diag([1.0, 1.0, 100.0])
    sentences = unidentifiable_words(directions(["a", "b", "c"], J))
    assert [sentence[:23] for sentence in sentences] == [
        "a has hardly any effect",
        "b has hardly any effect",
    ]


def test_extreme_scales():
    """Relative errors over 24 powers of ten, each precise; none is taken for a null direction."""
    sizes = np.array([1e12, 1.0, 1e-12])
    J = np.linalg.qr(random(9, 30, 3))[0] * sizes
    found = directions(["a", "b", "c"], J)
    np.testing.assert_allclose(errors(found.combinations), 1 / sizes[::-1], rtol=1e-11)
    assert [one.words for one in found.combinations] == ["c", "b", "a"]
    assert len(unidentifiable_words(found)) == 2


def test_relative_jacobian():
    """Through coordinates that mix the physical values, as those of a body do."""
    J, mix, values = random(10, 20, 3), random(11, 3, 3), np.array([2e-3, 5.0, -300.0])
    dphysical = mix * np.abs(values)[:, None] * 10.0 ** np.array([-5, 0, 5])
    expected = J @ np.linalg.inv(mix * 10.0 ** np.array([-5, 0, 5])) * np.sign(values)
    np.testing.assert_allclose(relative_jacobian(J, dphysical, values), expected, rtol=1e-9)
    # At a bound the value does not move any more.
    J[:, 1] = 0
    found = relative_jacobian(J, np.diag([2.0, 0.0, 4.0]), np.array([4.0, 3.0, 2.0]))
    np.testing.assert_allclose(found, J * [2.0, 0.0, 0.5], rtol=1e-12, atol=0)
    with pytest.raises(ValueError, match=r"scales\[1\] = 0.0.*Give a standard scale"):
        relative_jacobian(J, np.eye(3), np.array([1.0, 0, 1]))


def test_nothing_to_tell():
    assert combinations([], np.zeros((5, 0))) == ()
    assert unidentifiable_words(directions([], np.zeros((5, 0)))) == ()
    found = directions(["a", "b"], np.zeros((5, 2)))
    assert unidentifiable_words(found) == (
        "a has no effect on the measurements",
        "b has no effect on the measurements",
    )


def test_many_parameters():
    """Only the largest terms are named."""
    row = np.sqrt(np.arange(9.0, 1.0, -1.0))
    rest = np.linalg.svd(row[None])[2][1:]
    names = [f"p{i}" for i in range(8)]
    found = combinations(names, np.concatenate([0.1 * row[None], 100 * rest]))
    assert found[0].words.startswith("0.45 log p0 + 0.43 log p1 + ")
    assert found[0].words.endswith(" + 4 smaller")


def test_errors():
    with pytest.raises(ValueError, match="there are 1 names, and 2 columns"):
        directions(["a"], np.ones((3, 2)))
    with pytest.raises(ValueError, match="not finite"):
        directions(["a"], np.full((3, 1), np.inf))


def test_percent():
    values = [0.00213, 0.021, 0.5, 0.99, 3.44, 123.4, 1e15]
    expected = ["0.21 %", "2.1 %", "50 %", "99 %", "340 %", "12000 %", "1e+17 %"]
    assert [percent(value) for value in values] == expected
