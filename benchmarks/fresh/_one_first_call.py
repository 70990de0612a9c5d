"""The CPU seconds of one first call, in a process of its own.

python -m benchmarks.fresh._one_first_call NAME PROGRAM value, or gradient; PROGRAM is default,
Gauss(3) or by hand.
"""

import sys
import time

import diffrax
import jax
import jax.numpy as jnp

import jaxspark

from ._members import MEMBERS
from ._programs import by_hand, differentiated, ours


TOLERANCE = 1e-7


def main() -> None:
    """Print the CPU seconds."""
    jax.config.update("jax_enable_x64", True)
    name, program, what = sys.argv[1:]
    fresh = MEMBERS[name]
    start = fresh.start()
    method = jaxspark.Gauss(3) if program == "Gauss(3)" else None
    hand = program == "by hand"
    run = by_hand(fresh, diffrax.Dopri8()) if hand else ours(fresh, method)
    call = jax.jit(differentiated(run) if what == "gradient" else run)
    tolerance = jnp.asarray(TOLERANCE)
    # What any first call of JAX costs is no concern of ours.
    jax.block_until_ready(jax.jit(jnp.linalg.solve)(jnp.eye(3), jnp.ones(3)))
    begun = time.process_time()
    jax.block_until_ready(call(*start, tolerance))
    print(time.process_time() - begun)


if __name__ == "__main__":
    main()
