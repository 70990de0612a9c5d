"""Files of robots: the equations are MuJoCo's, loops hold exactly, what is not kept is named."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import jaxspark
from helpers import largest_difference, thorough
from jaxspark import multibody as mb


QUIET = "<option><flag contact='disable'/></option>"
# Free and ball joints, two joints on a body, a fixed body, references, springs, armature.
ROBOT = f"""<mujoco>{QUIET}<compiler angle="radian"/><worldbody>
<body name="base" pos=".1 .2 .3" quat=".9 .1 .3 .2"><freejoint name="root"/>
  <inertial pos=".1 -.05 .02" mass="3" fullinertia=".3 .4 .5 .02 -.01 .03"/>
  <body name="arm" pos=".3 0 .1" quat=".8 .2 .1 -.3">
    <joint name="shoulder" axis="1 .5 0" pos="0 .1 -.05" ref=".3" damping=".2" armature=".04"/>
    <joint name="lift" type="slide" axis="0 0 1" stiffness="80" springref=".05" damping="1"/>
    <inertial pos="0 .1 .1" mass="1.2" diaginertia=".02 .03 .025"/>
    <body name="box" pos="0 .2 0" quat=".9 0 .2 0">
      <inertial pos=".02 0 .01" mass=".4" diaginertia=".001 .002 .0015"/>
      <body name="hand" pos=".1 0 .1"><joint name="wrist" type="ball" pos=".02 0 0" damping=".1"/>
        <inertial pos="0 .1 0" mass=".5" diaginertia=".004 .003 .005"/></body>
    </body>
  </body>
</body></worldbody>
<actuator><motor name="m" joint="shoulder" gear="3"/>
<position name="p" joint="lift" kp="40" kv="2"/>
<velocity name="v" joint="shoulder" kv="2" gear=".5"/></actuator></mujoco>"""
# A planar four-bar in space, its coupler held by a point alone; a wheel that a gear drives.
LOOP = f"""<mujoco>{QUIET}<worldbody>
<body name="crank"><joint name="a" axis="0 1 0"/>
  <inertial pos=".15 0 0" mass="1" diaginertia=".01 .01 .01"/>
  <body name="coupler" pos=".3 0 0"><joint name="b" axis="0 1 0"/>
    <inertial pos=".5 0 0" mass="1.5" diaginertia=".02 .12 .12"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="d" axis="0 1 0"/>
  <inertial pos=".4 0 0" mass="2" diaginertia=".02 .1 .1"/></body>
<body name="wheel" pos="0 1 0"><joint name="w" axis="0 1 0"/>
  <inertial pos="0 0 0" mass="1" diaginertia=".1 .1 .1"/></body>
</worldbody><equality>
<connect name="c" site1="s1" site2="s2"/>
<joint name="gear" joint1="w" joint2="a" polycoef=".1 -2 .3 0 0"/></equality></mujoco>"""
SITES = LOOP.replace(
    '<inertial pos=".5 0 0"', '<site name="s1" pos="1 0 0"/><inertial pos=".5 0 0"'
).replace('<inertial pos=".4 0 0"', '<site name="s2" pos=".8 0 0"/><inertial pos=".4 0 0"')
URDF = """<robot name="r"><link name="base"/>
<link name="one"><inertial><origin xyz="0 0 .2" rpy=".1 .2 .3"/><mass value="2"/>
<inertia ixx=".1" iyy=".2" izz=".15" ixy=".01" ixz="0" iyz="0"/></inertial>
<visual><geometry><mesh filename="package://r/one.stl"/></geometry></visual></link>
<link name="two"><inertial><mass value="1"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="continuous"><parent link="base"/><child link="one"/>
<origin xyz="0 0 .1" rpy="0 .4 0"/><axis xyz="0 1 0"/></joint>
<joint name="k" type="continuous"><parent link="one"/><child link="two"/><origin xyz="0 0 .5"/>
<axis xyz="0 1 0"/><mimic joint="j" multiplier="-1.5" offset=".2"/></joint></robot>"""


def indices(model, mechanism):
    """Where MuJoCo's coordinates and velocities are in ours."""
    y, z = np.zeros(model.nq, int), np.zeros(model.nv, int)
    for number in range(model.njnt):
        of_y, of_z = mechanism._at[model.joint(number).name]
        at = model.jnt_qposadr[number], model.jnt_dofadr[number]
        y[at[0] : at[0] + len(of_y)], z[at[1] : at[1] + len(of_z)] = of_y, of_z
    return y, z


def test_equations_are_those_of_mujoco():
    model = mujoco.MjModel.from_xml_string(ROBOT)
    mechanism = mb.load(model)
    of_y, of_z = indices(model, mechanism)
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    args = mechanism.parameters | {"control": {"m": 0.3, "p": 0.1, "v": -0.4}}
    equations = jax.jit(mechanism.system.accelerations)
    for _ in range(3):
        data.qpos[:] = model.qpos0
        mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
        data.qvel[:], data.ctrl[:] = rng.normal(size=model.nv), [0.3, 0.1, -0.4]
        mujoco.mj_forward(model, data)
        full = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, full)
        y, z = np.zeros(model.nq), np.zeros(model.nv)
        y[of_y], z[of_z] = data.qpos, data.qvel
        y, z = jnp.asarray(y), jnp.asarray(z)
        of = equations(jnp.zeros(()), y, z, jnp.ones(()), args)
        assert np.max(np.abs(np.asarray(of.M)[np.ix_(of_z, of_z)] - full)) <= 1e-13
        forces = data.qfrc_passive - data.qfrc_bias + data.qfrc_actuator
        assert np.max(np.abs(np.asarray(of.h)[of_z] - forces)) <= 1e-12 * np.max(np.abs(forces))
        for body in ("base", "arm", "box", "hand"):
            pose = np.asarray(mechanism.pose(body, y))
            assert np.max(np.abs(pose[:3, 3] - data.body(body).xpos)) <= 1e-14
            assert np.max(np.abs(pose[:3, :3].ravel() - data.body(body).xmat)) <= 1e-14
        mujoco.mj_energyPos(model, data)
        mujoco.mj_energyVel(model, data)
        kinetic, _ = mechanism.energy(y, z)
        assert abs(kinetic - data.energy[1]) <= 1e-12 * data.energy[1]


def test_a_motion_is_that_of_mujoco():
    model = mujoco.MjModel.from_xml_string(ROBOT)
    model.opt.integrator, model.opt.timestep = mujoco.mjtIntegrator.mjINT_RK4, 2e-4
    mechanism = mb.load(model)
    of_y, of_z = indices(model, mechanism)
    data = mujoco.MjData(model)
    data.qvel[:] = np.linspace(-0.5, 0.5, model.nv)
    y, z = np.zeros(model.nq), np.zeros(model.nv)
    y[of_y], z[of_z] = data.qpos, data.qvel
    while data.time < 0.3 - 1e-9:
        mujoco.mj_step(model, data)
    end = jaxspark.solve(
        mechanism.system, jnp.asarray(y), jnp.asarray(z), mechanism.parameters, t1=0.3, rtol=1e-11
    )
    assert np.max(np.abs(np.asarray(end.y1)[of_y] - data.qpos)) <= 1e-9


def test_loops_hold_where_mujocos_do_not():
    mechanism = mb.load(SITES)
    assert mechanism.loops.count == 3, "two equations in the plane, and the gear"
    y, z = mechanism.state({"a": -0.5}, {"a": -2.0}, guess={"b": -0.5, "d": -1.8})
    end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=1.0, rtol=1e-10)
    assert float(end.stats.max_g) <= 1e-14
    gap = mechanism.position("coupler", end.y1, (1, 0, 0)) - mechanism.position(
        "rocker", end.y1, (0.8, 0, 0)
    )
    assert np.max(np.abs(gap)) <= 1e-14
    at = mechanism.coordinates(end.y1)
    assert abs(at["w"][0] - (0.1 - 2 * at["a"][0] + 0.3 * at["a"][0] ** 2)) <= 1e-14
    before, after = (sum(mechanism.energy(*state)) for state in ((y, z), (end.y1, end.z1)))
    assert abs(after - before) <= 1e-8


def test_controls_are_functions_of_time():
    mechanism = mb.load(ROBOT, control=lambda t, args: {"m": 2.0 * t})
    y, z = mechanism.state()
    at = lambda t: (
        mechanism.system.accelerations(jnp.asarray(t), y, z, jnp.ones(()), mechanism.parameters).h
    )
    change = mechanism.velocities(at(0.5) - at(0.0))
    assert change["shoulder"][0] == pytest.approx(3.0) and abs(change["lift"][0]) <= 1e-14


@pytest.mark.parametrize("kind", ["weld", thorough("connect")])
def test_welds_and_points_of_bodies(kind):
    """A body that hangs on another by `weld` or `connect` moves with it."""
    text = f"""<mujoco>{QUIET}<worldbody>
    <body name="p"><joint name="j" axis="0 1 0"/><inertial pos=".2 0 0" mass="1"
      diaginertia=".1 .1 .1"/></body>
    <body name="q" pos=".4 .1 .2" quat=".9 .3 0 .1"><freejoint name="f"/>
      <inertial pos=".1 0 0" mass=".6" diaginertia=".02 .03 .04"/></body></worldbody>
    <equality><{kind} name="e" body1="p" body2="q" {
        'anchor=".4 .1 .2"' if kind == "connect" else ""
    }/></equality></mujoco>"""
    mechanism = mb.load(text)
    assert mechanism.loops.count == (6 if kind == "weld" else 3)
    y, z = mechanism.state({"j": 0.0}, {"j": 1.0})
    end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.5, rtol=1e-9)
    start, after = (
        np.linalg.inv(mechanism.pose("p", state)) @ np.asarray(mechanism.pose("q", state))
        for state in (y, end.y1)
    )
    moved = np.abs(after - start)
    assert np.max(moved[:3, 3]) <= 1e-13
    assert (np.max(moved[:3, :3]) <= 1e-13) == (kind == "weld")


def test_urdf_with_mimic_and_without_its_mesh():
    mechanism = mb.load(URDF)
    assert mechanism.loops.count == 1
    y, z = mechanism.state({"j": 0.3}, {"j": 1.0})
    end = jaxspark.solve(mechanism.system, y, z, mechanism.parameters, t1=0.7, rtol=1e-9)
    at = mechanism.coordinates(end.y1)
    assert abs(at["k"][0] - (0.2 - 1.5 * at["j"][0])) <= 1e-14
    assert float(mechanism.parameters["bodies"]["one"]["mass"]) == 2.0


def test_a_loop_is_added_to_a_file():
    text = LOOP[: LOOP.index("<equality>")] + "</mujoco>"
    loop = mb.Revolute(
        "c", "coupler", "rocker", position=(1, 0, 0), child_position=(0.8, 0, 0), axis=(0, 1, 0),
        cut=True,
    )  # fmt: skip
    mechanism = mb.load(text, loops=[loop], guess={"a": -1.0, "d": -1.5})
    assert mechanism.loops.count == 2 and repr(mechanism).endswith("cut at c")


REFUSED = """<mujoco><option density="1.2"/><worldbody>
<geom name="floor" type="plane" size="1 1 1"/>
<body name="p" gravcomp="1"><joint name="j" limited="true" range="-1 1" frictionloss=".1"/>
<geom name="ball" size=".1"/></body></worldbody>
<actuator><motor name="m" joint="j" ctrllimited="true" ctrlrange="-1 1"/>
<muscle name="u" joint="j" lengthrange="0 1"/></actuator>
<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""


def test_what_is_not_kept_is_named():
    with pytest.raises(ValueError, match="cannot be kept exactly") as error:
        mb.load(REFUSED)
    for words in ("contacts: floor, ball", "limits: j", "frictionloss: j", "fluid: density",
                  "gravcomp: p", "actuators: u", "ranges: m", "tendons: t"):  # fmt: skip
        assert words in str(error.value)
    ignore = ["contacts", "limits", "frictionloss", "fluid", "gravcomp", "actuators", "ranges",
              "tendons"]  # fmt: skip
    assert mb.load(REFUSED, ignore=ignore).tree.nz == 1
    with pytest.raises(ValueError, match="ignore has \\['friction'\\]"):
        mb.load(REFUSED, ignore=["friction"])


ARM = """<mujoco><option{option}>{flag}</option><worldbody><body name="b">
<joint name="j" axis="1 1 0" damping="{damping}" stiffness="{stiffness}" springref=".4" {joint}/>
<geom size=".1" pos=".1 .2 0" contype="0" conaffinity="0"/></body></worldbody>
<actuator><motor name="m" joint="j" group="1" {motor}/></actuator></mujoco>"""
PLAIN = {"option": "", "flag": "", "damping": "2", "stiffness": "20", "joint": "", "motor": ""}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"flag": "<flag spring='disable'/>"},
        {"flag": "<flag damper='disable'/>"},
        {"flag": "<flag actuation='disable'/>"},
        {"flag": "<flag gravity='disable'/>"},
        {"option": " actuatorgroupdisable='1'"},
    ],
)
def test_what_flags_disable_is_left_out(change):
    model = mujoco.MjModel.from_xml_string(ARM.format(**PLAIN | change))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = 0.3, 0.7, 1.5
    mujoco.mj_forward(model, data)
    mechanism = mb.load(model, control=lambda t, args: {"m": 1.5})
    of = mechanism.system.accelerations(
        jnp.zeros(()), jnp.array([0.3]), jnp.array([0.7]), jnp.ones(()), mechanism.parameters
    )
    assert abs(of.h[0] / of.M[0, 0] - data.qacc_smooth[0]) <= 1e-12 * abs(data.qacc_smooth[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"joint": 'actuatorfrclimited="true" actuatorfrcrange="-.1 .1"'}, "ranges: j"),
        ({"stiffness": "20 30 40"}, "polynomials: j"),
        ({"damping": "2 3 4"}, "polynomials: j"),
        ({"motor": 'damping="2"'}, "drives: m"),
        ({"motor": 'armature="2"'}, "drives: m"),
    ],
)
def test_what_newer_files_have_is_named(change, words):
    try:
        model = mujoco.MjModel.from_xml_string(ARM.format(**PLAIN | change))
    except ValueError:
        pytest.skip("this version of MuJoCo does not know the attribute")
    with pytest.raises(ValueError, match=words):
        mb.load(model)


def test_equalities_that_are_off():
    off = (
        LOOP[: LOOP.index("<equality>")]
        + """<equality><connect name="c" body1="coupler"
    body2="rocker" anchor="1 0 0" active="false"/></equality></mujoco>"""
    )
    assert mb.load(off).loops.count == 0
    assert mb.load(SITES.replace("contact='disable'", "equality='disable'")).loops.count == 0


def test_welds_are_not_turned_over():
    """From the file's zero, where the bodies are half a turn apart but for a little."""
    text = """<mujoco><worldbody><body name="a"><freejoint/><inertial pos="0 0 0" mass="1"
    diaginertia=".1 .1 .1"/></body><body name="b" pos="1 0 0"><freejoint/><inertial pos="0 0 0"
    mass="1" diaginertia=".1 .1 .1"/></body></worldbody><equality><weld name="w" body1="a" body2="b"
    relpose="0 0 0 .05 1 0 .1" torquescale="{}"/></equality></mujoco>"""
    mechanism = mb.load(text.format(1))
    y, _ = mechanism.state()
    between = np.linalg.inv(mechanism.pose("a", y)) @ np.asarray(mechanism.pose("b", y))
    q = np.array([0.05, 1, 0, 0.1]) / np.linalg.norm([0.05, 1, 0, 0.1])
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, q)
    assert np.max(np.abs(between[:3, :3].ravel() - R)) <= 1e-11
    assert np.max(np.abs(between[:3, 3])) <= 1e-11
    assert mb.load(text.format(0)).loops.count == 3, "without torque the point alone is held"


def test_names_of_files_are_their_own():
    text = (
        LOOP[: LOOP.index("<equality>")]
        + """<equality><connect name="a" body1="coupler"
    body2="rocker" anchor="1 0 0"/></equality></mujoco>"""
    )
    text = text.replace('name="wheel"', 'name="ground"')
    mechanism = mb.load(text, guess={"a": -0.5, "d": -1.8})
    assert "a (equality)" in repr(mechanism)
    assert mechanism.pose("ground of the file", mechanism.state()[0]).shape == (4, 4)


def test_loops_that_are_added_are_cut():
    """Also where the tree would reach them first."""
    links = "".join(
        f"""<body name="l{k}" pos="{x} 0 {z}"><joint name="j{k}" axis="0 1 0"/>
        <inertial pos="0 0 -.1" mass="1" diaginertia=".1 .1 .1"/>"""
        for k, x, z in ((1, 0, 0), (2, 0, -0.25), (3, 0, -0.25))
    )
    text = f"""<mujoco>{QUIET}<worldbody>{links}</body></body></body><body name="r" pos=".4 0 0">
    <joint name="k" axis="0 1 0"/><inertial pos="0 0 -.1" mass="1" diaginertia=".1 .1 .1"/></body>
    </worldbody></mujoco>"""
    pin = mb.Revolute(
        "pin", "l3", "r", position=(0, 0, -0.25), child_position=(0, 0, -0.5), axis=(0, 1, 0)
    )
    mechanism = mb.load(text, loops=[pin], guess={"j1": 0.3, "j2": -1.0, "j3": 0.5, "k": 0.5})
    assert repr(mechanism).endswith("2 equations of loops, cut at pin")


def test_files_that_are_none(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        mb.load(tmp_path / "robot.xml")
    with pytest.raises(ValueError, match="MuJoCo cannot compile the file"):
        mb.load("<mujoco><worldbody><body></worldbody></mujoco>")
    mesh = """<mujoco><asset><mesh name="a" file="a.stl"/></asset><worldbody><body name="b">
    <joint name="j"/><geom type="mesh" mesh="a"/><geom size=".1" contype="0" conaffinity="0"/>
    </body></worldbody></mujoco>"""
    with pytest.raises(ValueError, match="inertias of the bodies \\['b'\\]"):
        mb.load(mesh)
    assert mb.load(mesh, ignore=["meshes"]).tree.nz == 1


@pytest.mark.parametrize("seed", [0, *(thorough(seed) for seed in range(1, 8))])
def test_random_trees(seed):
    """Chains and branches of hinges and slides with random frames, against MuJoCo."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 9))
    children = {k: [] for k in range(-1, count)}
    for k in range(count):
        children[int(rng.integers(-1, k)) if k else -1].append(k)

    def numbers(n):
        return " ".join(f"{x:.6f}" for x in rng.normal(size=n))

    def body(k):
        kind = rng.choice(["hinge", "slide", "ball"])
        axis = "" if kind == "ball" else f'axis="{numbers(3)}"'
        inside = "".join(body(child) for child in children[k])
        a, b, c = 0.1 + rng.uniform(size=3)
        return f"""<body name="b{k}" pos="{numbers(3)}" quat="{numbers(4)}">
        <joint name="j{k}" type="{kind}" pos="{numbers(3)}" {axis} armature="{a:.3f}"/>
        <inertial pos="{numbers(3)}" quat="{numbers(4)}" mass="{b:.3f}"
        diaginertia="{b + c:.3f} {a + c:.3f} {a + b:.3f}"/>{inside}</body>"""

    text = f"<mujoco>{QUIET}<worldbody>{''.join(map(body, children[-1]))}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    mechanism = mb.load(model)
    of_y, of_z = indices(model, mechanism)
    data = mujoco.MjData(model)
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    y, z = np.zeros(model.nq), np.zeros(model.nv)
    y[of_y], z[of_z] = data.qpos, data.qvel
    evaluate = jax.jit(mechanism.system.accelerations)
    of = evaluate(jnp.zeros(()), jnp.asarray(y), jnp.asarray(z), jnp.ones(()), mechanism.parameters)
    assert largest_difference(np.asarray(of.M)[np.ix_(of_z, of_z)], full) <= 1e-12 * np.max(full)
    size = np.max(np.abs(data.qfrc_bias))
    assert largest_difference(np.asarray(of.h)[of_z], -data.qfrc_bias) <= 1e-12 * size
