"""The one door to the insides of JAX: everything else in this package uses its public API alone.

What is used here may change with any release of JAX; none of it is needed for a right result.
Whatever is missing, refused or not understood is done without, and one `JaxInternalsWarning` says
so; `jax_internals(False)`, or `JAXSPARK_PLAIN=1` in the environment, does without all of it.

| what is used | what for | used since | without it |
|---|---|---|---|
| `jax.extend.core.Primitive`; `ad`, `batching` and `mlir` of `jax.interpreters` | \
`attach_derivative`: second derivatives of a root inside a scan cost nothing until asked for | \
0.10 | corrections are computed with every value |
| the same | `LinearMap`: solutions of linear equations, with rules traced when needed | 0.10 | \
`jax.lax.custom_linear_solve`, which traces all rules for every derivative; gradients of the end \
keep all states |
| the same | `ruled`: custom rules that reverse mode of scans does not drop | 0.10 | \
`jax.custom_jvp`: on JAX 0.10 second derivatives in scans differentiate loops, forward only |
| the same | `mix`: products with tableaus, and their transposes, are written out | 0.10 | \
transposes are JAX's: gradients of large systems cost up to twice as much |
| the same | `computed_once`: a boundary that XLA does not fuse across | 0.10 | \
`jax.lax.optimization_barrier`, which derivatives pass, too |
| the same; `jaxpr_as_fun`, `replace` of programs and equations | `with_gathers_summed`: \
transposes of `x[index]` are sums | 0.10 | scatters, which are loops on a CPU |
| `platform` of `mlir.register_lowering` | `on_cpu`: where a rule that is traced will run | 0.10 | \
`jax.lax.platform_dependent`, which traces what every platform would run |
| `jax.extend.core.jaxpr_as_fun` | rules of the primitives are traced as on one device where \
several run them (`on_one_device`) | 0.10 | as without the primitives |
| `jax.extend.core.jaxpr_as_fun`, `ClosedJaxpr` | `opened`: a function's closed-over arrays as \
operands, for `over_devices` | 0.10 | GSPMD splits the batch: lanes of all devices wait for the \
slowest |
| equations of `jax.make_jaxpr`, their primitives' names and parameters; `Literal`, \
`jaxprs_in_params` | `sparsity`: \
`with_blocks` finds bodies; RATTLE solves for multipliers alone | 0.10 | dense matrices; all \
unknowns |
| names of XLA's compile options | `accepted`: those that this XLA knows | 0.10 | its defaults |

From `TESTED` on, which is above all releases that this package was tested with, each primitive
is tried once, on numbers, before it is relied on; below, all that its rules name is looked up.
"""

from ._attach import attach_derivative as attach_derivative
from ._gathered import with_gathers_summed as with_gathers_summed
from ._linear_map import LinearMap as LinearMap
from ._mix import mix as mix
from ._once import computed_once as computed_once
from ._opened import opened as opened
from ._options import accepted as accepted
from ._primitive import on_cpu as on_cpu
from ._ruled import ruled as ruled
from ._sparsity import (
    depends_on as depends_on,
    inner_programs as inner_programs,
    jacobian_pattern as jacobian_pattern,
    taken_apart as taken_apart,
)
from ._switch import allowed as allowed, jax_internals as jax_internals
from ._understood import JaxInternalsWarning as JaxInternalsWarning
