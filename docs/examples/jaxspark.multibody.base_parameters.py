import jax

from jaxspark import multibody


jax.config.update("jax_enable_x64", True)


def rod(name, mass, length):
    return multibody.Body(name, mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12)


arm = multibody.Mechanism(
    [rod("upper", 1.0, 0.5), rod("lower", 0.8, 0.4)],
    [
        multibody.Revolute("shoulder", "ground", "upper"),
        multibody.Revolute("elbow", "upper", "lower", position=(0.5, 0)),
    ],
    gravity=(0, -9.81, 0),
)
y, z, u = jax.random.normal(jax.random.key(0), (3, 50, 2))  # or those of a motion
base = multibody.base_parameters(arm, y, z, u)
print(base)  # 6 of 20, such as "upper.Izz + 0.25 lower.m"
assert base.rank == 6
