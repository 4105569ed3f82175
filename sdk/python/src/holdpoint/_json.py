"""JSON that keeps numbers as they are written."""

from __future__ import annotations

import decimal
import json
import math
from typing import Any, NoReturn, cast


_text = json.JSONEncoder(ensure_ascii=False).encode


class _Float(float):
    """A float that is written with other digits than Python's own: 1.50, 1e3, or more digits than a double has."""

    text: str


def _float(text: str) -> float:
    plain = float(text)
    if repr(plain) == text:
        return plain
    kept = _Float(text)
    kept.text = text
    return kept


def _int(text: str) -> int | decimal.Decimal:
    return int(text) if len(text) <= _INT_DIGITS else decimal.Decimal(text)


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_INT_DIGITS = 600  # sys.set_int_max_str_digits allows no limit below 640


def decode_json(text: str | bytes) -> Any:
    """Decodes JSON. A number with a fraction or an exponent is a float that remembers its text, and an integer of more digits than
    Python may read, of 600 at least, is a Decimal. Raises ValueError for text that is not JSON."""
    return json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_refused)


def encode_json(value: Any) -> str:
    """Encodes a value as json.dumps does, but writes a float of decode_json and a Decimal with its own digits, and no white space.
    Raises TypeError or ValueError for a value without a JSON form."""
    parts: list[str] = []
    try:
        _write(value, parts)
    except RecursionError as failure:
        raise ValueError("the value is circular, or nested too deeply") from failure
    return "".join(parts)


def _write(value: Any, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(_text(value))
    elif isinstance(value, (list, tuple)):
        separator = "["
        for item in value:
            parts.append(separator)
            _write(item, parts)
            separator = ","
        parts.append("]" if separator == "," else "[]")
    elif isinstance(value, dict):
        separator = "{"
        for name, member in value.items():
            parts.append(separator + _text(_name(name)) + ":")
            _write(member, parts)
            separator = ","
        parts.append("}" if separator == "," else "{}")
    else:
        parts.append(_scalar(value))


def _name(name: Any) -> str:
    if isinstance(name, str):
        return name
    if name is None or isinstance(name, (bool, int, float)):
        return _scalar(name)
    raise TypeError(f"a member's name is a {type(name).__name__}")


def _scalar(value: Any) -> str:
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, _Float):
        return value.text
    if isinstance(value, float) and math.isfinite(value):
        return float.__repr__(value)
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, (float, decimal.Decimal)):
        raise ValueError(f"{value} has no JSON form")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def as_decoded(value: decimal.Decimal) -> int | float | decimal.Decimal:
    """Returns what decode_json makes of a Decimal's text."""
    return cast(int | float | decimal.Decimal, decode_json(encode_json(value)))
