"""Test problems as constrained systems, with trusted reference values."""

from ._andrews import andrews as andrews
from ._caraxis import caraxis as caraxis
from ._chain_rods import chain_rods as chain_rods
from ._chaplygin_sleigh import chaplygin_sleigh as chaplygin_sleigh
from ._contact_oscillator import contact_oscillator as contact_oscillator
from ._fekete import fekete as fekete
from ._heavy_top import heavy_top as heavy_top
from ._isokinetic import isokinetic as isokinetic
from ._kapitza import kapitza as kapitza
from ._linkages import four_bar as four_bar, spatial_four_bar as spatial_four_bar
from ._magnetic_particle import magnetic_particle as magnetic_particle
from ._mixed import mixed as mixed
from ._nonholonomic_particle import nonholonomic_particle as nonholonomic_particle
from ._pendulum import pendulum as pendulum
from ._planar_chain import planar_chain as planar_chain
from ._problem import load_reference as load_reference, Problem as Problem
from ._reference_runs import (
    Case as Case,
    CASES as CASES,
    compare as compare,
    digits as digits,
    Reached as Reached,
    solve as solve,
)
from ._rolling_disk import rolling_disk as rolling_disk
from ._skate_incline import skate_incline as skate_incline
from ._sleigh_tow import sleigh_tow as sleigh_tow
from ._slider_crank_flexible import (
    elastic_frequencies as elastic_frequencies,
    slider_crank_flexible as slider_crank_flexible,
)
from ._spherical_kepler import spherical_kepler as spherical_kepler
from ._stiff_spring_double_pendulum import (
    stiff_spring_double_pendulum as stiff_spring_double_pendulum,
    stiff_spring_double_pendulum_elongated as stiff_spring_double_pendulum_elongated,
)
from ._stiff_springs import (
    rigid_double_pendulum as rigid_double_pendulum,
    rigid_pendulum as rigid_pendulum,
    spring_double_pendulum as spring_double_pendulum,
    spring_pendulum as spring_pendulum,
    swinging_bushing as swinging_bushing,
    swinging_bushing_elongated as swinging_bushing_elongated,
    swinging_rigid as swinging_rigid,
)
from ._yen_petzold import (
    yen_petzold_bushing as yen_petzold_bushing,
    yen_petzold_bushing_elongated as yen_petzold_bushing_elongated,
    yen_petzold_linear as yen_petzold_linear,
    yen_petzold_spring as yen_petzold_spring,
    yen_petzold_spring_elongated as yen_petzold_spring_elongated,
)


PROBLEMS = {
    "pendulum": pendulum,
    "andrews": andrews,
    "caraxis": caraxis,
    "slider_crank_flexible": slider_crank_flexible,
    "fekete": fekete,
    "chain_rods": chain_rods,
    "planar_chain": planar_chain,
    "heavy_top": heavy_top,
    "rolling_disk": rolling_disk,
    "chaplygin_sleigh": chaplygin_sleigh,
    "skate_incline": skate_incline,
    "nonholonomic_particle": nonholonomic_particle,
    "sleigh_tow": sleigh_tow,
    "kapitza": kapitza,
    "isokinetic": isokinetic,
    "mixed": mixed,
    "spherical_kepler": spherical_kepler,
    "four_bar": four_bar,
    "spatial_four_bar": spatial_four_bar,
    "contact_oscillator": contact_oscillator,
    "magnetic_particle": magnetic_particle,
    "yen_petzold_linear": yen_petzold_linear,
    "yen_petzold_spring": yen_petzold_spring,
    "yen_petzold_bushing": yen_petzold_bushing,
    "stiff_spring_double_pendulum": stiff_spring_double_pendulum,
}
"""All problems by name, each a function that builds it."""
