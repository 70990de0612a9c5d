"""Parameters are written back into files: they read as they are, and all else stays."""

import difflib
import functools
import warnings

import jax
import mujoco
import numpy as np
import pytest

from helpers import thorough
from jaxspark import fit, multibody as mb
from jaxspark.multibody._changes import Values
from jaxspark.multibody._spec import compiled
from test_bodies_load import LOOP, QUIET, ROBOT, SITES, URDF


ARM = """<?xml version="1.0"?>
<!-- of the workshop -->
<mujoco><compiler angle="degree"{compiler}/>{include}
<default><joint damping=".3"/><default class="stiff"><joint stiffness='5'/></default></default>
<worldbody>
  <body name="arm" pos=".1 0 0" euler="0 0 30">  <!-- turned -->
    <joint name="hinge"  axis="0 0 1" class="stiff" springref="30" ref="10"/>
    <geom name="tube" type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0" conaffinity="0"/>
    <body pos=".3 0 0"><joint axis="0 1 0" pos=".01 0 0"/>
      <inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/></body>
  </body>
</worldbody></mujoco>
"""


@functools.cache
def loaded(source):
    guess = {"a": -1.0, "d": -1.5} if "crank" in source else None
    return mb.load(source, guess=guess).parameters


def copied(parameters):
    return jax.tree.map(lambda x: np.array(x, float), parameters)


def new_inertia(seed):
    """Of some points, far from round numbers."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, 6) / 3, rng.normal(size=(6, 3)) / 3
    mass, com = masses.sum(), masses @ points / masses.sum()
    arms = points - com
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return {"mass": np.array(mass), "com": com, "inertia": inertia}


def saved(tmp_path, source, parameters, suffix=".xml"):
    """The text of the copy; its parameters, as MuJoCo reads them, are those given."""
    target = tmp_path / f"copy{suffix}"
    mb.save(target, source, parameters)
    found = Values(compiled(target)).of
    for kind in ("bodies", "joints"):
        for name, own in parameters[kind].items():
            for key, value in own.items():
                # Of the three the last is the axis.
                at = -1 if key == "axes" else ...
                size = 1e-12 * max(np.max(np.abs(value), initial=0), 1e-3)
                off = np.abs(found[kind, name, key][at] - value[at])
                assert np.max(off, initial=0) <= size, (name, key)
    assert [x.name for x in tmp_path.iterdir() if "part" in x.name] == []
    return target.read_text()


def changed(before, after):
    """The lines that are new."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line[2:].strip() for line in lines if line.startswith("+ ")]


def test_nothing_is_changed_without_need(tmp_path):
    mechanism = mb.load(ARM.format(compiler="", include=""))
    single = jax.tree.map(lambda x: x.astype(np.float32), mechanism.parameters)
    for parameters in (mechanism.parameters, single):
        mb.save(tmp_path / "copy.xml", ARM.format(compiler="", include=""), parameters)
        assert (tmp_path / "copy.xml").read_text() == ARM.format(compiler="", include="")


@pytest.mark.thorough
def test_loops_that_were_added_have_no_place(tmp_path):
    text = LOOP[: LOOP.index("<equality>")] + "</mujoco>"
    pin = mb.Revolute(
        "pin", "coupler", "rocker", position=(1, 0, 0), child_position=(0.8, 0, 0), axis=(0, 1, 0)
    )
    mechanism = mb.load(text, loops=[pin], guess={"a": -1.0, "d": -1.5})
    mb.save(tmp_path / "copy.xml", text, mechanism.parameters)
    assert (tmp_path / "copy.xml").read_text() == text


def test_all_that_mjcf_holds(tmp_path):
    """Free, hinged, sliding, ball and welded bodies; damping and place of joints; gravity."""
    parameters = copied(loaded(ROBOT))
    for seed, name in enumerate(("base", "arm", "box", "hand")):
        parameters["bodies"][name] = new_inertia(seed)
    joints = parameters["joints"]
    joints["shoulder"] |= {"damping": np.array([1 / 3]), "armature": np.array([1 / 7])}
    joints["shoulder"]["position"] = joints["shoulder"]["position"] + 0.1 / 3
    joints["lift"] |= {"rest": np.array([0.01 / 3]), "stiffness": np.array([70.1]),
                       "axes": joints["lift"]["axes"][[1, 2, 0]]}  # fmt: skip
    joints["wrist"] |= {"damping": np.full(3, 0.7), "quaternion": np.array([0.6, 0, 0.8, 0])}
    joints["box is fixed"]["position"] = np.array([0.1, 0.2, 1 / 3])
    parameters["gravity"] = np.array([0.1, 0, -9.8])
    text = saved(tmp_path, ROBOT, parameters)
    assert mujoco.MjModel.from_xml_string(text).opt.gravity.tolist() == [0.1, 0, -9.8]
    assert 'damping="0.3333333333333333" armature="0.14285714285714285"' in text
    assert "ctrl" not in text and text.count("<motor") == 1


def test_bodies_of_geoms_classes_and_degrees(tmp_path):
    """An inertia of geoms becomes an `<inertial>`; a body without a name is known by its number."""
    source = ARM.format(compiler="", include="")
    parameters = copied(mb.load(source).parameters)
    parameters["bodies"]["arm"]["mass"] = np.array(2 / 3)
    parameters["bodies"]["body 2"]["com"] = np.array([0, 0, 1 / 3])
    parameters["joints"]["hinge"] |= {"rest": np.array([0.4]), "zero": np.array([0.1])}
    parameters["joints"]["joint 1"]["damping"] = np.array([0.5])
    lines = changed(source, saved(tmp_path, source, parameters))
    assert len(lines) == 5 and lines[1].startswith('<inertial mass="0.6666666666666666"')
    assert '<joint name="hinge"  axis="0 0 1" class="stiff" springref="22.9' in lines[2]
    assert lines[3] == '<body pos=".3 0 0"><joint axis="0 1 0" pos=".01 0 0" damping="0.5"/>'


@pytest.mark.parametrize("compiler", [' inertiafromgeom="true"', ' settotalmass="3"'])
def test_words_for_all_bodies(tmp_path, compiler):
    """One inertia changes, the others stay: each is written."""
    source = ARM.format(compiler=compiler, include="").replace(
        '<inertial mass="1"', '<geom size=".1" contype="0" conaffinity="0"/><inertial mass="1"'
    )
    with warnings.catch_warnings():
        # MuJoCo says that the total mass is to go.
        warnings.simplefilter("ignore")
        parameters = copied(mb.load(source).parameters)
        parameters["bodies"]["arm"]["mass"] = np.array(2 / 3)
        saved(tmp_path, source, parameters)


def test_springs_by_time_constants(tmp_path):
    source = ARM.format(compiler="", include="").replace(
        "springref", 'springdamper=".1 .5" springref'
    )
    parameters = copied(mb.load(source).parameters)
    parameters["bodies"]["arm"]["mass"] = np.array(2 / 3)
    assert 'springdamper="0 0"' in saved(tmp_path, source, parameters)


def test_included_files(tmp_path):
    """One that changes is written in place, and one that does not stays."""
    (tmp_path / "hand.xml").write_text(
        '<?xml version="1.0"?><mujoco><!-- hand --><body name="hand"><joint name="wrist"/>'
        '<inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/></body></mujoco>'
    )
    (tmp_path / "options.xml").write_text('<mujoco><option timestep=".001"/></mujoco>')
    source = tmp_path / "robot.xml"
    text = ARM.format(compiler="", include='<include file="options.xml"/>')
    source.write_text(text.replace("  </body>\n</w", '<include file="hand.xml"/>  </body>\n</w'))
    parameters = copied(mb.load(source).parameters)
    parameters["bodies"]["hand"]["mass"] = np.array(0.1)
    lines = changed(source.read_text(), saved(tmp_path, source, parameters))
    assert lines == ['<!-- hand --><body name="hand"><joint name="wrist"/><inertial mass="0.1" '
                     'pos="0 0 0" diaginertia=".1 .1 .1"/></body>  </body>']  # fmt: skip


@pytest.mark.parametrize("anchor", [True, thorough(False)])
def test_places_of_loops(tmp_path, anchor):
    """Sites move; an anchor, from which a point of the other body would follow, becomes two."""
    old = 'site1="s1" site2="s2"'
    text = LOOP.replace(old, 'body1="coupler" body2="rocker" anchor="1 0 0"') if anchor else SITES
    parameters = copied(loaded(text))
    parameters["joints"]["b"]["position"] = np.array([0.31, 0, 0])
    if not anchor:
        parameters["joints"]["c"]["child_position"] = np.array([0.81, 0, 0])
    saved(tmp_path, text, parameters)


LINKS = URDF.replace(
    "</robot>",
    """<link name="tool"><inertial><origin xyz=".1 0 0" rpy=".3 .2 .1"/><mass value=".3"/>
<inertia ixx=".001" iyy=".002" izz=".002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="f" type="fixed"><parent link="two"/><child link="tool"/><origin xyz="0 0 .1"
rpy="0 1 0"/></joint><link name="three"><inertial><mass value="2"/>
<inertia ixx=".1" iyy=".2" izz=".15" ixy=".01" ixz="0" iyz="0"/></inertial></link>
<joint name="l" type="continuous"><parent link="tool"/><child link="three"/></joint></robot>""",
)


def test_all_that_urdf_holds(tmp_path):
    """A link that is fixed to another is part of it, and what joins it is moved with it."""
    parameters = copied(loaded(LINKS))
    for seed, name in enumerate(("one", "three")):
        parameters["bodies"][name] = new_inertia(seed)
    heavy = parameters["bodies"]["two"]
    heavy |= {"mass": heavy["mass"] + 1 / 3, "com": np.array([0, 0.01, 0.02]),
              "inertia": heavy["inertia"] + np.eye(3) / 30}  # fmt: skip
    parameters["joints"]["l"] |= {
        "position": np.array([0.1, 0.2, 1 / 3]), "quaternion": np.array([0.6, 0, 0, 0.8]),
        "damping": np.array([0.3]), "axes": parameters["joints"]["l"]["axes"][[1, 2, 0]],
    }  # fmt: skip
    text = saved(tmp_path, LINKS, parameters, ".urdf")
    assert '<mass value=".3"/>' in text and '<dynamics damping="0.3"/>' in text


def test_bodies_of_fit_and_parts_of_parameters(tmp_path):
    own = new_inertia(3)
    body = fit.RigidBody(own["mass"], own["com"], own["inertia"])
    mb.save(tmp_path / "copy.urdf", URDF, {"bodies": {"one": body}, "of my own": 3.0})
    found = mb.load(tmp_path / "copy.urdf").parameters["bodies"]
    assert np.max(np.abs(found["one"]["inertia"] - own["inertia"])) <= 1e-14
    assert float(found["two"]["mass"]) == 1.0


def _with(kind, name, key, value):
    return lambda x: x[kind][name].__setitem__(key, np.array(value))


@pytest.mark.parametrize(
    ("source", "change", "message"),
    [
        (URDF, _with("joints", "j", "armature", [0.1]), "armature of joint 'j'.* no word"),
        (URDF, lambda x: x.update(gravity=np.zeros(3)), "gravity, for which URDF"),
        (URDF, _with("bodies", "one", "com", [1.0]), "com of body 'one' must be finite numbers of"),
        (URDF, lambda x: x["bodies"].update(six=new_inertia(0)), "no body 'six'; it has \\['one'"),
        (LINKS, _with("bodies", "two", "mass", 0.1), "the link 'two' alone"),
        (ROBOT, _with("joints", "root", "damping", [0.1] * 6), "damping of joint 'root'.* 'free'"),
        (ROBOT, _with("joints", "wrist", "damping", [0.1, 0, 0]), "one number for all its axes"),
        (ROBOT, _with("joints", "lift", "position", [0.1, 0, 0]), "position of joint 'lift'"),
        (ROBOT, _with("joints", "lift", "pitch", 1.0), "pitch of joint 'lift'"),
        (ROBOT, _with("bodies", "arm before lift", "mass", 1.0), "between two of its joints"),
        (ROBOT, _with("bodies", "arm", "inertia", np.diag([1.0, 1, 3])), "MuJoCo cannot compile"),
        (SITES, _with("joints", "w", "zero", [0.1]), "on which an equality depends"),
        (SITES, _with("joints", "c", "damping", [0.1] * 3), "damping of 'c', which is an equality"),
    ],
)
def test_what_has_no_place_is_named(tmp_path, source, change, message):
    parameters = copied(loaded(source))
    change(parameters)
    with pytest.raises(ValueError, match=message):
        mb.save(tmp_path / "copy.xml", source, parameters)
    assert list(tmp_path.iterdir()) == []


FRAME = f"""<mujoco>{QUIET}<worldbody><frame pos="0 0 1"><body name="b"><joint name="j"/>
<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/></body></frame>
<replicate count="2" offset="1 0 0"><body name="r"><joint/><geom size=".1"/></body></replicate>
</worldbody></mujoco>"""


def test_bodies_that_the_file_makes(tmp_path):
    parameters = copied(mb.load(FRAME).parameters)
    parameters["joints"]["j"]["position"] = np.zeros(3)
    with pytest.raises(ValueError, match="joint 'j', which the file makes by replicate"):
        mb.save(tmp_path / "copy.xml", FRAME, parameters)
    plain = FRAME[: FRAME.index("<replicate")] + "</worldbody></mujoco>"
    parameters = copied(mb.load(plain).parameters)
    parameters["joints"]["j"]["position"] = np.zeros(3)
    with pytest.raises(ValueError, match="position of joint 'j', which is in a <frame>"):
        mb.save(tmp_path / "copy.xml", plain, parameters)


def test_what_is_no_source(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        mb.save(tmp_path / "copy.xml", tmp_path / "robot.xml", {})
    with pytest.raises(TypeError, match="a compiled model has none"):
        mb.save(tmp_path / "copy.xml", mujoco.MjModel.from_xml_string(ROBOT), {})
