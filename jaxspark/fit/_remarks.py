"""What a check says, one remark at a time."""

import json
from dataclasses import asdict, dataclass
from typing import Literal


Weight = Literal["wrong", "doubtful", "note"]


@dataclass(frozen=True)
class Remark:
    """One thing to know before a fit.

    - `weight`: `"wrong"` for what spoils a fit, `"doubtful"`, or `"note"`.
    - `about`: the record, channel or parameter.
    - `words`: what is the matter.
    - `cure`: what to do.
    - `kind`: `"data"` for a matter of the data, `"told"` for what the data cannot tell.
    """

    weight: Weight
    about: str
    words: str
    cure: str
    kind: Literal["data", "told"] = "data"

    def __str__(self) -> str:
        return f"{self.about}: {self.words} {self.cure}".strip()


@dataclass(frozen=True, repr=False)
class Check:
    """What there is to know before a fit; made by [`jaxspark.fit.check`][].

    - `remarks`: each a [`jaxspark.fit.Remark`][], the gravest first.
    - `told`, `parameters`: how many combinations of how many parameters the data tell, as far as
        the start values say; `told` is -1 if the model cannot be simulated from these.
    """

    remarks: tuple[Remark, ...]
    told: int
    parameters: int

    @property
    def good(self) -> bool:
        """Whether nothing is wrong; there may be doubts."""
        return all(remark.weight != "wrong" for remark in self.remarks)

    def __repr__(self) -> str:
        if self.told < 0:
            head = "The model cannot be simulated from its start values."
        else:
            head = f"Data and priors tell {self.told} of {self.parameters} combinations."
        if not self.remarks:
            return f"{head} Nothing is in doubt."
        width = max(len(remark.weight) for remark in self.remarks)
        return "\n".join([head, *(f"{r.weight:{width}}  {r}" for r in self.remarks)])

    def to_json(self) -> str:
        """The same as JSON: `remarks`, each an object, `told`, `parameters` and `good`."""
        return json.dumps({**asdict(self), "good": self.good}, ensure_ascii=False)
