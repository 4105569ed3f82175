"""Server-sent events, over all the connections that a stream takes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from ._http import MAX_REPLY_BYTES, Response
from ._json import decode_json
from ._transport import Transport, is_unanswered, problem
from .errors import HoldpointError, UnavailableError, invalid, is_transient
from .types import RunEventEntry

SILENCE_SECONDS = 20.0
"""After so long without a byte the connection counts as dead: the service sends something every 5 s."""

Snapshot = TypeVar("Snapshot")


@dataclass(frozen=True)
class StreamItem(Generic[Snapshot]):
    """One item of a stream. A gap says why the next item, a snapshot, does not continue the one before."""

    type: Literal["snapshot", "event", "gap"]
    id: str = ""
    """The position: pass it to a later call as after."""
    snapshot: Snapshot | None = None
    event: RunEventEntry | None = None
    reason: str = ""
    """Of a gap: "ahead" or "reset" when the log does not have the events after the id; in the inbox "missed", "slow", and "lost" when the connection is."""


@dataclass(frozen=True)
class Kind:
    """What differs between the streams of a session, of a run, and of the inbox."""

    path: str
    numbered: bool
    """Its frames have ids, by which it is resumed after a cut."""
    ends_with: Callable[[Any], bool]
    """Whether nothing comes after this snapshot."""
    is_final: Callable[[RunEventEntry, str], bool]
    is_complete: Callable[[str], Awaitable[bool]]
    """Asks whether there is nothing after an id, and never will be."""


class FrameError(HoldpointError):
    """The response is not a stream of this service."""

    def __init__(self, message: str) -> None:
        super().__init__([], message)


@dataclass(frozen=True)
class _Frame:
    id: str
    name: str
    data: str

    def document(self) -> Any:
        try:
            document = decode_json(self.data)
        except ValueError as failure:
            raise FrameError(f"the data of {self.name!r} is not JSON") from failure
        if not isinstance(document, dict):
            raise FrameError(f"the data of {self.name!r} is not a document")
        return document


async def stream(transport: Transport, kind: Kind, after: str) -> AsyncGenerator[StreamItem[Any], None]:
    """Connects until the stream is complete. The first connection is tried as often as the policy says, a later one without an end."""
    if after and not _is_sequence(after):
        raise invalid(f"{after!r} is not an event id")
    pauses = transport.pauses()
    opened = live = False
    attempt = 1
    while True:
        try:
            headers = {"Last-Event-ID": after} if after else {}
            async with AsyncExitStack() as connection:
                async with asyncio.timeout(SILENCE_SECONDS):
                    opening = transport.open("GET", kind.path, None, None, headers, "text/event-stream")
                    response = await connection.enter_async_context(opening)
                    if response.status != 200:
                        raise problem(response, await response.read())
                resumed, first = bool(after), True
                async for frame in _frames(response):
                    opened = True
                    pauses.reset()
                    if (first and resumed and not frame.id) or (not first and not kind.numbered and frame.name == "stream_gap"):
                        reason = frame.document().get("reason")
                        if frame.name != "stream_gap" or not reason:
                            raise FrameError(f"{frame.name!r} is not a stream_gap")
                        after, resumed, first, live = "", False, True, False
                        yield StreamItem("gap", reason=reason)
                    elif not kind.numbered and frame.name == "keepalive":
                        pass  # it carries the service's clock and is not an event
                    elif kind.numbered != _is_sequence(frame.id):
                        raise FrameError(f"{frame.name!r} with the id {frame.id!r}")
                    elif first and not resumed:
                        if frame.name != "snapshot":
                            raise FrameError(f"{frame.name!r} instead of a snapshot")
                        first, after, live = False, frame.id, True
                        snapshot = frame.document()
                        yield StreamItem("snapshot", frame.id, snapshot=snapshot)
                        if kind.ends_with(snapshot):
                            return
                    else:
                        first = False
                        if kind.numbered and after and int(number_of(frame.id)) <= int(number_of(after)):
                            continue
                        event, after = frame.document(), frame.id
                        yield StreamItem("event", frame.id, event=event)
                        if kind.numbered and kind.is_final(event, frame.name):
                            return
            # The service ended the stream: the log is complete, or the process shuts down.
            if await kind.is_complete(after):
                return
            raise UnavailableError(f"GET {kind.path}: the stream ended")
        except (HoldpointError, TimeoutError) as thrown:
            failure = UnavailableError(f"GET {kind.path}: silence") if isinstance(thrown, TimeoutError) else thrown
            if not (is_unanswered(failure) if opened else is_transient(failure) and attempt < transport.retry.max_attempts):
                raise failure from thrown
        if live and not kind.numbered:
            live = False
            yield StreamItem("gap", reason="lost")
        await (pauses.after_anyway(failure) if opened else pauses.after(failure))
        attempt += 1


def _is_sequence(text: str) -> bool:
    """Whether a text is the id of an event, or of a frame of a stream, which says after a point to which history its number belongs. The
    service sends a snapshot after any other."""
    return re.fullmatch(r"(0|[1-9][0-9]{0,17})(\.[0-9a-f]{7,64})?", text) is not None


def number_of(frame_id: str) -> str:
    """Returns the number of an event in the id of a frame."""
    return frame_id.partition(".")[0]


async def _frames(response: Response) -> AsyncIterator[_Frame]:
    """Yields the frames that have data. A frame that the end of the stream cuts off is left out."""
    identity, name, rest = "", "", b""
    data: list[str] = []
    size = 0  # of the lines of the frame so far
    chunks = aiter(response.chunks())
    while True:
        # The time covers each wait for bytes, and never what the caller needs for an item.
        async with asyncio.timeout(SILENCE_SECONDS):
            chunk = await anext(chunks, None)
        if chunk is None:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            size += len(line)
            field, _, value = line.rstrip(b"\r").decode(errors="replace").partition(":")
            value = value.removeprefix(" ")
            if not field and not value:
                if data:
                    yield _Frame(identity, name or "message", "\n".join(data))
                name, data, size = "", [], 0
            elif field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif field == "id":
                identity = value
        if size + len(rest) > MAX_REPLY_BYTES:
            raise FrameError(f"a frame has more than {MAX_REPLY_BYTES} bytes")
