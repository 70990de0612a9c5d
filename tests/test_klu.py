"""KLU: against dense matrices, in batches, differentiated, and what importing it must not do."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxspark._blocks._base import AbstractBlockSolver
from jaxspark._blocks._klu import KLU
from jaxspark._blocks._pattern import BlockMatrix, dense, Pattern


# A tree of unequal blocks with one loop; a row of the ground; entries that are left out.
SIZES = [3, 2, 3, 1]
ROWS = [(0, -1), (1, 0), (1, 0), (2, 0), (3, 2), (3, 1)]


def pattern() -> Pattern:
    entries = np.ones((len(ROWS), 2, 3), bool)
    entries[1, 0, 0] = entries[3, 1, 2] = False
    return Pattern(SIZES, ROWS, entries)


def matrix(seed: int = 0, symmetric: bool = True) -> BlockMatrix:
    rng, where = np.random.default_rng(seed), pattern()
    inside = np.arange(3) < where.sizes[:, None]
    K = rng.normal(size=(4, 3, 3))
    K = (K + K.transpose(0, 2, 1)) / 2 + 4 * np.eye(3)
    K = np.where(inside[:, :, None] & inside[:, None, :], K, np.eye(3))
    B, C = (np.where(where.entries, rng.normal(size=(6, 2, 3)), 0) for _ in range(2))
    return BlockMatrix(*map(jnp.asarray, (K, B)), None if symmetric else jnp.asarray(B + 0.3 * C))


def right_hand_side(columns: int = 2) -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(5)
    f = jnp.asarray(rng.normal(size=(4, 3, columns))) * padding()
    return f, jnp.asarray(rng.normal(size=(6, columns)))


def padding() -> jax.Array:
    return jnp.asarray((np.arange(3) < np.array(SIZES)[:, None])[..., None] * 1.0)


def solve(values: BlockMatrix, f: jax.Array, g: jax.Array) -> jax.Array:
    klu = KLU()
    x, lam = klu.solve_blocks(pattern(), klu.factor_blocks(pattern(), values), f, g)
    return compact(x, lam)


def by_dense(values: BlockMatrix, f: jax.Array, g: jax.Array) -> jax.Array:
    return jnp.linalg.solve(dense(pattern(), values), compact(f, g))


def compact(x: jax.Array, lam: jax.Array) -> jax.Array:
    return jnp.concatenate([x.reshape(12, -1)[pattern().unknowns], lam])


def value(solver, values: BlockMatrix, f: jax.Array, g: jax.Array) -> jax.Array:
    allowed = jnp.asarray(pattern().entries * 1.0)
    inside = padding()[..., 0]
    kept = BlockMatrix(
        jnp.where((inside[:, :, None] * inside[:, None, :]) > 0, values.K, jnp.eye(3)[None]),
        values.B * allowed,
        None if values.C is None else values.C * allowed,
    )
    return jnp.sum(jnp.sin(solver(kept, f * padding(), g)))


def close(a, b, tolerance):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=tolerance, rtol=tolerance)


symmetries = pytest.mark.parametrize("symmetric", [True, False])


def test_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "klujax", None)
    with pytest.raises(ImportError, match=r"pip install jaxspark\[klu\]"):
        KLU()


@symmetries
def test_against_dense(symmetric):
    pytest.importorskip("klujax")
    values, (f, g) = matrix(symmetric=symmetric), right_hand_side()
    close(jax.jit(solve)(values, f, g), by_dense(values, f, g), 1e-12)
    klu = KLU()
    assert isinstance(klu, AbstractBlockSolver)
    factors = klu.factor_blocks(pattern(), values)
    x, lam = klu.solve_blocks_transposed(pattern(), factors, f, g)
    expected = jnp.linalg.solve(dense(pattern(), values).T, compact(f, g))
    close(compact(x, lam), expected, 1e-12)
    assert not np.any(x * (1 - padding()))
    assert "15 x 15" in klu.explain_blocks(pattern())


def test_batch_is_loop():
    pytest.importorskip("klujax")
    f, g = right_hand_side()
    several = [matrix(seed, symmetric=False) for seed in range(3)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *several)
    loop = jnp.stack([solve(one, f, g) for one in several])
    close(jax.vmap(solve, (0, None, None))(stacked, f, g), loop, 1e-14)
    fs, gs = jnp.stack([f, -f, 2 * f]), jnp.stack([g, g, 3 * g])
    loop = jnp.stack([solve(*one) for one in zip(several, fs, gs, strict=True)])
    close(jax.vmap(solve)(stacked, fs, gs), loop, 1e-14)
    loop = jnp.stack([solve(several[0], *one) for one in zip(fs, gs, strict=True)])
    close(jax.vmap(solve, (None, 0, 0))(several[0], fs, gs), loop, 1e-14)


@symmetries
def test_derivatives(symmetric):
    pytest.importorskip("klujax")
    point = matrix(symmetric=symmetric), *right_hand_side()
    direction = jax.tree.map(lambda x: jnp.cos(jnp.arange(x.size)).reshape(x.shape), point)

    def first(solver):
        return jax.grad(lambda point: value(solver, *point))

    def second(solver):
        return jax.jvp(first(solver), (point,), (direction,))[1]

    close(jax.jit(first(solve))(point), first(by_dense)(point), 1e-10)
    close(second(solve), second(by_dense), 1e-10)
    along = [
        jax.jvp(lambda point: value(solver, *point), (point,), (direction,))
        for solver in (solve, by_dense)
    ]
    close(*along, 1e-10)
    several = jax.tree.map(lambda x, y: jnp.stack([x, x + 0.01 * y]), point, direction)
    close(jax.vmap(first(solve))(several), jax.vmap(first(by_dense))(several), 1e-10)


def test_single_precision():
    pytest.importorskip("klujax")
    single = jax.tree.map(lambda x: x.astype(jnp.float32), matrix())
    with pytest.raises(TypeError, match="KLU works in double precision"):
        jax.eval_shape(lambda: KLU().factor_blocks(pattern(), single))
    factors = KLU().factor_blocks(pattern(), matrix())
    f, g = (x.astype(jnp.float32) for x in right_hand_side())
    with pytest.raises(TypeError, match="KLU works in double precision"):
        KLU().solve_blocks(pattern(), factors, f, g)


def test_regular():
    pytest.importorskip("klujax")
    klu, values = KLU(), matrix()
    regular = jax.jit(lambda values: klu.regular_blocks(pattern(), values))
    assert regular(klu.factor_blocks(pattern(), values))
    scaled = BlockMatrix(values.K * 1e-9, values.B * 1e4)
    assert regular(klu.factor_blocks(pattern(), scaled))
    # Two rows that are the same.
    B = values.B.at[1].set(values.B[2].at[0, 0].set(0)).at[2, 0, 0].set(0)
    assert not regular(klu.factor_blocks(pattern(), BlockMatrix(values.K, B)))
    assert not regular(klu.factor_blocks(pattern(), BlockMatrix(values.K * jnp.nan, values.B)))


def test_redundant_by_structure():
    pytest.importorskip("klujax")
    where = Pattern([2, 1], [(0, -1), (1, -1), (1, -1)], labels=("slot", "pin", "bolt"))
    with pytest.raises(ValueError, match="singular whatever its values: (pin|bolt) is redundant"):
        KLU().symbolic(where)


IMPORT = """
import jax
from jaxspark._blocks._klu import KLU

names = "jax_enable_x64", "jax_platform_name", "jax_platforms"
before = [jax.config.values[name] for name in names]
with jax.enable_x64(True):
    KLU()
assert before == [jax.config.values[name] for name in names], before
assert not before[0] and jax.numpy.ones(1).dtype == jax.numpy.float32
"""


def test_configuration_stays():
    pytest.importorskip("klujax")
    left = ("JAX_PLATFORMS", "JAX_PLATFORM_NAME", "JAX_ENABLE_X64")
    environment = {key: x for key, x in os.environ.items() if key not in left}
    done = subprocess.run(
        [sys.executable, "-c", IMPORT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
