"""How a computation ended: a value, turned into an error only on request."""

import equinox as eqx


class RESULTS(eqx.Enumeration):
    """How a solve, step or projection ended. Only `RESULTS.successful` is a success.

    Each member is a text; `RESULTS[result]` gives it.
    """

    successful = "successful"
    newton_diverged = (
        "Newton's iteration for the stage equations diverged. Use a smaller step size, or "
        "check that the system is smooth near the state where it stopped. If damping or springs "
        "are stiff, with rates of more than about 1 over the step size, use a smaller step, "
        'NewtonOptions(jacobian="full"), or solve with GGL(RadauIIA(3)).'
    )
    newton_iteration_limit = (
        "Newton's iteration for the stage equations did not converge within "
        "max_iterations. Use a smaller step size, or raise max_iterations. If damping or springs "
        "are stiff, with rates of more than about 1 over the step size, use a smaller step, "
        'NewtonOptions(jacobian="full"), or solve with GGL(RadauIIA(3)).'
    )
    singular = (
        "The matrix K2 = [[p_z, -r_lam, -f_psi], [g_y v_z, 0, 0], [k_z, 0, 0]] is singular: "
        "the constraints are redundant, or act on directions without mass; for Lobatto methods, "
        "p_z must be regular, too. "
        "jaxspark.diagnostics.constraint_rank tells which combination of constraints is at fault."
    )
    nonfinite = (
        "NaN or infinity, in the initial values or from a function of the system. Check these, "
        "args, and that the state has not left the functions' domain."
    )
    inconsistent_initial_values = (
        "The initial values violate the constraints. jaxspark.project makes them consistent."
    )
    mass_not_positive = (
        "The mass matrix is not symmetric, or not positive definite on the velocities that the "
        "constraints leave free. Check the signs of masses and inertias, and the mass matrix as a "
        "function of the coordinates."
    )
    zero_step_size = "The step size is zero, so that time cannot advance."
    step_density_lost = (
        "The density of the steps fell to zero: scale(t, y, args) changes too much in one step. "
        "Use a smaller h, or a scale that is smoother and positive."
    )
    max_steps_reached = (
        "max_steps steps were not enough. Raise max_steps, or the tolerances; a method of higher "
        "order needs fewer steps."
    )
    step_size_too_small = (
        "The step size needed for the tolerances is too small. The system may not be smooth near "
        "the state where it stopped, or its constraints may become dependent there; if neither, "
        "raise rtol, and atol, which must not be 0 where an entry stays at zero."
    )
    max_events_reached = (
        "More than max_events events occurred. Raise max_events, or end the motion at an event "
        "after which they accumulate."
    )
    event_not_located = (
        "The time of an event could not be located inside a step. Set max_step so that its "
        "condition changes sign only once in a step, and check that the condition is finite."
    )
    time_outside = (
        "The times in ts are not in order, or one of them is not between t0 and t1. The rows of "
        "such times are no results."
    )
    projection_failed = (
        "The projection onto the constraints did not converge. Start closer to a consistent "
        "state, hold fewer coordinates, or check that the constraints can be satisfied."
    )
