"""Sends calls, and repeats them where that is safe and may help."""

from __future__ import annotations

import asyncio
import copy
import math
import random
import re
import ssl
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit

from ._http import Pool, Response
from ._json import decode_json, encode_json
from .errors import HoldpointError, ProblemError, UnavailableError, after_lost, invalid, is_kind, is_transient

MAX_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class RetryPolicy:
    """How a call that is safe to repeat is repeated. Safe are reads, calls with an idempotency key or an id, which are made where
    none was given, and calls that do nothing the second time. They are repeated after a broken connection, a time-out of the
    attempt, 429, 502, 503 and 504. Other calls (claims, mailboxes, interrupts) are repeated only when the first certainly had no effect.
    """

    max_attempts: int = 4
    """Counts the first one. 1 never repeats."""
    base_delay: float = 0.1
    """The pause before the second attempt, in seconds. It doubles with each further one. Half of every pause is random."""
    max_delay: float = 5.0
    max_retry_after: float = 60.0
    """The longest Retry-After that is waited for. A call with a longer one fails at once. The calls of a task wait for a sixth of the
    lease at most."""


class Pauses:
    """Counts failures in a row and says how long to pause after each."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy, self._failed = policy, 0

    def reset(self) -> None:
        self._failed = 0

    async def after(self, failure: BaseException | None) -> None:
        """Pauses after a failure. Raises the failure when the policy does not wait that long."""
        delay = self._next(failure)
        if isinstance(failure, ProblemError) and delay == failure.retry_after and delay > self._policy.max_retry_after:
            raise failure
        await asyncio.sleep(delay)

    async def after_anyway(self, failure: BaseException) -> None:
        """Pauses after a failure, for as long as the policy waits at most."""
        await asyncio.sleep(min(self._next(failure), self._policy.max_retry_after))

    def _next(self, failure: BaseException | None) -> float:
        policy = self._policy
        most: float = min(policy.max_delay, policy.base_delay * 2 ** min(self._failed, 32))
        self._failed += 1
        delay = most / 2 + random.random() * most / 2
        return max(delay, failure.retry_after) if isinstance(failure, ProblemError) else delay

    async def after_held(self, asked: float, wait: float) -> None:
        """Pauses after the empty reply of a long-poll, unless the service held it."""
        if now() - asked > wait / 2:
            self.reset()
        else:
            await self.after(None)


def now() -> float:
    return asyncio.get_running_loop().time()


Repeatable = Literal["never", "if_not_taken", "always"]
Needs = Sequence[str] | Callable[[Any], Sequence[str]]
"""The members that a reply always has, or a function that names them for a reply."""


@dataclass(frozen=True)
class Reply:
    value: Any
    status: int
    replayed: bool
    """The idempotency key had been used for the same call."""
    more: bool
    """A list goes on after what the reply has."""


class Transport:
    def __init__(
        self, base_url: str, *, token: str | None, actor: str | None, via: str | None, retry: RetryPolicy, timeout: float,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        url = urlsplit(base_url)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise invalid(f"base_url {base_url!r} must begin with http:// or https:// and name a host")
        if url.username or url.password:
            raise invalid("base_url must not hold credentials")
        if url.query or url.fragment:
            raise invalid("base_url must have neither query nor fragment")
        tls = (ssl_context or ssl.create_default_context()) if url.scheme == "https" else None
        self.pool = Pool(url.hostname, url.port or (443 if tls else 80), tls)
        self.retry = retry
        self._timeout = timeout
        self._patient = False
        self._prefix = url.path.rstrip("/")
        self._headers = {"Host": url.netloc, "User-Agent": "holdpoint-python"}
        if token is not None:
            if not re.fullmatch(r"[!-~]+", token):
                raise invalid("token must be printable ASCII without spaces")
            self._headers["Authorization"] = f"Bearer {token}"
        for name, value in (("X-Actor", actor), ("X-Via", via)):
            if value is not None:
                if not value.strip() or not value.isprintable():
                    raise invalid(f"{name[2:].lower()} must be printable text")
                self._headers[name] = value.strip()

    def patiently(self, lease: float) -> Transport:
        """Returns a transport for the calls of a run that is held by a lease of so many seconds. It repeats a call that is safe to
        repeat until the call is cancelled, because an outage says nothing about the run. An attempt without a reply, and a pause, are
        short next to the lease."""
        patient = copy.copy(self)
        patient.retry = replace(
            self.retry, max_delay=min(self.retry.max_delay, max(lease / 10, self.retry.base_delay)),
            max_retry_after=min(self.retry.max_retry_after, lease / 6),
        )
        patient._timeout = min(self._timeout, max(lease / 2, 1.0))
        patient._patient = True
        return patient

    def pauses(self) -> Pauses:
        return Pauses(self.retry)

    async def call(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: Any = None, key: str | None = None,
        prefer: float | None = None, held: float | None = None, repeat: Repeatable = "always", needs: Needs = (), listed: bool = False,
    ) -> Reply:
        """Makes a call; prefer asks for a reply that is held for so many seconds, held says how long it may be. needs are the
        members that such a reply always has: a reply without them, such as {} from a proxy, is not the service's. A listed reply is
        a list, and not a document with members."""
        headers = {}
        if key is not None:
            # What a header cannot carry unchanged goes into the body.
            if re.fullmatch(r'[ !#-\[\]-~]+', key) and key.strip() == key:
                headers["Idempotency-Key"] = key
            else:
                body = {**body, "idempotency_key": key}
        if prefer is not None:
            headers["Prefer"] = f"wait={math.ceil(min(prefer, MAX_WAIT_SECONDS))}"
        try:
            text = None if body is None else encode_json(body).encode()
        except (TypeError, ValueError) as failure:
            raise invalid(f"{method} {path}: {failure}") from failure
        limit = self._timeout + ((held or 0) if prefer is None else prefer)
        pauses = self.pauses()
        attempt, lost = 1, False  # lost: an earlier attempt may have taken effect
        try:
            while True:
                try:
                    return await self._attempt(method, path, query, text, headers, limit, needs, listed)
                except HoldpointError as failure:
                    if self._patient and repeat == "always" and is_unanswered(failure):
                        await pauses.after_anyway(failure)
                    elif attempt >= self.retry.max_attempts or not _may_repeat(repeat, failure):
                        raise
                    else:
                        await pauses.after(failure)
                    lost = lost or (method != "GET" and not _had_no_effect(failure))
                attempt += 1
        except HoldpointError as failure:
            if lost:
                after_lost(failure)
            raise

    async def _attempt(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: bytes | None, headers: dict[str, str], limit: float,
        needs: Needs, listed: bool,
    ) -> Reply:
        try:
            async with asyncio.timeout(limit), self.open(method, path, query, body, headers, "application/json") as response:
                text = await response.read()
        except TimeoutError as failure:
            raise UnavailableError(f"{method} {path}: no reply in time") from failure
        if not 200 <= response.status < 300:
            raise problem(response, text)
        if (method == "DELETE" or method == "PUT" and not needs) and response.status != 204:
            # It does not say that a rule or a token was revoked, or that anything was recorded.
            raise UnavailableError(f"{method} {path}: the reply has the status {response.status}, so the outcome is not known")
        return Reply(
            value=None if response.status == 204 and not needs and not listed else _document(f"{method} {path}", text, needs, listed),
            status=response.status,
            replayed=response.headers.get("idempotency-replayed", "").lower() == "true",
            more='rel="next"' in response.headers.get("link", ""),
        )

    @asynccontextmanager
    async def open(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: bytes | None, headers: dict[str, str], accept: str,
    ) -> AsyncIterator[Response]:
        """Sends a call once and yields the reply. The query is left out of the errors: it may hold a fence."""
        # The service refuses an empty filter. Leaving it out would list everything instead.
        given = {name: str(value) for name, value in (query or {}).items() if value is not None and not (value == "" and name in _POSITIONS)}
        target = self._prefix + path + ("?" + urlencode(given) if given else "")
        sent = {**self._headers, **headers, "Accept": accept}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            async with self.pool.send(method, target, sent, body) as response:
                yield response
        except TimeoutError:
            raise
        except (OSError, ValueError, IndexError) as failure:
            raise UnavailableError(f"{method} {path}: {failure}") from failure


def is_unanswered(failure: object) -> bool:
    """Whether a failure says nothing about what was called: the service could not be reached, could not answer, or something in
    between answered in its place, such as a proxy that has no backend at the moment, or that redirects to a page about maintenance."""
    if isinstance(failure, ProblemError):
        if failure.code == "mailbox_full":
            return False  # until the caller reads the mailbox
        if failure.status == 408:  # the service sends none
            return True
        if not failure.code and (failure.status == 404 or not 400 <= failure.status < 500):
            return True
    return is_transient(failure)


# Query parameters in which an empty value means the beginning.
_POSITIONS = frozenset({"cursor", "after"})


def _had_no_effect(failure: HoldpointError) -> bool:
    """Whether a failed attempt certainly did not change anything."""
    return is_kind(failure, "rate_limited") or (isinstance(failure, UnavailableError) and failure.not_sent)


def _may_repeat(repeat: Repeatable, failure: HoldpointError) -> bool:
    if repeat == "never":
        return False
    if _had_no_effect(failure):
        return True
    return repeat == "always" and is_kind(failure, "unavailable")


def _document(where: str, text: bytes, needs: Needs, listed: bool) -> Any:
    """Returns the document of a reply. Anything else, such as a page that says "back soon", comes from something in between."""
    try:
        document = decode_json(text)
    except ValueError as failure:
        raise UnavailableError(f"{where}: the reply is not JSON, so the outcome is not known") from failure
    if not isinstance(document, list if listed else dict):
        raise UnavailableError(f"{where}: the reply is not a {'list' if listed else 'document'}, so the outcome is not known")
    for name in needs(document) if callable(needs) else needs:
        if document.get(name) is None:
            raise UnavailableError(f"{where}: the reply has no {name}, so the outcome is not known")
    return document


def problem(response: Response, text: bytes) -> ProblemError:
    """Returns the error of a refusal, also one of a proxy without a problem document."""
    # The form with a date is not read: it would depend on how two clocks agree.
    after = response.headers.get("retry-after", "")
    try:
        document = decode_json(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("code"), str):
        document = {}  # a gateway's own, such as {"code": 502}
    return ProblemError(response.status, document, float(after) if re.fullmatch(r"[0-9]{1,9}", after) else 0)


def at(base: str, *segments: str) -> str:
    """Joins a base and segments to a path, and refuses what would name another route."""
    for segment in segments:
        if not isinstance(segment, str) or segment in ("", ".", "..") or not segment.isascii() and re.search("[\ud800-\udfff]", segment):
            raise invalid(f"{segment!r} is not an id (under {base})")
    return "/".join([base, *(quote(segment, safe="") for segment in segments)])


def key_of(body: Mapping[str, Any], identity: str, key: str | None = None) -> str | None:
    """Returns the idempotency key of a call that creates something: the caller's, or a new one, unless the body has an id or a key of
    its own."""
    return key or (None if body.get(identity) or body.get("idempotency_key") else str(uuid.uuid4()))


def with_id(body: Mapping[str, Any], identity: str, prefix: str) -> dict[str, Any]:
    """Returns a body with an id for what the call creates, unless it has a key, from which the service makes the id."""
    sent = {name: value for name, value in body.items() if name != identity or value}
    if identity not in sent and not body.get("idempotency_key"):
        sent[identity] = new_id(prefix)
    return sent


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4()}"


def without_none(**members: Any) -> dict[str, Any]:
    """Returns a body of the members that are given."""
    return {name: value for name, value in members.items() if value is not None}
