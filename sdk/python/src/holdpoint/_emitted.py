"""The idempotency keys of a task's events: a handler that starts from the top does not append the same events again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from . import types as doc
from ._json import decode_json, encode_json
from .errors import invalid


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def copied(name: str, value: Any) -> Any:
    """Returns a value as its JSON is now: the caller may change it before it is sent. Raises an error that is invalid for a value
    without a JSON form."""
    try:
        return decode_json(encode_json(value).encode().decode())  # a text that is not UTF-8 has no JSON form
    except (TypeError, ValueError) as failure:
        raise invalid(f"{name}: {failure}") from failure


class Emitted:
    def __init__(self, run: doc.RunView, checkpoint: str) -> None:
        self._run = f"{run['run_id']}/{run.get('submitted_at_ms')}"
        """The run by its id and its time: after retention another run may have the id, and the service still knows the keys of the
        deleted one."""
        self._since = _digest(checkpoint)
        """The digest of the last checkpoint, which may be large."""
        self._times: Counter[str] = Counter()
        """Counts the appends by their digest, which covers the checkpoint."""

    def checkpointed(self, checkpoint: Any) -> None:
        self._since = _digest(encode_json(checkpoint))

    def key(self, events: Sequence[Any]) -> str:
        """The same for the n-th append of the same events to the same run since the same checkpoint."""
        digest = _digest(encode_json([self._run, self._since, list(events)]))
        self._times[digest] += 1
        return f"task/{digest}/{self._times[digest]}"
