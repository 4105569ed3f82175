"""Whether a decision was made about what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ._json import decode_json, encode_json
from .errors import HoldpointError
from .grants import canonical_json


def require_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Raises id_conflict unless both ask the same thing: a decision counts only for what it was made about."""
    if "tool_name" in one and "tool_name" in other:
        same = _same_tool(one, other) and _same(one.get("input"), other.get("input"))
    else:
        same = "tool_name" not in one and "tool_name" not in other and _same_question(one, other)
    if not same:
        raise HoldpointError(["conflict", "id_conflict"], f"request {one['id']} was raised for something else")


def require_shown(shown: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """require_same for an open request as a run's view shows it. The view masks the values at sensitive paths, so that only the
    decision, which has them, can be compared with the input."""
    if not (shown.get("sensitive_paths") and "tool_name" in asked and _same_tool(shown, asked)):
        require_same(shown, asked)


def _same_tool(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Compares the tool and the directory in which it would run."""
    return a.get("tool_name") == b.get("tool_name") and (a.get("directory") or "") == (b.get("directory") or "")


def _same(a: Any, b: Any) -> bool:
    """Compares values as the service has them: a Decimal is a number, and the name of every member a text."""
    try:
        one, other = encode_json(a), encode_json(b)
        return one == other or canonical_json(decode_json(one)) == canonical_json(decode_json(other))
    except (TypeError, ValueError):
        return False  # without a canonical form, a value equals the same text alone


def _same_question(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Ignores what the service fills in by default: ids, headers, labels that were not given, and the schema of a question with only a
    kind."""
    return (
        (a.get("kind") or "") == (b.get("kind") or "")
        and _same(a.get("payload"), b.get("payload"))
        and _same(_schema(a), _schema(b))
        and _same_list(a.get("questions"), b.get("questions"), _same_part)
    )


def _schema(question: Mapping[str, Any]) -> Any:
    """A question with only a kind takes any value."""
    schema = question.get("response_schema")
    return True if schema is None and question.get("kind") and not question.get("questions") else schema


def _same_part(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return (
        a["question"] == b["question"]
        and bool(a.get("multi_select")) == bool(b.get("multi_select"))
        and _takes_freeform(a) == _takes_freeform(b)
        and _same_list(a.get("options"), b.get("options"), _same_option)
    )


def _takes_freeform(question: Mapping[str, Any]) -> bool:
    allowed = question.get("allow_freeform")
    return not question.get("options") if allowed is None else bool(allowed)


def _same_option(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    named = all(not a.get(name) or not b.get(name) or a[name] == b[name] for name in ("id", "label"))
    return named and all((a.get(name) or "") == (b.get(name) or "") for name in ("description", "preview"))


def _same_list(a: list[Any] | None, b: list[Any] | None, same: Callable[[Any, Any], bool]) -> bool:
    return len(a or []) == len(b or []) and all(map(same, a or [], b or []))
