"""How events are appended in several calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._json import encode_json
from .errors import invalid


def _appends(events: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Splits events into what one call takes: 256 events and 512 KiB, one event at least."""
    calls: list[list[Mapping[str, Any]]] = [[]]
    size = 0
    for event in events:
        try:
            more = len(encode_json(event).encode())
        except (TypeError, ValueError) as failure:
            raise invalid(f"append_events: {failure}") from failure
        if calls[-1] and (len(calls[-1]) == 256 or size + more > 512 << 10):
            calls.append([])
            size = 0
        calls[-1].append(event)
        size += more
    return calls


def keyed_appends(events: Sequence[Mapping[str, Any]], key: str) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """What each call appends, with its key."""
    calls = _appends(events)
    return [(key if len(calls) == 1 else f"{key}/{number:04d}", part) for number, part in enumerate(calls, 1)]
