"""Rules across the arguments of a tool, as a JSON Schema (draft 2020-12) that the author gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, SchemaError
from referencing import Registry, Resource, Specification
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from mcp_guard.faults import ConfigurationError, Problem
from mcp_guard.suggestions import respellings
from mcp_guard.validation.misfits import MOST
from mcp_guard.validation.phrases import UNKNOWN, cut, either, one_of, ranged, sized, together
from mcp_guard.validation.problems import Finding, Wording, spelled
from mcp_guard.validation.shape import Steps, is_dict, is_list

_NOUNS = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "an integer",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a string",
}
_LIMITS = {
    "minimum": "ge",
    "exclusiveMinimum": "gt",
    "maximum": "le",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
}
# What a rule is about where the schema does not say.
_IMPLIED = {
    **dict.fromkeys(("minLength", "maxLength", "pattern"), "string"),
    **dict.fromkeys(("minItems", "maxItems"), "array"),
    **dict.fromkeys(("required", "minProperties", "maxProperties"), "object"),
    **dict.fromkeys(_LIMITS, "number"),
}
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Breach:
    """A rule that the arguments break.

    Attributes:
        path: Where.
        error: The `ValidationError` of jsonschema; None where a value is beyond what it can calculate with.
        name: The name that is missing or unknown, where it is about one.
    """

    path: Steps
    error: Any
    name: str | None = None


class Rules:
    """A compiled JSON Schema for the arguments of a tool as one object; nothing is fetched from the network.

    Args:
        schema: The JSON Schema.
        function: Whose arguments; named in errors.

    Raises:
        ConfigurationError: If the schema is none, or refers to something that is not in it.
    """

    def __init__(self, schema: Mapping[str, Any], function: str) -> None:
        try:
            Draft202012Validator.check_schema(schema)
            _check_references(schema)
        except (SchemaError, Unresolvable, re.error) as error:
            reason = error.message if isinstance(error, SchemaError) else error
            raise ConfigurationError(
                f"{function}: input_schema= is no JSON Schema (draft 2020-12) that can be checked: {reason}"
            ) from error
        self._validator: Any = Draft202012Validator(schema, registry=Registry[Any]())

    def breaches(self, arguments: Mapping[str, Any]) -> list[Breach]:
        """Return which rules the arguments break, at most `MOST`."""
        try:
            errors: list[Any] = list(islice(self._validator.iter_errors(arguments), MOST))
        except (ArithmeticError, ValueError):
            # `multipleOf` of an infinite number, or of one that no float can hold.
            return [Breach((), None)]
        missing: Counter[Steps] = Counter()
        return [breach for error in errors for breach in _breaches(error, missing)]

    def finding(self, breach: Breach, wording: Wording) -> Finding:
        """Return a breach in words."""
        error, path = breach.error, breach.path
        if error is None or error.validator is None:
            # `False` as a schema: jsonschema does not say where it stands.
            what = (
                "a number that is too large or too small to be checked"
                if error is None
                else "a value that is not allowed"
            )
            return Finding(Problem(field="", message=f"holds {what}"), path, "rule")
        rule: Any = error.validator
        schema = error.schema
        if rule == "required" and breach.name is not None:
            return wording.missing(path, _phrase(schema.get("properties", {}).get(breach.name, True)))
        if rule == "dependentRequired" and breach.name is not None:
            given = next(key for key, names in error.validator_value.items() if breach.name in names)
            message = f"missing; required when {given} is given"
            return Finding(Problem(field=spelled(path), message=message, fix=f"add {spelled(path)}."), path, "missing")
        if breach.name is not None:
            names: Iterable[str] = schema.get("properties", ())
            whole, part = ("tool", "argument") if len(path) == 1 else ("object", "field")
            return wording.unexpected(path, names, whole=whole, part=part)
        phrase = _broken(error)
        full = _phrase(schema) if rule == "type" else phrase
        if "propertyNames" in error.absolute_schema_path:
            phrase = full = f"an object of which each key is {phrase}"
        # What stands at the root is all the arguments, which are not to be quoted.
        found = wording.unfit(path, phrase, full=full, value=error.instance, kind="rule") if path else _at_root(phrase)
        return Finding(found.problem, path, "rule", tuple(respellings(error.instance, (), _choices(schema))))


def _at_root(phrase: str) -> Finding:
    phrase = phrase.replace("an object", "arguments")
    return Finding(Problem(field="", message=f"expected {phrase}", expected=phrase), (), "rule")


def _breaches(error: Any, missing: Counter[Steps]) -> Iterator[Breach]:
    path: Steps = tuple(error.absolute_path)
    instance: Any = error.instance
    rule = error.validator if is_dict(instance) else None
    names: list[str] = []
    if rule == "required":
        # jsonschema reports one error a name, in the order of the list.
        absent = [name for name in error.validator_value if name not in instance]
        place = tuple(error.absolute_schema_path) + path
        names = absent[missing[place] :][:1]
        missing[place] += 1
    elif rule == "dependentRequired":
        needed = [name for given, names in error.validator_value.items() if given in instance for name in names]
        names = [name for name in needed if name not in instance and repr(name) in error.message][:1]
    elif rule in ("additionalProperties", "unevaluatedProperties"):
        names = [name for name in instance if repr(name) in error.message]
    yield from (Breach((*path, name), error, name) for name in names)
    if not names:
        yield Breach(path, error)


def _broken(error: Any) -> str:
    """Return what a broken rule wants."""
    rule, value, schema = error.validator, error.validator_value, error.schema
    if rule in ("anyOf", "oneOf"):
        # Without errors of its parts it fits more than one of them.
        return cut(("" if error.context else "only one of: ") + either(_phrase(part) for part in value))
    if rule == "not":
        return cut(f"something else than {_phrase(value)}")
    if rule == "type":
        return either(_NOUNS.get(name, UNKNOWN) for name in (value if is_list(value) else [value]))
    if rule in ("contains", "minContains", "maxContains"):
        return cut(f"a list that contains {_phrase(schema.get('contains', True))}")
    return "a list of distinct items" if rule == "uniqueItems" else _phrase(schema)


def _phrase(schema: Any, depth: int = 0) -> str:
    """Return what a schema wants, as a noun phrase."""
    if not is_dict(schema) or depth > _MAX_DEPTH:
        return "no such value" if schema is False else UNKNOWN
    if choices := _choices(schema):
        return one_of(choices)
    for several in ("anyOf", "oneOf"):
        if several in schema and "type" not in schema:
            return cut(either(_phrase(part, depth + 1) for part in schema[several]))
    declared = schema.get("type") or next((name for rule, name in _IMPLIED.items() if rule in schema), None)
    names = declared if is_list(declared) else [declared]
    return cut(either(_typed(name, schema) for name in names))


def _typed(name: str | None, schema: Mapping[str, Any]) -> str:
    noun = _NOUNS.get(name or "", UNKNOWN)
    if name in ("integer", "number"):
        return ranged(noun, {key: schema[rule] for rule, key in _LIMITS.items() if rule in schema})
    if name == "string":
        phrase = sized(noun, schema.get("minLength"), schema.get("maxLength"), "character")
        return f"{phrase} matching {cut(schema['pattern'], 120)}" if "pattern" in schema else phrase
    if name == "array":
        return sized(noun, schema.get("minItems"), schema.get("maxItems"), "item")
    if name == "object":
        phrase = sized(noun, schema.get("minProperties"), schema.get("maxProperties"), "key")
        return f"{phrase} with {together(schema['required'])}" if schema.get("required") else phrase
    return noun


def _choices(schema: Any) -> list[Any]:
    if not is_dict(schema):
        return []
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _check_references(schema: Mapping[str, Any]) -> None:
    """Raise for a reference that leads nowhere and for a pattern that is none: jsonschema meets them only in use."""
    specification: Specification[Any] = DRAFT202012
    root: Resource[Any] = specification.create_resource(schema)
    waiting = [(Registry[Any]().resolver_with_root(root), root)]
    while waiting:
        resolver, resource = waiting.pop()
        contents: Any = resource.contents
        if not is_dict(contents):
            continue
        for keyword in ("$ref", "$dynamicRef"):
            if isinstance(contents.get(keyword), str):
                resolver.lookup(contents[keyword])
        for pattern in (contents.get("pattern", ""), *contents.get("patternProperties", ())):
            re.compile(pattern)
        waiting += ((resolver.in_subresource(part), part) for part in resource.subresources())
