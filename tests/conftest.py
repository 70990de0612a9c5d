"""Strict JAX: double precision, no implicit promotion of ranks or dtypes. And fast compilation."""

import os
import pathlib
import subprocess
import sys


# XLA's older code generator for CPUs, without optimisation, compiles three times as fast, and
# compiling is most of what the tests do. A version that no longer knows an option would abort,
# hence the trial. The main job and the figures run as XLA does by default.
FLAGS = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0"
if "XLA_FLAGS" not in os.environ:
    trial = [sys.executable, "-c", "import jax; jax.devices()"]
    environment = {**os.environ, "XLA_FLAGS": FLAGS}
    known = subprocess.run(trial, env=environment, capture_output=True).returncode == 0
    os.environ["XLA_FLAGS"] = FLAGS if known else ""

import jax
import pytest


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The test problems live in `benchmarks`, beside the package and not inside it.
root = str(pathlib.Path(__file__).parent.parent)
if root not in sys.path:
    sys.path.insert(0, root)


@pytest.fixture(autouse=True, scope="module")
def forget_compiled():
    """Every compiled program holds memory maps, of which a process may have only so many."""
    yield
    jax.clear_caches()
