"""What calls return besides a document, and how lists are read page by page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from . import types as doc
from ._transport import Reply, Transport
from .errors import UnavailableError

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    """One page of a list."""

    items: list[Item]
    pagination: doc.Pagination


@dataclass(frozen=True)
class CreatedRun:
    """A new run, or the one with the same id or key."""

    run: doc.RunView
    claim: doc.Claim | None
    """Set when the body asked for one and the run has the lease that the call took."""
    replayed: bool
    """The idempotency key had been used for the same call."""
    existing: bool
    """A run with this id and payload was there."""


@dataclass(frozen=True)
class RunResult:
    """A run after a call, and whether that call was a repeat."""

    run: doc.RunView
    replayed: bool

    @classmethod
    def of(cls, reply: Reply) -> RunResult:
        return cls(reply.value, reply.replayed)


@dataclass(frozen=True)
class SessionResult:
    """A session after a call, and whether that call was a repeat."""

    session: doc.SessionView
    replayed: bool

    @classmethod
    def of(cls, reply: Reply) -> SessionResult:
        return cls(reply.value, reply.replayed)


class Paging:
    """Reads lists with the transport of a client."""

    transport: Transport

    async def _page(self, path: str, filters: Mapping[str, Any], limit: int | None, cursor: str | None) -> Page[Any]:
        query = {**filters, "page": "true", "limit": limit, "cursor": cursor}
        page = (await self.transport.call("GET", path, query=query, needs=["items", "pagination"])).value
        return Page(page["items"], page["pagination"])

    async def _walk(self, path: str, filters: Mapping[str, Any]) -> AsyncIterator[Any]:
        cursor: str | None = None
        while True:
            page = await self._page(path, filters, 100, cursor)
            for item in page.items:
                yield item
            following = page.pagination["next_cursor"]
            if not page.pagination["has_more"] or following in (None, cursor):
                return
            cursor = following

    async def _events(self, path: str, after: str | None, limit: int | None) -> Reply:
        return await self.transport.call("GET", path, query={"after": after, "limit": limit}, listed=True)

    async def _walk_events(self, path: str, after: str | None) -> AsyncIterator[doc.RunEventEntry]:
        while True:
            reply = await self._events(path, after, 1000)
            if reply.value and reply.value[-1]["id"] == after:
                # The same page again, for example out of a cache that ignores the query, would not end.
                raise UnavailableError(f"GET {path}: the events do not go on after {after}")
            for entry in reply.value:
                after = entry["id"]
                yield entry
            # A page may end early, because it would be too large.
            if not reply.value or (not reply.more and len(reply.value) < 1000):
                return
