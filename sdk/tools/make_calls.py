"""Writes the calls that calls.toml lists, from openapi.json: calls.ts of the TypeScript library and _calls.py of the Python one."""

from __future__ import annotations

import json
import pathlib
import re
import sys
import textwrap
import tomllib
from dataclasses import dataclass, field

sdk = pathlib.Path(__file__).resolve().parent.parent
API = json.loads((sdk.parent / "openapi.json").read_text())
SCHEMAS = API["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, item in API["paths"].items() for method, operation in item.items() if method != "parameters"
}
# types.ts names some documents otherwise.
NAMES_TS = {schema: name for name, schema in re.findall(r'export type (\w+) = Schemas\["(\w+)"\]', (sdk / "typescript/src/types.ts").read_text())}
HEAD = 'Code generated from openapi.json and calls.toml by "make sdk-types". DO NOT EDIT.'
PAGING = ("page", "limit", "cursor")


def camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)


def joined(*parts: str) -> str:
    return "\n\n".join(parts)


def resolved(thing: dict) -> dict:
    while "$ref" in thing:
        thing = API["components"][thing["$ref"].split("/")[2]][thing["$ref"].rsplit("/", 1)[1]]
    return thing


def type_of(schema: dict, names: dict[str, str]) -> str:
    """Returns the type of a schema in the language whose names of types these are."""
    if "oneOf" in schema:  # a list: all at once, or one page
        schema = schema["oneOf"][0]
    if kind_of(schema) == "array":
        return names["array"] % type_of(schema["items"], names)
    if "properties" in resolved(schema):
        name = schema["$ref"].rsplit("/", 1)[1]
        return "doc." + names.get(name, name)
    return names[kind_of(schema)]


def kind_of(schema: dict) -> str:
    """Returns the JSON type of a schema, apart from null."""
    kind = resolved(schema).get("type", "any")
    return kind if isinstance(kind, str) else next(one for one in kind if one != "null")


TS = {**NAMES_TS, "array": "%s[]", "string": "string", "integer": "number", "boolean": "boolean", "any": "unknown"}
PY = {"array": "Sequence[%s]", "string": "str", "integer": "int", "boolean": "bool", "any": "Any"}


@dataclass
class Call:
    """A call, in the names of the API."""

    name: str
    operation: str = ""
    doc: str = ""
    needs: list[str] = field(default_factory=list)
    repeat: str = "always"
    body: bool = False
    result: bool = False
    reply: bool = True
    arguments: list[str] | None = None
    query: list[str] | None = None
    options: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.method, self.path, operation = OPERATIONS[self.operation or camel(self.name)]
        self.doc = self.doc or operation["summary"] + "."
        parameters = [resolved(one) for one in operation.get("parameters", []) + API["paths"][self.path].get("parameters", [])]
        self.keyed = self.repeat != "never" and any(one["name"] == "Idempotency-Key" for one in parameters)
        self.waits = self.method == "POST" and any(one["name"] == "Prefer" for one in parameters)
        self.queries = {one["name"]: one["schema"] for one in parameters if one["in"] == "query" and (self.query is None or one["name"] in self.query)}
        self.segments = self.path.lstrip("/").split("/")
        self.ids = re.findall(r"{(\w+)}", self.path)
        self.given = operation["requestBody"]["content"]["application/json"]["schema"] if "requestBody" in operation else {}
        about = resolved(self.given)
        self.members = {} if self.body else {name: of for name, of in about.get("properties", {}).items() if name != "idempotency_key"}
        given = self.arguments if self.arguments is not None else [] if self.body else about.get("required", [])
        self.positional = {name.strip("?"): self.members[name.strip("?")] for name in given}
        self.may_lack = {name.strip("?") for name in given if name.endswith("?")}
        self.optional = {name: of for name, of in self.members.items() if name not in self.positional}
        success = next(reply for status, reply in operation["responses"].items() if status.startswith("2"))
        replied = success["content"]["application/json"]["schema"] if "content" in success else None
        self.document = replied if self.reply else None
        self.listed = replied is not None and kind_of(replied) == "array"
        self.check_needs(resolved(replied or {}))
        self.sends = "requestBody" in operation and self.given != {"$ref": "#/components/schemas/Nothing"}

    def check_needs(self, reply: dict) -> None:
        # The reply to a PUT has what was put, although the same document without it may be the reply to a GET.
        always = reply.get("properties", {}) if self.method == "PUT" else reply.get("required", [])
        missing = [name for name in self.needs if name not in always]
        assert not missing, f"{self.name}: a reply of {self.path} need not have {missing}"

    def route(self, spell) -> str:
        """Returns an expression for the path; spell gives a parameter's name."""
        if not self.ids:
            return f'"{self.path}"'
        at = next(i for i, segment in enumerate(self.segments) if segment.startswith("{"))
        rest = [spell(one[1:-1]) if one.startswith("{") else f'"{one}"' for one in self.segments[at:]]
        return f'at("/{"/".join(self.segments[:at])}", {", ".join(rest)})'

    def outcome(self) -> str:
        return "RunResult" if self.document == {"$ref": "#/components/schemas/RunView"} else "SessionResult"


def said(doc: str, spell, **words: str) -> str:
    return re.sub(r"{(\w+)}", lambda found: words.get(found[1]) or spell(found[1]), doc)


# TypeScript


def comment_ts(doc: str, indent: str) -> str:
    doc = said(doc, lambda name: f"`{camel(name)}`", Raises="Throws")
    lines = textwrap.wrap(doc, 100)
    return f"{indent}/** {doc} */" if len(doc) < 125 else "\n".join([f"{indent}/**", *(f"{indent} * {line}" for line in lines), f"{indent} */"])


def call_ts(call: Call) -> str:
    arguments = [f"{camel(name)}: string" for name in call.ids]
    if call.body:
        arguments.append(f"body: {type_of(call.given, TS)}")
    arguments += [f"{camel(name)}{'?' * (name in call.may_lack)}: {type_of(of, TS)}" for name, of in call.positional.items()]
    options = {camel(name): type_of(of, TS) for name, of in {**call.queries, **call.optional}.items()} | ({"waitMs": "number"} if call.waits else {})
    kind = "KeyedOptions" if call.keyed else "CallOptions"
    more = " & { " + "; ".join(f"{name}?: {of}" for name, of in options.items()) + " }" if options else ""
    sent = [f'method: "{call.method}", path: {call.route(camel)}']
    if call.queries:
        sent.append("query: { " + ", ".join(f"{name}: options.{camel(name)}" for name in call.queries) + " }")
    if call.body:
        sent.append("body")
    elif call.sends:
        members = [name if camel(name) == name else f"{name}: {camel(name)}" for name in call.positional]
        members += [f"{name}: options.{camel(name)}" for name in call.optional]
        sent.append(f"body: {{ {', '.join(members)} }}" if members else "body: {}")
    sent += ["key: options.idempotencyKey ?? randomUUID()"] if call.keyed else []
    sent += ["preferMs: options.waitMs"] if call.waits else []
    sent.append(f'repeat: "{call.repeat}"')
    sent += [f"needs: {json.dumps(call.needs)}"] if call.needs else []
    sent += ["list: true"] if call.listed else []
    reply = type_of(call.document, TS) if call.document else "void"
    made = f"await this.transport.call<{reply}>({{\n      {', '.join(sent)}, signal: options.signal,\n    }})"
    body = f"return result({made});" if call.result else f"return ({made}).value;" if call.document else f"{made};"
    head = f"async {camel(call.name)}({', '.join([*arguments, f'options: {kind}{more} = {{}}'])}): Promise<{call.outcome() if call.result else reply}>"
    return f"{comment_ts(call.doc, '  ')}\n  {head} {{\n    {body}\n  }}"


def filters(call: Call) -> list[tuple[str, str, bool]]:
    """Returns the filters of a list: parameter, name of the option, and whether it is true or left out."""
    names = [name for name in call.queries if name not in PAGING]
    return [(name, "summary" if name == "fields" else name, name in ("fields", "priority_active")) for name in names]


def list_ts(call: Call) -> tuple[str, str]:
    options = f"{call.name[:-1].capitalize()}ListOptions"
    members, query = [], []
    for name, option, flag in filters(call):
        members += [comment_ts(call.options[option], "  ")] if option in call.options else []
        members.append(f"  {camel(option)}?: {'boolean' if flag else type_of(call.queries[name], TS)};")
        query.append(f"{name}: options.{camel(option)}" + ({"fields": ' ? "summary" : undefined'}.get(name, " || undefined") if flag else ""))
    item = row(call, TS)
    noun, given = call.name.capitalize(), f'this.transport, "{call.path}", {{ {", ".join(query)} }}, options'
    return f"export interface {options} extends PageOptions {{\n" + "\n".join(members) + "\n}", joined(
        f"{comment_ts(call.doc, '  ')}\n  async list{noun}(options: {options} = {{}}): Promise<doc.Page<{item}>> {{\n    return await page({given});\n  }}",
        f"  all{noun}(options: {options} = {{}}): AsyncGenerator<{item}, void> {{\n    return walk({given});\n  }}",
    )


def row(call: Call, names: dict[str, str]) -> str:
    """Returns the type of a list's rows."""
    document = call.document["oneOf"][1] if "oneOf" in call.document else call.document
    return type_of(resolved(document)["properties"]["items"]["items"], names)


# Python


def doc_py(doc: str) -> str:
    doc = said(doc, str, Raises="Raises")
    return "        " + "\n        ".join(textwrap.wrap(f'"""{doc}"""', 130))


def method_py(head: str, arguments: list[str], options: list[str], returns: str, doc: str, body: str) -> str:
    given = ", ".join(["self", *arguments, *(["*", *options] if options else [])])
    return f"    {head}({given}) -> {returns}:\n{doc_py(doc)}\n        {body}"


def call_py(call: Call) -> str:
    arguments = [f"{name}: str" for name in call.ids] + (["body: Mapping[str, Any]"] if call.body else [])
    arguments += [f"{name}: {type_of(of, PY)}{' = None' * (name in call.may_lack)}" for name, of in call.positional.items()]
    options = [f"{name}: {type_of(of, PY)} | None = None" for name, of in {**call.queries, **call.optional}.items()]
    options += ["wait_seconds: float | None = None"] if call.waits else []
    options += ["idempotency_key: str | None = None"] if call.keyed else []
    sent = [f'"{call.method}", {call.route(str)}']
    if call.queries:
        sent.append("query={" + ", ".join(f'"{name}": {name}' for name in call.queries) + "}")
    if call.body:
        sent.append("body=dict(body)")
    elif call.sends:
        members = {name: f"list({name})" if of.get("type") == "array" else name for name, of in {**call.positional, **call.optional}.items()}
        if call.optional or call.may_lack:
            sent.append(f"body=without_none({', '.join(f'{name}={value}' for name, value in members.items())})")
        else:
            sent.append("body={" + ", ".join(f'"{name}": {value}' for name, value in members.items()) + "}")
    sent += ["key=idempotency_key or str(uuid.uuid4())"] if call.keyed else []
    sent += ["prefer=wait_seconds"] if call.waits else []
    sent += [f'repeat="{call.repeat}"'] if call.repeat != "always" else []
    sent += [f"needs={json.dumps(call.needs)}"] if call.needs else []
    sent += ["listed=True"] if call.listed else []
    reply = type_of(call.document, PY).replace("Sequence", "list") if call.document else "None"
    made = f"await self.transport.call({', '.join(sent)})"
    returns = call.outcome() if call.result else reply
    body = f"return {returns}.of({made})" if call.result else f"return cast({reply}, ({made}).value)" if call.document else made
    return method_py(f"async def {call.name}", arguments, options, returns, call.doc, body)


def list_py(call: Call) -> str:
    options = [f"{option}: bool = False" if flag else f"{option}: {type_of(call.queries[name], PY)} | None = None" for name, option, flag in filters(call)]
    given = "{" + ", ".join(
        f'"{name}": ' + (f'{json.dumps("summary" if name == "fields" else "true")} if {option} else None' if flag else option)
        for name, option, flag in filters(call)
    ) + "}"
    doc = " ".join([call.doc, *(f"{name}: {text}" for name, text in call.options.items())])
    item, paged = row(call, PY), ["limit: int | None = None", "cursor: str | None = None"]
    return joined(
        method_py(f"async def list_{call.name}", [], options + paged, f"Page[{item}]", doc, f'return await self._page("{call.path}", {given}, limit, cursor)'),
        method_py(f"def all_{call.name}", [], options, f"AsyncIterator[{item}]", call.doc, f'return self._walk("{call.path}", {given})'),
    )


table = tomllib.loads((sdk / "calls.toml").read_text())
calls = [Call(name, **given) for name, given in table["calls"].items()]
assert not (bare := [call.name for call in calls if not call.needs and resolved(call.document or {}).get("required")]), f"{bare} need members"
lists = [Call(name, **{"operation": "list" + name.capitalize(), **given}) for name, given in table["lists"].items()]
interfaces, pages = zip(*map(list_ts, lists))
files = {
    "typescript/src/calls.ts": f"""// {HEAD}
import {{ type CallOptions, type KeyedOptions, type Transport, at, randomUUID }} from "./http.js";
import {{ type PageOptions, type RunResult, type SessionResult, page, result, walk }} from "./replies.js";
import type * as doc from "./types.js";

{joined(*interfaces)}

/** The calls that are an operation of the API each. */
export abstract class Calls {{
  /** @internal */
  abstract readonly transport: Transport;

{joined(*map(call_ts, calls), *pages)}
}}
""",
    "python/src/holdpoint/_calls.py": f'''"""{HEAD}"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, cast

from . import types as doc
from ._replies import Page, Paging, RunResult, SessionResult
from ._transport import at, without_none


class Calls(Paging):
    """The calls that are an operation of the API each."""

{joined(*map(call_py, calls), *map(list_py, lists))}
''',
}
directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None
for name, text in files.items():
    (directory / pathlib.Path(name).name if directory else sdk / name).write_text(text)
