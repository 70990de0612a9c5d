"""A batch of trajectories, a chunk of lanes at a time, with files that survive an interruption."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
from tqdm import tqdm

from ._chunk_file import load_chunk, other_chunk, save_chunk
from ._described import described
from ._windows import lanes_of, require_lanes


_OTHERS = "other arguments, another size of chunks, another function or another version of JAX"
_Run = Callable[[Any], list[np.ndarray]]


def in_chunks(
    function: Callable[..., Any],
    size: int,
    *,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Callable[..., Any]:
    """Map a function over a batch as `jax.vmap` does, in chunks, from and to NumPy arrays.

    It is for batches that take hours, or more memory than a device has. One program runs all
    chunks; the last one is filled up with copies of its last lane. With a folder nothing is lost if
    the process is killed: the same call goes on with the first chunk that is not there, and its
    results have the same bits. A function is known by its code, what it holds, and the program that
    JAX makes of it; where that program is another, a chunk that is there is computed again and
    compared.

    It needs the memory of the arguments and of the results of all lanes, on the host, and that of
    the program of one chunk: its arguments, results and what XLA's `memory_analysis` calls
    `temp_size_in_bytes`, on the device. What it returns cannot be differentiated or traced: for
    that there is [`jaxspark.batch.in_windows`][].

    **Arguments:**

    - `function`: the function of one lane; its arguments and results are PyTrees of arrays. What
        all lanes share, it closes over.
    - `size`: how many lanes a chunk has.
    - `folder`: for a file of each chunk, written when it is done. `None`: there are no files.
    - `progress`: whether a bar shows how many chunks are done.

    **Returns:** a function of batches, along the first axes of all arguments and results; its
    results are NumPy arrays.

    **Raises:** `ValueError` if a chunk has no lanes, arguments have no batch or different ones;
    `TypeError` if it is traced, or for keys and floats that are not NumPy's;
    `jaxspark.fit.CheckpointError` if a file in the folder belongs to another program, to other
    arguments or another size of chunks, or cannot be read.
    """
    require_lanes("chunk", size)
    batched = jax.jit(jax.vmap(lambda lane: function(*lane)))

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        count = lanes_of(args)
        leaves, structure = jax.tree.flatten(args)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise TypeError(
                "jaxspark.batch.in_chunks takes known arrays, outside jax.jit and jax.grad; use "
                "jaxspark.batch.in_windows there."
            )
        given = [_of_numpy("an argument", leaf) for leaf in leaves]

        def chunk(first: int) -> Any:
            rows = np.minimum(np.arange(first, first + size), max(count - 1, 0))
            return jax.tree.unflatten(structure, [jnp.asarray(leaf[rows]) for leaf in given])

        if count == 0:
            empty = jax.tree.unflatten(structure, [jnp.asarray(leaf) for leaf in given])
            return jax.tree.map(np.asarray, batched(empty))
        lowered = batched.lower(chunk(0))
        program = lowered.compile()
        files = None if folder is None else _Files(Path(folder), function, lowered.as_text())
        run = lambda lanes: [np.asarray(leaf) for leaf in jax.tree.leaves(program(lanes))]
        shapes, treedef = jax.tree.flatten(jax.eval_shape(batched, chunk(0)))
        for shape in shapes:
            _of_numpy("a result", shape)
        results = [np.empty((count, *shape.shape[1:]), shape.dtype) for shape in shapes]
        firsts = range(0, count, size)
        for number, first in enumerate(tqdm(firsts, unit="chunk", disable=not progress)):
            lanes = chunk(first)
            found = None if files is None else files.load(number, lanes, run)
            if found is None:
                found = run(lanes)
                if files is not None:
                    files.save(number, lanes, found)
            for result, part in zip(results, found, strict=True):
                result[first : first + size] = part[: count - first]
        return jax.tree.unflatten(treedef, results)

    return call


def _of_numpy(what: str, leaf: Any) -> Any:
    """An array of NumPy, which can be written to a file; shapes as they are."""
    dtype = jnp.result_type(leaf)
    if jnp.issubdtype(dtype, jax.dtypes.extended) or np.dtype(dtype).kind not in "biufc":
        raise TypeError(
            f"jaxspark.batch.in_chunks is for numbers of NumPy; {what} has dtype {dtype}. Of keys "
            "take jax.random.key_data, of other floats a conversion."
        )
    return leaf if isinstance(leaf, jax.ShapeDtypeStruct) else np.asarray(leaf)


class _Files:
    """The chunks of one program in a folder."""

    def __init__(self, folder: Path, function: Callable[..., Any], program: str):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.program = folder, hashlib.sha256(program.encode()).hexdigest()
        self.same = {self.program}
        self.name = hashlib.sha256(f"{jax.__version__} {jax.default_backend()}".encode())
        for piece in described(function):
            self.name.update(piece)

    def _named(self, lanes: Any) -> str:
        digest = self.name.copy()
        for leaf in jax.tree.leaves(lanes):
            digest.update(np.ascontiguousarray(leaf).tobytes())
        return digest.hexdigest()

    def _path(self, number: int) -> Path:
        return self.folder / f"chunk-{number:06d}.npz"

    def load(self, number: int, lanes: Any, run: _Run) -> list[np.ndarray] | None:
        """The results of a chunk; `None` if it is not there.

        JAX may write one function as different programs, by what a process traced before: the
        first chunk of each is computed again, and must have the same bits.
        """
        path = self._path(number)
        if not path.exists():
            return None
        arrays = load_chunk(path, self._named(lanes), _OTHERS)
        program = str(arrays.pop("program", None))
        found = [arrays[f"result_{i}"] for i in range(len(arrays))]
        if program not in self.same:
            if not _same_bits(found, run(lanes)):
                raise other_chunk(path, _OTHERS)
            self.same.add(program)
        return found

    def save(self, number: int, lanes: Any, results: list[np.ndarray]) -> None:
        """Write the results of a chunk."""
        arrays = {f"result_{i}": leaf for i, leaf in enumerate(results)}
        arrays["program"] = np.array(self.program)
        save_chunk(self._path(number), self._named(lanes), arrays)


def _same_bits(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    """NaNs of the same bits included."""
    return len(some) == len(others) and all(
        a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for a, b in zip(some, others, strict=True)
    )
