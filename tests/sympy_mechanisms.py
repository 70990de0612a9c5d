"""Mechanisms of SymPy that tests share: the object, values of its parameters, functions of time."""

import sympy as sp
from sympy.physics import mechanics as me


T = me.dynamicsymbols._t


def cart():
    """A pendulum on a cart with a spring, pushed, with a drag on the bob: no constraints."""
    x, angle = me.dynamicsymbols("x angle")
    M, m, length, g, stiffness, c = sp.symbols("M m l g k c", positive=True)
    N = me.ReferenceFrame("N")
    at = x * N.x + length * (sp.sin(angle) * N.x - sp.cos(angle) * N.y)
    O = me.Point("O")
    O.set_vel(N, 0)
    cart = O.locatenew("cart", x * N.x)
    bob = O.locatenew("bob", at)
    cart.set_vel(N, x.diff(T) * N.x)
    bob.set_vel(N, at.dt(N))
    bodies = [me.Particle("C", cart, M), me.Particle("B", bob, m)]
    bodies[0].potential_energy = stiffness * x**2 / 2
    bodies[1].potential_energy = -m * g * length * sp.cos(angle)
    loads = [(cart, sp.sin(3 * T) * N.x), (bob, -c * bob.vel(N))]
    method = me.LagrangesMethod(
        me.Lagrangian(N, *bodies), [x, angle], forcelist=loads, bodies=bodies, frame=N
    )
    return method, {"M": 2.0, "m": 0.7, "l": 0.9, "g": 9.81, "k": 4.0, "c": 0.3}


def string():
    """A bob in the plane on a string that is shortened."""
    x, y = me.dynamicsymbols("x y")
    m, g, length, rate = sp.symbols("m g l rate")
    L = m * (x.diff(T) ** 2 + y.diff(T) ** 2) / 2 - m * g * y
    method = me.LagrangesMethod(L, [x, y], hol_coneqs=[x**2 + y**2 - (length - rate * T) ** 2])
    return method, {"m": 1.3, "g": 9.81, "l": 0.8, "rate": 0.1}


def skate():
    """A knife edge on an inclined plane, as `helpers.knife_edge`."""
    x, y, angle = q = me.dynamicsymbols("x y angle")
    m, J, slope = sp.symbols("m J slope")
    kinetic = m * (x.diff(T) ** 2 + y.diff(T) ** 2) / 2 + J * angle.diff(T) ** 2 / 2
    method = me.LagrangesMethod(
        kinetic + m * slope * x, q,
        nonhol_coneqs=[sp.sin(angle) * x.diff(T) - sp.cos(angle) * y.diff(T)],
    )  # fmt: skip
    return method, {"m": 1.2, "J": 0.7, "slope": 3.0}


def disc(axes="ground"):
    """A disc that rolls on a plane; its centre has coordinates and speeds, which SymPy eliminates.

    The velocity of the lowest point, in axes of the ground or of the disc's frame without spin, is
    zero: one of three conditions, or a combination of them, follows from the height of the centre.
    """
    q1, q2, q3, x, y, z = me.dynamicsymbols("q1 q2 q3 x y z")
    u = me.dynamicsymbols("u1:7")
    r, m, g = sp.symbols("r m g")
    N = me.ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    turning = u[0] * L.x + u[1] * L.y + u[2] * L.z
    kd = [(R.ang_vel_in(N) - turning).dot(axis) for axis in L]
    kd += [q.diff(T) - speed for q, speed in zip((x, y, z), u[3:])]
    R.set_ang_vel(N, turning)
    centre = me.Point("centre")
    centre.set_vel(N, u[3] * N.x + u[4] * N.y + u[5] * N.z)
    I = me.inertia(L, m * r**2 / 4, m * r**2 / 2, m * r**2 / 4)
    body = me.RigidBody("disc", centre, R, m, (I, centre))
    lowest = centre.vel(N) + turning.cross(-r * L.z)
    method = me.KanesMethod(
        N, q_ind=[q1, q2, q3, x, y], u_ind=u[:3], kd_eqs=kd, q_dependent=[z],
        configuration_constraints=[z - r * sp.cos(q2)], u_dependent=u[3:],
        velocity_constraints=[lowest.dot(axis) for axis in (N if axes == "ground" else L)],
        bodies=[body], forcelist=[(centre, -m * g * N.z)],
    )  # fmt: skip
    return method, {"r": 0.5, "m": 2.0, "g": 9.81}


BARS = {"crank": (1.0, 0.3), "coupler": (1.5, 1.0), "rocker": (2.0, 0.8)}


def four_bar():
    """That of `mechanisms_of_bodies`, with joints of SymPy: a `System`, whose method is Kane's."""
    A, B, D = q = me.dynamicsymbols("A B D")
    u = me.dynamicsymbols("uA uB uD")
    g = sp.Symbol("g")
    ground = me.RigidBody("ground")
    system = me.System.from_newtonian(ground)
    bodies = {}
    for name, (mass, length) in BARS.items():
        body = bodies[name] = me.RigidBody(name, mass=mass)
        body.central_inertia = me.inertia(body.frame, 0, 0, mass * length**2 / 12)
    half = {name: length * bodies[name].x / 2 for name, (_, length) in BARS.items()}
    joint = lambda name, a, b, k, **at: me.PinJoint(
        name, a, b, q[k], u[k], joint_axis=a.z, parent_interframe=a.frame,
        child_interframe=b.frame, **at,
    )  # fmt: skip
    crank, coupler, rocker = bodies.values()
    system.add_joints(
        joint("A", ground, crank, 0, child_point=-half["crank"]),
        joint("B", crank, coupler, 1, parent_point=half["crank"], child_point=-half["coupler"]),
        joint("D", ground, rocker, 2, parent_point=1.0 * ground.x, child_point=-half["rocker"]),
    )
    ends = [
        bodies[name].masscenter.locatenew(f"end of {name}", half[name])
        for name in ("coupler", "rocker")
    ]
    gap = ends[0].pos_from(ends[1]).express(ground.frame)
    system.add_holonomic_constraints(gap.dot(ground.x), gap.dot(ground.y))
    system.apply_uniform_gravity(-g * ground.y)
    system.q_ind, system.q_dep = [A], [B, D]
    system.u_ind, system.u_dep = [u[0]], list(u[1:])
    system.form_eoms(constraint_solver="CRAMER")
    return system.eom_method, {"g": 9.81}
