"""Writes src/holdpoint/types.py: the documents of the service, from its own openapi.json."""

from __future__ import annotations

import json
import keyword
import pathlib
import sys
import textwrap

here = pathlib.Path(__file__).resolve().parent.parent
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None", "array": "list[Any]", "object": "dict[str, Any]"}


class Types:
    def __init__(self, schemas: dict) -> None:
        self.schemas = schemas
        self.inner: list[str] = []  # classes of members without a name of their own

    def of(self, schema: dict, name: str) -> str:
        """Returns the type of a schema; name is for a class that it may need."""
        if "$ref" in schema:
            referred = schema["$ref"].rsplit("/", 1)[1]
            return referred if "properties" in self.schemas[referred] else self.of(self.schemas[referred], referred)
        for word in ("anyOf", "oneOf", "allOf"):
            if word in schema and "properties" not in schema:
                return " | ".join(self.of(one, name) for one in schema[word])
        if "const" in schema or "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema.get('enum', [schema.get('const')])))}]"
        if "properties" in schema:
            self.inner.append(self.document(name, schema))
            return name
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not kinds:
            return "Any"
        return " | ".join(f"list[{self.of(schema['items'], name)}]" if kind == "array" and "items" in schema else PLAIN[kind] for kind in kinds)

    def document(self, name: str, schema: dict) -> str:
        required = set(schema.get("required", []))
        lines = [f"class {name}(TypedDict):"]
        if schema.get("description"):
            lines.append(comment(schema["description"]))
        for member, of in sorted(schema["properties"].items()):
            kind = self.of(of, name + "".join(part.capitalize() for part in member.split("_")))
            if of.get("description"):
                lines.append(comment(of["description"]))
            lines.append(f"    {member}: {kind if member in required else f'NotRequired[{kind}]'}")
        if any(map(keyword.iskeyword, schema["properties"])):
            # Python cannot write such a member in a class.
            return f"{name} = TypedDict({name!r}, {{\n" + "\n".join(map(quoted, lines[1:])) + "\n})"
        return "\n".join(lines)

    def text(self) -> str:
        classes = []
        for name, schema in sorted(self.schemas.items()):
            if "properties" in schema:
                text = self.document(name, schema)
                classes += [*self.inner, text]
                self.inner = []
        head = '"""The documents of the service, as they are on the wire. Generated from openapi.json by "make sdk-types"; do not edit."""\n\n'
        return head + "from __future__ import annotations\n\nfrom typing import Any, Literal, NotRequired, TypedDict\n\n\n" + "\n\n\n".join(classes) + "\n"


def quoted(line: str) -> str:
    member, colon, kind = line.strip().partition(": ")
    return line if line.strip().startswith("#") or not colon else f"    {member!r}: {kind!r},"


def comment(text: str) -> str:
    lines = textwrap.wrap(" ".join(text.split()).replace("\\", "\\\\"), 120)
    return "\n".join(["    # " + line for line in lines])


source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here.parent.parent / "openapi.json"
target = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else here / "src/holdpoint/types.py"
target.write_text(Types(json.loads(source.read_text())["components"]["schemas"]).text())
