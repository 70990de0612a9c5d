"""Places that an MJCF file names: its sites."""

from typing import Any

from ._channels import Place
from ._joints import GROUND
from ._load import _Names
from ._spec import compiled


def sites(source: Any) -> dict[str, Place]:
    """The sites of an MJCF file, by name, as places of sensors and markers.

    **Arguments:**

    - `source`: as for [`jaxspark.multibody.load`][].

    **Returns:** a [`jaxspark.multibody.Place`][] for each site with a name that is on a body.

    **Raises:** as [`jaxspark.multibody.load`][].
    """
    model = compiled(source, without_meshes=True)
    bodies = _Names(model).bodies
    found = {}
    for k in range(model.nsite):
        name, body = model.site(k).name, bodies[int(model.site_bodyid[k])]
        if name and body != GROUND:
            found[name] = Place(body, model.site_pos[k], model.site_quat[k])
    return found
