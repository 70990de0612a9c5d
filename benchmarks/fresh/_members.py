"""All fresh mechanisms, by name."""

from . import _linkages, _points, _rolling, _spatial
from ._mechanism import Fresh


MEMBERS: dict[str, Fresh] = {
    one.name: one
    for one in (
        _points.trapeze(), _points.tetrahedron(), _points.rope(), _points.viviani(),
        _linkages.watt(), _linkages.peaucellier(), _linkages.whip(), _linkages.yoke(),
        _linkages.arm(), _rolling.tricycle(), _rolling.load(), _spatial.two_bodies(),
        _spatial.cardan(), _spatial.hung_plate(), _spatial.gyrostat(), _spatial.bowl(),
        _spatial.hoop(),
    )
}  # fmt: skip
