"""Strict JAX: double precision, no implicit promotion of ranks or dtypes."""

import pathlib
import sys

import jax


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The test problems live in `benchmarks`, beside the package and not inside it.
root = str(pathlib.Path(__file__).parent.parent)
if root not in sys.path:
    sys.path.insert(0, root)
