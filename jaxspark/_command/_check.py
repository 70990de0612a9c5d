"""`jaxspark check`: measurements and a model before a fit."""

import argparse
import contextlib
import dataclasses
import sys

from ..fit import check
from ._config import load_config
from ._load_model import loaded_model
from ._records import columns_of, read_records


def check_command(options: argparse.Namespace) -> int:
    """Look at measurements and a model, and print what is in doubt.

    **Arguments:**

    - `options`: as `check_parser` makes them.

    **Returns:** the exit status: 0, or 1 if something is wrong.

    **Raises:** `CommandError`.
    """
    config = load_config(options.config)
    aside = contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext()
    with aside, loaded_model(options.model) as model:
        columns = columns_of(model, config)
        if config.noise:
            model = dataclasses.replace(model, noise={**(model.noise or {}), **config.noise})
        found = check(model, read_records(options.data, columns, config))
    print(found.to_json() if options.json else found)
    return 0 if found.good else 1
