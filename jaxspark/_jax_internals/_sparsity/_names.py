"""Primitives that are left without a rule on purpose.

Their results depend on all of their operands, or need no rule: they act on what depends on no
input, for rules act on tangents. A primitive that has no rule and is not here is one that this
package does not know.
"""

# Functions of single elements, which are not linear.
ELEMENTWISE = """
    acos acosh atan2 bessel_i0e bessel_i1e ceil clz cos cosh digamma eq_to erf erf_inv erfc exp exp2
    is_finite igamma igamma_grad_a igammac le_to lgamma log log2 logistic lt_to nextafter
    one_minus_square polygamma polynomial population_count pow regularized_incomplete_beta rsqrt
    shift_left shift_right_arithmetic shift_right_logical zeta
"""
# Of whole arrays.
WHOLE = """
    all_gather all_to_all approx_top_k cholesky_update geqrf lu_pivots_to_permutation ormqr
    symmetric_product argmax argmin cholesky conv_general_dilated eig eigh empty2
    fft hessenberg householder_product lu ppermute psum psum2 psum_invariant pmax pmin pvary qr
    ragged_all_to_all reduce reduce_and reduce_or reduce_window reduce_window_max reduce_window_min
    reduce_window_sum reduce_xor scatter-max scatter-min schur select_and_gather_add
    select_and_scatter select_and_scatter_add sort svd top_k tridiagonal tridiagonal_solve
"""
# That move values about, or neither compute nor move them.
OTHERS = """
    add_any after_all axis_index broadcast_to call_hi_primitive custom_vmap_call empty ffi_call
    mulhi zeros_like bitcast_convert_type call copy create_token custom_lin device_put
    debug_callback debug_print get io_callback linear_call platform_index pure_callback random_bits
    random_fold_in random_gamma random_seed random_split random_unwrap random_wrap
    reduce_precision rng_bit_generator rng_uniform shard_map sharding_constraint swap threefry2x32
"""
# Those of this package.
OWN = "attach_derivative computed_once mix"

WITHOUT_RULE = frozenset(" ".join((ELEMENTWISE, WHOLE, OTHERS, OWN)).split())
