"""Compiled programs on disk: the line that the README gives is all that it takes."""

import json
import os
import pathlib
import re
import subprocess
import sys


ROOT = pathlib.Path(__file__).parent.parent
PROGRAM = """
import collections, json, sys
import jax, jax.numpy as jnp
import jaxspark
from benchmarks.speed._pendulums import system

{line}
jax.config.update("jax_enable_x64", True)
# What compiles in less than a second is not kept otherwise.
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
counts = collections.Counter()
jax.monitoring.register_event_listener(lambda name, **_: counts.update([name.split("/")[-1]]))


def loss(length):
    method = jaxspark.Composition(jaxspark.Lobatto(2), 4)
    end = jaxspark.rollout(
        system(), length * jnp.array([1.0, 0.0]), jnp.zeros(2), length, method=method, t1=1.0,
        num_steps=20, save_every=None, throw=False,
    )
    return end.y1[0]


value, slope = jax.jit(jax.value_and_grad(loss))(jnp.ones(()))
print(json.dumps([float(value).hex(), float(slope).hex(), counts["cache_hits"],
                  counts["cache_misses"]]))
"""


def test_a_second_process_compiles_nothing(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r'`(jax\.config\.update\("jax_compilation_cache_dir", .*?\))`', readme)
    program = PROGRAM.format(line=line)
    found = []
    for _ in range(2):
        path = os.pathsep.join([str(ROOT), *sys.path])
        environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=tmp_path, timeout=900,
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
        found.append(json.loads(done.stdout.splitlines()[-1]))
    first, second = found
    assert first[2] == 0 and first[3] > 0
    assert second[2] == first[3] and second[3] == 0
    # The same numbers to the bit.
    assert second[:2] == first[:2]
