"""Parameter identification: from log files to a report."""

from ._base import Base as Base, base_parameters as base_parameters
from ._before import check as check
from ._check import DataError as DataError, DataWarning as DataWarning
from ._checkpoint import CheckpointError as CheckpointError
from ._combinations import Directions as Directions, unidentifiable_words as unidentifiable_words
from ._compare import compare as compare, Comparison as Comparison, Law as Law
from ._covariance import Information as Information
from ._each import each as each, Table as Table
from ._estimate import estimate as estimate, FitError as FitError
from ._findings import (
    Channel as Channel,
    Combination as Combination,
    Estimate as Estimate,
    Findings as Findings,
    Profile as Profile,
    Trial as Trial,
    Whiteness as Whiteness,
)
from ._fit import Fit as Fit
from ._inertia import PlanarBody as PlanarBody, RigidBody as RigidBody
from ._initial import Start as Start
from ._intervals import intervals as intervals, intervals_in as intervals_in
from ._left_out import (
    cross_validate as cross_validate,
    CrossValidation as CrossValidation,
    rms_of as rms_of,
)
from ._log_density import log_density as log_density
from ._model import Model as Model
from ._multistart import multistart as multistart
from ._parameter import Parameter as Parameter
from ._parameters import (
    bounded as bounded,
    fixed as fixed,
    free as free,
    planar_body as planar_body,
    positive as positive,
    real as real,
    rigid_body as rigid_body,
)
from ._parametrisation import Parametrisation as Parametrisation
from ._parametrise import parametrise as parametrise
from ._prior import AbstractPrior as AbstractPrior, LogNormal as LogNormal, Normal as Normal
from ._profile import profile as profile
from ._read import from_dataframe as from_dataframe, read_csv as read_csv
from ._record import Record as Record, record as record
from ._remarks import Check as Check, Remark as Remark
from ._report import (
    from_json as from_json,
    ReportError as ReportError,
    to_html as to_html,
    to_json as to_json,
    to_text as to_text,
    write_report as write_report,
)
from ._robust import (
    AbstractLoss as AbstractLoss,
    Cauchy as Cauchy,
    Huber as Huber,
    Squares as Squares,
)
from ._rows import Rows as Rows
from ._sandwich import clustered as clustered, newey_west as newey_west
from ._score import (
    Criteria as Criteria,
    criteria as criteria,
    hold_out_score as hold_out_score,
    HoldOutScore as HoldOutScore,
)
from ._sensor import Input as Input, Sensor as Sensor
from ._signal import Signal as Signal
from ._simulation import simulate as simulate, SimulationError as SimulationError
from ._stochastic import stochastic as stochastic
from ._uncertainty import Uncertainty as Uncertainty
from ._whiteness import r_squared as r_squared, whiteness as whiteness
