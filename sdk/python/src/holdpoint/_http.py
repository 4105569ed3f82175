"""HTTP/1.1 over asyncio's streams: as much of it as the calls of one service need."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from .errors import HoldpointError, UnavailableError

MAX_REPLY_BYTES = 64 << 20
_MAX_HEAD_BYTES = 64 << 10
_MAX_IDLE = 64


@dataclass
class Response:
    status: int
    headers: dict[str, str]
    """By their names in lower case."""
    _connection: _Connection = field(repr=False)

    async def read(self) -> bytes:
        """Returns the whole body."""
        parts: list[bytes] = []
        size = 0
        async for part in self.chunks():
            size += len(part)
            if size > MAX_REPLY_BYTES:
                # It would be as large again.
                raise HoldpointError([], f"the reply has more than {MAX_REPLY_BYTES} bytes")
            parts.append(part)
        return b"".join(parts)

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields the body as it comes. Raises ConnectionError when it is cut."""
        reader = self._connection.reader
        if self.status in (204, 304):
            self._connection.whole = True
        elif self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int((await _line(reader)).split(b";")[0], 16):
                while size > 0:
                    part = await _some(reader, size)
                    size -= len(part)
                    yield part
                await _line(reader)
            while await _line(reader):
                pass  # trailers
            self._connection.whole = True
        elif "content-length" in self.headers:
            left = int(self.headers["content-length"])
            while left > 0:
                part = await _some(reader, left)
                left -= len(part)
                yield part
            self._connection.whole = True
        else:
            while part := await reader.read(1 << 16):
                yield part
        if self.headers.get("connection", "").lower() == "close":
            self._connection.whole = False


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the connection was cut")
    return line.rstrip(b"\r\n")


async def _some(reader: asyncio.StreamReader, most: int) -> bytes:
    part = await reader.read(min(most, 1 << 16))
    if not part:
        raise ConnectionError("the connection was cut")
    return part


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.whole = False
        """The last reply was read to its end, so that another one may follow."""

    def is_quiet(self) -> bool:
        """Whether nothing has arrived since the last reply, such as its end or the 408 with which a load balancer ends it."""
        # at_eof() is false while there are unread bytes, which StreamReader shows to nobody.
        return not (self.reader._buffer or self.reader.at_eof() or self.writer.is_closing())  # type: ignore[attr-defined]

    def cut(self) -> None:
        self.writer.transport.abort()


class Pool:
    """The connections to one host. Each is used in the event loop in which it was made: a program may call in several, also at once."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host, self._port, self._tls = host, port, tls
        self._idle: dict[asyncio.AbstractEventLoop, list[_Connection]] = {}

    @asynccontextmanager
    async def send(self, method: str, target: str, headers: dict[str, str], body: bytes | None) -> AsyncIterator[Response]:
        """Sends a request and yields the reply, whose body may still come. Raises OSError when the connection breaks, and an
        UnavailableError that is not_sent when there is none."""
        connection = await self._connect()
        try:
            connection.whole = False
            lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            if body is not None:
                lines.append(f"Content-Length: {len(body)}")
            connection.writer.write("\r\n".join([*lines, "", ""]).encode() + (body or b""))
            await connection.writer.drain()
            yield await self._head(connection)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as broken:
            raise ConnectionError("the connection was cut") from broken
        finally:
            if connection.whole and not connection.writer.is_closing() and len(idle := self._idle_here()) < _MAX_IDLE:
                idle.append(connection)
            else:
                connection.cut()

    def _idle_here(self) -> list[_Connection]:
        """Returns the idle connections of the running event loop, and forgets those of loops that are closed."""
        for loop in [loop for loop in list(self._idle) if loop.is_closed()]:
            self._idle.pop(loop, None)
        return self._idle.setdefault(asyncio.get_running_loop(), [])

    async def _connect(self) -> _Connection:
        idle = self._idle_here()
        if idle:
            # Lets the loop read what arrived while the program kept it busy. The first round only finds it.
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        while idle:
            connection = idle.pop()
            if connection.is_quiet():
                return connection
            connection.cut()
        try:
            reader, writer = await asyncio.open_connection(self._host, self._port, ssl=self._tls, limit=_MAX_HEAD_BYTES)
        except OSError as failure:
            raise UnavailableError(f"no connection to {self._host}:{self._port}: {failure}", not_sent=True) from failure
        return _Connection(reader, writer)

    @staticmethod
    async def _head(connection: _Connection) -> Response:
        while True:
            head = (await connection.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            status = int(head[0].split(" ")[1])
            headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
            if status >= 200:
                return Response(status, headers, connection)

    def close(self) -> None:
        """Closes the connections of the running event loop that no call uses."""
        idle = self._idle_here()
        while idle:
            idle.pop().cut()
