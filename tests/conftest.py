"""Strict JAX: double precision, no implicit promotion of ranks or dtypes, shapes and types of all
arguments checked. And fast compilation.
"""

import gc
import os
import pathlib
import pkgutil
import subprocess
import sys
import time


# XLA without optimisation and what only serves that compiles several times as fast, and compiling
# is most of what the tests do; without threads of its own, for tests run side by side. A version
# that no longer knows an option would abort, hence the trial. The main job and the figures run as
# XLA does by default.
FLAGS = [
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_llvm_enable_alias_scope_metadata=false",
    "--xla_llvm_enable_noalias_metadata=false",
]
# The older code generator for CPUs, while there is one.
OLDER = ["--xla_cpu_use_fusion_emitters=false"]


def known_flags() -> str:
    """The flags that the XLA at hand knows."""
    trial = [sys.executable, "-c", "import jax; jax.devices()"]
    for flags in (FLAGS + OLDER, FLAGS):
        environment = {**os.environ, "XLA_FLAGS": " ".join(flags)}
        if subprocess.run(trial, env=environment, capture_output=True).returncode == 0:
            return environment["XLA_FLAGS"]
    return ""


if "XLA_FLAGS" not in os.environ:
    os.environ["XLA_FLAGS"] = known_flags()

import jax
import jaxtyping
import pytest


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

# The test problems live in `benchmarks`, beside the package and not inside it.
root = str(pathlib.Path(__file__).parent.parent)
if root not in sys.path:
    sys.path.insert(0, root)

# Shapes and types in annotations are checked while the tests run: not in what is called for every
# number of a step, where checks would take a fifth of all time.
UNCHECKED = "jaxspark._jax_internals"
assert "jaxspark" not in sys.modules
package = pathlib.Path(root) / "jaxspark"
modules = {f"jaxspark.{module.name}" for module in pkgutil.iter_modules([str(package)])}
parts = pkgutil.iter_modules([str(package / "_jax_internals")])
modules |= {f"{UNCHECKED}.{module.name}" for module in parts}
jaxtyping.install_import_hook(sorted(modules - {UNCHECKED}), "beartype.beartype")

import jaxspark


# Tracing makes millions of objects that live long, in vain looked through for garbage.
gc.freeze()
gc.set_threshold(100_000, 20, 20)


# What a release of JAX, equinox, diffrax or NumPy could break: `--core` runs these alone.
CORE = """
    acyclic_recursive adaptive adaptive_errors adaptive_gradients bad_start bad_times composition
    consistent damp_start density devices diffrax end_alone estimate events events_of_methods
    explicit explicit_gradients export failing_lanes failing_steps
    fit_covariance fit_density fit_estimate fit_robust friction gathered given_times gradients
    iterate jax_internals
    linear_solvers lobatto_methods misuse multibody multipliers nearby orders original_form
    reference_values saddle side_by_side solve sparsity stiff_gradients stiff_solve structure system
    tableau underlying vmap with_blocks
"""
# Cases of more than 1.5 seconds, but for the best test of each concept: one a line.
THOROUGH = (pathlib.Path(__file__).parent / "thorough.txt").read_text(encoding="utf-8").split("\n")


# Files of few tests that take long each: first.
LONG = """
    readme adaptive_gradients fit_findings devices gradients diffrax linear_solvers fit_command
    range_space acyclic_explicit acyclic_recursive dalembert problems
""".split()


def pytest_addoption(parser):
    parser.addoption("--core", action="store_true", help="what other versions could break, alone")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what is thorough; keep the core alone, if that is asked for."""
    slow = {line for line in THOROUGH if line}
    everything = {item.nodeid.removeprefix("tests/") for item in items}
    if {item.path.name for item in items} >= {line.split("::")[0] for line in slow}:
        if unknown := slow - everything:
            raise pytest.UsageError(f"thorough.txt names what is no test: {sorted(unknown)}")
    core = {f"test_{name}.py" for name in CORE.split()}
    for item in items:
        if item.nodeid.removeprefix("tests/") in slow:
            item.add_marker(pytest.mark.thorough)
    if FIRST is None:
        # A core that is left with one of these at the end would keep the other waiting.
        items.sort(key=lambda item: item.path.stem.removeprefix("test_") not in LONG)
    else:
        files = sorted({item.path.stem for item in items})
        items.sort(key=lambda item: (files.index(item.path.stem) - FIRST) % len(files))
    if config.getoption("--core"):
        left = [item for item in items if item.path.name not in core]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item.path.name in core]


@pytest.fixture(autouse=True)
def inside(request):
    """Tests of what only JAX's insides give are skipped where these are switched off."""
    if request.node.get_closest_marker("inside") and not jaxspark._jax_internals.allowed():
        pytest.skip("JAX's insides are switched off")


# Seconds since the epoch after which no thorough test begins; what is left out is told at the end.
END = float(os.environ.get("JAXSPARK_THOROUGH_UNTIL", "inf"))
# The file to begin with, counted around: another one with every change, so that where time is short
# it is not always the same ones that are left out.
FIRST = int(os.environ["JAXSPARK_FIRST_FILE"]) if "JAXSPARK_FIRST_FILE" in os.environ else None
TOO_LATE = "the time for thorough tests is up"


def pytest_runtest_setup(item):
    """A slow machine runs fewer of the thorough tests, not none of what comes after."""
    if item.get_closest_marker("thorough") and time.time() > END:
        pytest.skip(TOO_LATE)


def pytest_terminal_summary(terminalreporter):
    """Say loudly what was left out."""
    skipped = terminalreporter.stats.get("skipped", [])
    late = sorted(report.nodeid for report in skipped if TOO_LATE in str(report.longrepr))
    if late:
        terminalreporter.section(f"{len(late)} THOROUGH TESTS WERE NOT RUN: {TOO_LATE}", "!")
        for name in late:
            terminalreporter.line(name)


# Every compiled program holds memory maps, of which a process may have only so many (65530): XLA
# ends with a segmentation fault at the next one. Counting them takes milliseconds, hence not after
# every test.
MOST_MAPS = 30_000
MAPS = pathlib.Path("/proc/self/maps")
COUNT_EVERY = 2.0  # seconds
counted = time.monotonic()


@pytest.fixture(autouse=True)
def forget_compiled():
    """What was compiled is kept from test to test, until there is too much of it."""
    global counted
    yield
    if time.monotonic() - counted > COUNT_EVERY:
        if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
            jax.clear_caches()
        counted = time.monotonic()
