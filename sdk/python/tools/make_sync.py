"""Writes src/holdpoint/_sync.py: the surface of the asyncio classes for programs without asyncio."""

from __future__ import annotations

import ast
import pathlib
import sys

here = pathlib.Path(__file__).resolve().parent.parent
source = here / "src/holdpoint"
HEAD = '''"""The client for programs without asyncio. Generated from _async.py, _calls.py and _task.py by "make sdk-types"; do not edit.

Every call is made in the thread of an event loop that the client has to itself. A client may be used by several threads."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from . import types as doc
from ._async import AsyncHoldpoint
from ._portal import Portal
from ._replies import CreatedRun, Page, RunResult, SessionResult
from ._stream import StreamItem
from ._task import AsyncTask
from ._transport import RetryPolicy
from .errors import HoldpointError
'''


def methods(name: str, file: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse((source / file).read_text())
    found = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return [node for node in found.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")]


def arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    given = [arg.arg for arg in node.args.args[1:]]
    if node.args.vararg:
        given.append("*" + node.args.vararg.arg)
    return ", ".join(given + [f"{arg.arg}={arg.arg}" for arg in node.args.kwonlyargs])


def method(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = ast.unparse(node.returns) if node.returns else "None"
    iterates = returns.startswith("AsyncIterator[")
    call = f"self._async.{node.name}({arguments(node)})"
    lines = [f"    def {node.name}({ast.unparse(node.args)}) -> {returns.removeprefix('Async')}:"]
    if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
        lines.insert(0, "    @property")
        call = f"self._async.{node.name}"
    if text := ast.get_docstring(node, clean=False):
        lines.append(f'        """{text}"""')
    if iterates:
        lines.append(f"        return self._portal.iterate({call})")
    elif isinstance(node, ast.AsyncFunctionDef):
        lines.append(f"        return self._portal.call({call})" if returns != "None" else f"        self._portal.call({call})")
    else:
        lines.append(f"        return {call}")
    return "\n".join(lines)


def client() -> str:
    tree = ast.parse((source / "_async.py").read_text())
    written = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "AsyncHoldpoint")
    init = next(node for node in written.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    parts = [
        f'class Holdpoint:\n    """{ast.get_docstring(written, clean=False)}"""',
        f'    def __init__({ast.unparse(init.args)}) -> None:\n        """{ast.get_docstring(init, clean=False)}"""\n'
        f"        self._async = AsyncHoldpoint({arguments(init)})\n        self._portal = Portal()",
        '    def close(self) -> None:\n        """Closes the connections, and ends the thread of the calls. Workers of this client stop in order\n'
        "        first. Every other call that a thread waits for raises a HoldpointError: it may or may not have taken effect. A handler\n"
        '        must not call it."""\n        self._portal.close(self._async.close)',
        "    def __enter__(self) -> Holdpoint:\n        return self",
        "    def __exit__(self, *_: object) -> None:\n        self.close()",
    ]
    made = methods("AsyncHoldpoint", "_async.py") + methods("Calls", "_calls.py")
    return "\n\n".join(parts + [method(node) for node in made if node.name != "close"])


def task() -> str:
    left_to_the_worker = ("stop", "close", "end_with", "ending", "lost", "renewed", "lease_seconds_left", "interrupted", "on_stop", "drain", "release")
    parts = [
        'class Task:\n    """One claimed run. Its methods may be called by several threads at once, until the handler has returned."""',
        "    def __init__(self, portal: Portal, task: AsyncTask) -> None:\n        self._portal, self._async = portal, task",
        '    @property\n    def claim(self) -> doc.Claim:\n        return self._async.claim',
        '    @property\n    def stopped(self) -> HoldpointError | None:\n'
        '        """Why the handler must not go on: lease_lost, cancelled or worker_stopped. No thread is ended for it: a long handler looks."""\n'
        "        return self._async.stopped",
    ]
    return "\n\n".join(parts + [method(node) for node in methods("AsyncTask", "_task.py") if node.name not in (*left_to_the_worker, "stopped")])


target = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else source / "_sync.py"
target.write_text("\n\n".join([HEAD, client(), "\n" + task()]) + "\n")
