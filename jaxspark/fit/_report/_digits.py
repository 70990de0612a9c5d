"""Numbers as a reader wants them: as many digits as the error allows."""

import math


MISSING = "-"
# Beyond these powers of ten numbers are written with an exponent.
SMALLEST, LARGEST = -4, 6
# More digits of a value than this would be rounding errors.
MOST = 12


def rounded(value: float, error: float) -> tuple[str, str]:
    """A value and its error, both to the second significant digit of the error.

    **Arguments:**

    - `value`, `error`: in the same unit. Without a finite, positive error the value has six
        significant digits, with a minute one twelve.

    **Returns:** both as text; `"-"` for an error that is unknown.
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return number(value, 6), number(error, 2) if error == math.inf else MISSING
    last = _power(float(f"{error:.1e}")) - 1
    if last < _power(value) - MOST + 1:
        return number(value, MOST), number(error, 2)
    largest = max(_power(value), last + 1)
    if SMALLEST <= largest < LARGEST and last <= 0:
        return _fixed(value, last), _fixed(error, last)
    if SMALLEST <= largest < LARGEST:
        return _fixed(round(value, -last), 0), _fixed(round(error, -last), 0)
    return _scientific(value, last), _scientific(error, last)


def interval(low: float, high: float, error: float) -> str:
    """An interval, its ends rounded as [`rounded`][] does; `"-"` if both ends are unknown."""
    if math.isnan(low) and math.isnan(high):
        return MISSING
    if not (math.isfinite(error) and error > 0):
        error = (high - low) / 4
    return f"[{rounded(low, error)[0]}, {rounded(high, error)[0]}]"


def number(value: float, digits: int = 4) -> str:
    """A number to so many significant digits; `"-"` for NaN."""
    if math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    last = _power(float(f"{value:.{digits - 1}e}")) - digits + 1
    if SMALLEST <= last + digits - 1 < LARGEST:
        text = f"{value:.{max(0, -last)}f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return _scientific(value, last, strip=True)


def whole(count: int) -> str:
    """A count, its thousands set apart."""
    return f"{count:,}".replace(",", "\u202f") if count >= 10_000 else str(count)


def percent(ratio: float) -> str:
    """A ratio in percent, to two digits; `"-"` for NaN."""
    if math.isnan(ratio):
        return MISSING
    if math.isinf(ratio):
        return "inf"
    if ratio > 10:
        return "> 1000 %"
    return f"{100 * ratio:.0f} %" if ratio >= 0.995 else f"{number(100 * ratio, 2)} %"


def seconds(value: float) -> str:
    """A span of time, in seconds or minutes."""
    if value < 120:
        return f"{number(value, 3)} s"
    return f"{int(value // 60)} min {int(value % 60)} s"


def _power(value: float) -> int:
    """The power of ten of the first digit."""
    return math.floor(math.log10(abs(value))) if value else -400


def _fixed(value: float, last: int) -> str:
    text = f"{value:.{-last}f}"
    return text.lstrip("-") if float(text) == 0 else text


def _scientific(value: float, last: int, strip: bool = False) -> str:
    """The value with an exponent, down to the digit of the power `last`."""
    units = float(f"{value / 10.0**last:.0f}")
    if units == 0:
        return "0"
    digits = _power(units)
    mantissa = f"{units / 10.0**digits:.{digits}f}"
    if strip and "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{last + digits}"
