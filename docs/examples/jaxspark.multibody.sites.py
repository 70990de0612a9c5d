from jaxspark import multibody


file = """<mujoco><worldbody><body name="arm"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/><site name="imu" pos=".4 0 .03"/>
</body></worldbody></mujoco>"""
print(multibody.sites(file))
assert multibody.sites(file)["imu"].body == "arm"
