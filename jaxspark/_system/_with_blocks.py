"""Block structure found in the functions of a system that declares no bodies."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float

from .._blocks import BlockMatrix, BlockValues, Pattern, Structure
from .._blocks._detect import Blocks, detect_blocks, LARGEST
from .._custom_types import Args, State
from .._jax_internals import jacobian_pattern
from ._check import constraint_shapes
from ._constrained import AbstractConstrainedSystem, Part
from ._elongated import Elongated
from ._found_blocks import block_rows, check_forces, coordinates, diagonal, Places, Sparsity
from ._multibody import MultibodySystem


OfVectors = Callable[[Any, Array, Array], BlockValues]


class WithBlocks(AbstractConstrainedSystem):
    """A system whose block structure is found in its functions.

    [`jaxspark.linear.with_blocks`][] makes it.

    - `system`: whose functions these are.
    - `blocks`: the number of its block for each velocity; `None` where they are to be found.
    - `redundant`: whether constraints may depend on each other; one block then has them all.
    """

    system: AbstractConstrainedSystem
    blocks: tuple[int, ...] | None = eqx.field(static=True, default=None)
    redundant: bool = eqx.field(static=True, default=False)

    v = property(lambda self: self.system.v)
    p = property(lambda self: self.system.p)
    f = property(lambda self: self.system.f)
    r = property(lambda self: self.system.r)
    g = property(lambda self: self.system.g)
    k = property(lambda self: self.system.k)
    reaction = property(lambda self: self.system.reaction)
    friction = property(lambda self: self.system.friction)

    def parts(self, y: State, z: State, lam: Any, psi: Any) -> tuple[Part, ...]:
        """Those of the system."""
        return self.system.parts(y, z, lam, psi)


def innermost(system: AbstractConstrainedSystem) -> AbstractConstrainedSystem:
    """The system as it was given, without blocks and springs that were found or added since."""
    while isinstance(system, (WithBlocks, Elongated)):
        system = system.system
    return system


def with_blocks(system: AbstractConstrainedSystem, blocks: Any = None) -> AbstractConstrainedSystem:
    """The same system, solved block by block: its bodies are found in its functions.

    Which velocities `p`, `g`, `k` and `v` depend on is read off their programs, whatever the
    values: nothing is evaluated, and no dense Jacobian is made. Blocks are chosen such that
    `p_z` couples only velocities of one block, and each row of `g` and `k` those of at most two.
    Derivatives are then found by a few directional ones, all blocks at once.

    Indices by which the functions take entries of arrays must be constants, not `args` and not
    JAX arrays that are fields of the system: where an index is traced, it may select any entry.
    Where constraint forces are ideal `p_z` is taken to be symmetric.

    **Arguments:**

    - `system`: the constrained system; [`jaxspark.MultibodySystem`][], which declares its
        blocks, is returned as it is.
    - `blocks`: for each velocity, in the order of the raveled state, the number of its block,
        from 0 and without gaps, shape `(nz,)`. Default: they are found.

    **Returns:** a system with the same functions. Where programs cannot be read, which
    `jaxspark.JaxInternalsWarning` says or `jaxspark.jax_internals(False)` asks for, it is solved
    as one block, or with dense matrices.

    **Raises:** `TypeError` if `system` is not a constrained system; `ValueError` if `blocks` are
    not integers, or for a system of [`jaxspark.linear.redundant`][]. Where the system meets its
    first state, `ValueError` if there are no blocks, if those given do not fit, or if constraint
    forces are not linear in their multipliers.

    ??? cite "Reference"
        A. Griewank & A. Walther, *Evaluating Derivatives*, 2nd edition, SIAM 2008, chapters 7
        and 8, for the structure of Jacobians and their values by colours.
    """
    if not isinstance(system, AbstractConstrainedSystem):
        raise TypeError(f"system must be a jaxspark system; got {system!r}.")
    if isinstance(system, MultibodySystem):
        return system
    if isinstance(system, WithBlocks):
        if system.redundant:
            raise ValueError(
                "A system of jaxspark.linear.redundant is solved as one block: it has no others."
            )
        system = system.system
    if blocks is None:
        return WithBlocks(system)
    numbers = np.asarray(blocks)
    if numbers.ndim != 1 or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(
            "blocks should be a vector of integers, the number of its block for each velocity; "
            f"got shape {numbers.shape} and dtype {numbers.dtype}."
        )
    return WithBlocks(system, tuple(numbers.tolist()))


class _Vectors:
    """The functions of a system on vectors, first what they are differentiated by.

    - `arrays`: the parameters, in the system and in `args`, whose values are to be unknown.
    - `own`: which multipliers have forces of their own, and not ideal ones.
    """

    def __init__(self, system: AbstractConstrainedSystem, t: Any, y: State, z: State, args: Args):
        lam, psi = constraint_shapes(system, t, y, z, args)
        self.y, self.unravel_y = jax.flatten_util.ravel_pytree(y)
        self.z, self.unravel_z = jax.flatten_util.ravel_pytree(z)
        lam, self.unravel_lam = jax.flatten_util.ravel_pytree(lam)
        psi, self.unravel_psi = jax.flatten_util.ravel_pytree(psi)
        self.nlam, self.npsi, self.dtype = lam.size, psi.size, self.y.dtype
        own = [system.r is not None, system.reaction is not None]
        self.own = np.repeat(own, [lam.size, psi.size])
        self.arrays, self.static = eqx.partition((system, args), eqx.is_inexact_array)

    def ravel(self, tree: Any) -> Float[Array, " n"]:
        return jax.flatten_util.ravel_pytree(tree)[0].astype(self.dtype)

    def momentum(self, z, t, y, arrays):
        """`p`."""
        system, args = eqx.combine(arrays, self.static)
        return self.ravel(system.p(t, self.unravel_y(y), self.unravel_z(z), args))

    def velocity(self, z, t, y, arrays):
        """`v`."""
        system, args = eqx.combine(arrays, self.static)
        if system.v is None:
            return z
        return self.ravel(system.v(t, self.unravel_y(y), self.unravel_z(z), args))

    def constraints(self, z, t, y, arrays):
        """`[g_t + g_y v; k]`."""
        system, args = eqx.combine(arrays, self.static)
        rows = []
        if self.nlam:

            def holonomic(t, y):
                return self.ravel(system.g(t, self.unravel_y(y), args))

            along = jnp.ones_like(t), self.velocity(z, t, y, arrays)
            rows.append(jax.jvp(holonomic, (t, y), along)[1])
        if self.npsi:
            rows.append(self.ravel(system.k(t, self.unravel_y(y), self.unravel_z(z), args)))
        return jnp.concatenate(rows) if rows else jnp.zeros(0, self.dtype)

    def forces(self, multipliers, t, y, z, arrays):
        """The constraint forces that are not ideal, of all multipliers."""
        system, args = eqx.combine(arrays, self.static)
        total = jnp.zeros(self.z.size, self.dtype)
        y, lam, psi = self.unravel_y(y), multipliers[: self.nlam], multipliers[self.nlam :]
        if system.r is not None and self.nlam:
            total = total + self.ravel(system.r(t, y, self.unravel_lam(lam), args))
        if system.reaction is not None and self.npsi:
            own = system.reaction(t, y, self.unravel_z(z), self.unravel_psi(psi), args)
            total = total + self.ravel(own)
        return total


class _Patterns:
    """The structures of Jacobians of some functions, and whether all of these were understood."""

    def __init__(self) -> None:
        self.understood = True

    def of(self, function: Callable[..., Array], *at: Any) -> Sparsity:
        entries, understood = jacobian_pattern(function, *at)
        self.understood &= understood
        return entries


def found_blocks(
    system: WithBlocks, t: Any, y: State, z: State, args: Args
) -> tuple[Structure, OfVectors] | None:
    """The structure of a system, and its `BlockValues` as a function of vectors.

    **Returns:** these; `None` if no blocks are seen in functions that are not all understood.

    **Raises:** `ValueError`: see [`jaxspark.linear.with_blocks`][].
    """
    patterns = _Patterns()
    try:
        return _found(patterns, system, t, y, z, args)
    except ValueError:
        if patterns.understood:
            raise
        return None


def _found(
    patterns: _Patterns, system: WithBlocks, t: Any, y: State, z: State, args: Args
) -> tuple[Structure, OfVectors]:
    inner = system.system
    vectors = _Vectors(inner, t, y, z, args)
    at = vectors.z, t, vectors.y, vectors.arrays
    p = None if inner.p is None else patterns.of(vectors.momentum, *at)
    v = None if inner.v is None else patterns.of(vectors.velocity, *at)
    B = patterns.of(vectors.constraints, *at)
    C = _force_pattern(patterns, inner, vectors, t)
    labels = [f"row {i} of g" for i in range(vectors.nlam)]
    labels += [f"row {i} of k" for i in range(vectors.npsi)]
    rows = B if C is None else scipy.sparse.csr_matrix(B + C.T)
    given = (0,) * vectors.z.size if system.redundant else system.blocks
    found = _partition(p, v, rows, labels, given)
    pattern, places = found.pattern, Places(found)
    if C is not None:
        check_forces(places, B, pattern)
    count = vectors.nlam
    structure = Structure(
        pattern,
        Pattern(pattern.sizes, pattern.rows[:count], pattern.entries[:count], labels[:count]),
        found.unknowns,
        found.unknowns if v is None else coordinates(v, places),
        vectors.y.size,
    )
    return structure, _values(vectors, structure, places, p, v, B, C)


def _values(
    vectors: _Vectors,
    structure: Structure,
    places: Places,
    p: Sparsity | None,
    v: Sparsity | None,
    B: Sparsity,
    C: Sparsity | None,
) -> OfVectors:
    """The function that finds all blocks at one point."""
    identity = np.tile(np.eye(places.width), (places.count, 1, 1))
    mass = None if p is None else diagonal(p, places, structure.z, ones=True)
    kinematics = None if v is None else diagonal(v, places, structure.y)
    rows = block_rows(B, structure.pattern, places)
    forces = None if C is None else block_rows(C, structure.pattern, places, by_rows=True)
    symmetric = p is None or not (p != p.T).nnz
    own = vectors.own[:, None, None]

    def of_vectors(t, y, z):
        def along(function):
            return lambda z: function(z, t, y, vectors.arrays)

        def pushed(multipliers):
            return -vectors.forces(multipliers, t, y, z, vectors.arrays)

        K = jnp.asarray(identity, y.dtype)
        if mass is not None:
            K = mass.at(along(vectors.momentum), z)
        matrix_B = rows.at(along(vectors.constraints), z)
        matrix_C = None if symmetric else matrix_B
        if forces is not None:
            matrix_C = jnp.where(own, forces.at(pushed, jnp.zeros(own.size, y.dtype)), matrix_B)
        v_z = None if kinematics is None else kinematics.at(along(vectors.velocity), z)
        return BlockValues(BlockMatrix(K, matrix_B, matrix_C), v_z)

    return of_vectors


def _force_pattern(
    patterns: _Patterns, system: AbstractConstrainedSystem, vectors: _Vectors, t: Any
) -> Sparsity | None:
    """Where forces that are not ideal depend on multipliers, if there are such forces."""
    if system.friction is None and not vectors.own.any():
        return None
    multipliers = jnp.zeros(vectors.own.size, vectors.dtype)
    at = multipliers, t, vectors.y, vectors.z, vectors.arrays

    def change(multipliers, *rest):
        every = (jnp.ones_like(multipliers),)
        return jax.jvp(lambda x: vectors.forces(x, *rest), (multipliers,), every)[1]

    if system.friction is not None or patterns.of(change, *at).nnz:
        raise ValueError(
            "jaxspark.linear.with_blocks needs constraint forces that are linear in their "
            "multipliers: no friction(t, y, z, lam, args), and no r or reaction that depends on "
            "them otherwise."
        )
    return patterns.of(vectors.forces, *at)


def _partition(
    p: Sparsity | None,
    v: Sparsity | None,
    rows: Any,
    labels: list[str],
    given: tuple[int, ...] | None,
) -> Blocks:
    """The blocks that were given, or that were found."""
    if given is not None:
        found, _ = detect_blocks(p, rows, np.asarray(given, int), labels)
        assert found is not None
        return found
    coupled, size = p, rows.shape[1]
    if v is not None:
        # Velocities of one coordinate: the first is coupled with every other.
        lengths = np.diff(v.indptr)
        first = np.repeat(v.indices[v.indptr[:-1][lengths > 0]], lengths[lengths > 0])
        pairs = first, v.indices
        links = scipy.sparse.csr_matrix((np.ones(v.nnz, bool), pairs), (size, size))
        coupled = links if p is None else p + links
    found, why = detect_blocks(coupled, rows, labels=labels)
    if found is None:
        raise ValueError(
            f"The functions of this system show no blocks: {why} blocks is an array with the "
            "number of its block for each velocity. Or describe bodies and joints by "
            "jaxspark.MultibodySystem."
        )
    if found.pattern.num_blocks == 1 and found.pattern.size > LARGEST:
        raise ValueError(
            f"The functions of this system show no blocks: p_z and v_z couple all {size} "
            "velocities. Describe bodies and joints by jaxspark.MultibodySystem, or leave "
            "out jaxspark.linear.with_blocks."
        )
    return found
