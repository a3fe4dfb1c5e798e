"""What a signature accepts, as pydantic-core sees it: where an error is, and what is declared there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

from pydantic_core import SchemaValidator
from typing_extensions import TypeIs

Node = Mapping[str, Any]
"""One part of a pydantic-core schema (`pydantic_core.core_schema`)."""

Steps = tuple[str | int, ...]
"""Keys and indexes from the arguments down to a value."""

Location = tuple[str | int, ...]
"""Where pydantic says that an error is: steps, and the names of union branches between them."""

LISTS = frozenset({"list", "set", "frozenset", "tuple", "generator", "deque"})
MAPPINGS = frozenset({"dict", "ordered-dict", "frozen-dict", "counter"})
OBJECTS = frozenset({"model-fields", "typed-dict", "dataclass-args", "named-tuple"})

NOTHING: Any = object()
"""Stands for a value that is not there."""

# What a JSON value passes on its way to the part that says its type, and the key of the next part.
_WRAPPERS = {
    "custom-error": "schema",
    "dataclass": "schema",
    "default": "schema",
    "definitions": "schema",
    "function-after": "schema",
    "function-before": "schema",
    "function-wrap": "schema",
    "json-or-python": "json_schema",
    "lax-or-strict": "strict_schema",
    "model": "schema",
    "nullable": "schema",
}
_AUTHOR_FUNCTIONS = frozenset({"function-before", "function-plain", "function-wrap"})
_POSITIONAL = frozenset({"tuple", "named-tuple"})
_ANY_INDEX = -1
_NOT_SCHEMAS = frozenset({"cls", "config", "default", "expected", "function", "members", "metadata", "serialization"})


def is_dict(value: object) -> TypeIs[dict[Any, Any]]:
    """Return whether a value is a dict, of whatever."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeIs[list[Any]]:
    """Return whether a value is a list, of whatever."""
    return isinstance(value, list)


def look_up(value: Any, path: Steps) -> Any:
    """Return the value at a path through dicts and lists, or `NOTHING`."""
    for step in path:
        if is_dict(value):
            value = value.get(step, NOTHING)
        elif is_list(value) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return NOTHING
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """A named part of an object.

    Attributes:
        name: Its name in Python.
        paths: Where its value is looked for, best first; one key, or several for an alias path.
        node: What is declared.
        required: Whether it has to be given.
    """

    name: str
    paths: tuple[Steps, ...]
    node: Node
    required: bool

    @property
    def wire(self) -> str:
        """The key that a caller should send, as the published schema has it."""
        return str(next((path[0] for path in self.paths if len(path) == 1), self.paths[0][0]))

    def given_in(self, values: Any) -> Steps | None:
        """Return the path that the value is taken from, or None if it is left out."""
        return next((path for path in self.paths if look_up(values, path) is not NOTHING), None)


@dataclass(frozen=True, slots=True)
class Fork:
    """A union on the way to an error.

    Attributes:
        depth: How many elements of the error's location lead here; the next one names the branch.
        steps: How many steps through the data lead here.
        node: What is declared here, with what is wrapped around the union.
    """

    depth: int
    steps: int
    node: Node


class Place(NamedTuple):
    """What an error's location means.

    Attributes:
        path: Where the value is in the arguments, in the caller's spelling.
        node: What is declared there; None where nothing is.
        parent: The object or list that the last step was looked for in.
        forks: The unions on the way, outermost first.
        of_key: Whether it is the key of a mapping that is wrong.
        authored: Whether a before, plain or wrap validator of the author's stands at this place, or above it.
    """

    path: Steps
    node: Node | None
    parent: Node | None = None
    forks: tuple[Fork, ...] = ()
    of_key: bool = False
    authored: Literal["here", "above"] | None = None


class Shape:
    """The core schema of a model, with its definitions at hand.

    Args:
        schema: A model's `__pydantic_core_schema__`.
    """

    def __init__(self, schema: Node) -> None:
        self.root = schema
        self._definitions: dict[str, Node] = {part["ref"]: part for part in schema.get("definitions", ())}
        self._fields: dict[int, tuple[Field, ...]] = {}
        self._labels: dict[int, dict[str, Node]] = {}
        self._unwrapped: dict[int, tuple[Node, bool]] = {}

    def fields(self, node: Node | None = None) -> tuple[Field, ...]:
        """Return the fields of an object, or of the arguments as a whole."""
        core = self.core(self.root if node is None else node)
        known = self._fields.get(id(core))
        if known is None:
            declared = core["fields"]
            named = declared.items() if is_dict(declared) else ((field["name"], field) for field in declared)
            total = core.get("total", True)
            known = self._fields[id(core)] = tuple(_field(name, field, total=total) for name, field in named)
        return known

    def core(self, node: Node) -> Node:
        """Return the part that says the type, without what is wrapped around it."""
        return self.unwrapped(node)[0]

    def layers(self, node: Node) -> Iterator[Node]:
        """Yield a part and what it is wrapped around, down to the part that says the type."""
        inner: Node | None = node
        while inner is not None:
            yield inner
            inner = self._inner(inner)

    def unwrapped(self, node: Node) -> tuple[Node, bool]:
        """Return the part that says the type, and whether an author's validator is around it that sees raw values."""
        known = self._unwrapped.get(id(node))
        if known is None:
            layers = list(self.layers(node))
            authored = any(layer["type"] in _AUTHOR_FUNCTIONS and not _is_of_pydantic(layer) for layer in layers)
            known = self._unwrapped[id(node)] = (layers[-1], authored)
        return known

    def is_nullable(self, node: Node) -> bool:
        """Return whether `null` is accepted beside the type."""
        return any(layer["type"] == "nullable" for layer in self.layers(node))

    def leaves(self, node: Node) -> Iterator[Node]:
        """Yield what a value may be: the type, or those of a union's branches."""
        core = self.core(node)
        if core["type"] == "union":
            for choice in choices_of(core):
                yield from self.leaves(choice)
        else:
            yield core

    def nodes(self, schema: Node | None = None) -> Iterator[Node]:
        """Yield every part of a schema once, definitions included, but not what pydantic makes a `Path` of."""
        seen: set[int] = set()
        waiting: list[object] = [self.root if schema is None else schema]
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            if is_dict(part):
                if isinstance(kind := part.get("type"), str):
                    yield part
                    if kind == "definition-ref":
                        waiting.append(self._definitions.get(part["schema_ref"]))
                    if is_path(part):
                        continue
                waiting += [value for key, value in part.items() if key not in _NOT_SCHEMAS]
            elif is_list(part) or isinstance(part, tuple):
                waiting += part

    def locate_all(self, locations: Iterable[Location]) -> Iterator[Place]:
        """Yield what the locations of errors mean; thousands that differ only by an index cost little."""
        routes: dict[Location, tuple[tuple[Any, ...], tuple[int, ...]]] = {}
        for location in locations:
            kind = tuple([step if isinstance(step, str) else _ANY_INDEX for step in location])
            route = routes.get(kind)
            if route is None:
                place, steps, has_positions = self._follow(location)
                if not has_positions:
                    routes[kind] = (place[1:], steps)
                yield place
            else:
                meaning, steps = route
                yield Place(tuple([location[step] for step in steps]), *meaning)

    def locate(self, location: Location) -> Place:
        """Return what an error's location means: its steps through the data, without the names of union branches."""
        return self._follow(location)[0]

    def _follow(self, location: Location) -> tuple[Place, tuple[int, ...], bool]:
        """Return the place, which elements are steps, and whether what is declared hangs on an index."""
        node: Node | None = self.root
        parent: Node | None = None
        steps: list[int] = []
        forks: list[Fork] = []
        author_at, of_key, has_positions, at = -1, False, False, 0
        while True:
            core = None
            if node is not None:
                core, authored = self.unwrapped(node)
                author_at = len(steps) if authored else author_at
            if at == len(location):
                break
            taken = 1
            if core is None:
                node, of_key = None, False
            elif core["type"] == "json":
                node, taken = core.get("schema"), 0
                continue
            elif node is not None and core["type"] in ("union", "tagged-union"):
                if core["type"] == "union":
                    forks.append(Fork(at, len(steps), node))
                node = self._branch(core, str(location[at]))
                at += 1
                continue
            else:
                has_positions = has_positions or core["type"] in _POSITIONAL
                of_key = core["type"] in MAPPINGS and location[at + 1 : at + 2] == ("[key]",)
                parent = core
                node, taken = self._below(core, location[at:], of_key=of_key)
            steps += range(at, at + taken)
            at += taken + of_key
        path = tuple(location[step] for step in steps)
        where: Literal["here", "above"] = "here" if author_at == len(path) else "above"
        place = Place(path, node, parent, tuple(forks), of_key, where if author_at >= 0 else None)
        return place, tuple(steps), has_positions

    def _inner(self, node: Node) -> Node | None:
        kind = node["type"]
        if kind == "definition-ref":
            return self._definitions.get(node["schema_ref"])
        if kind == "chain":
            first: Node = node["steps"][0]
            return first
        key = _WRAPPERS.get(kind)
        return None if key is None else node[key]

    def _below(self, core: Node, location: Location, *, of_key: bool) -> tuple[Node | None, int]:
        """Return what is declared one step down, and how many elements of the location that step takes."""
        kind, element = core["type"], location[0]
        if kind == "named-tuple" and isinstance(element, int):
            return self.fields(core)[element].node, 1
        if kind in OBJECTS:
            for field in self.fields(core):
                for path in (*field.paths, (field.name,)):
                    if location[: len(path)] == path:
                        return field.node, len(path)
            return None, 1
        if kind in MAPPINGS:
            return core.get("keys_schema" if of_key else "values_schema"), 1
        if kind in LISTS and isinstance(element, int):
            return item_node(core, element), 1
        return None, 1

    def _branch(self, union: Node, label: str) -> Node | None:
        if union["type"] == "tagged-union":
            return tagged_choice(union, label)
        labels = self._labels.get(id(union))
        if labels is None:
            labels = self._labels[id(union)] = {}
            for choice in union["choices"]:
                node, label_of_node = (choice, self._title(choice)) if is_dict(choice) else choice
                labels.setdefault(label_of_node, node)
        return labels.get(label)

    def _title(self, node: Node) -> str:
        """Return the name that pydantic-core gives to a union's branch in the locations of errors."""
        schema: Any = {"type": "definitions", "schema": node, "definitions": list(self._definitions.values())}
        return SchemaValidator(schema).title


def choices_of(union: Node) -> list[Node]:
    """Return the branches of a union, without their labels."""
    return [choice if is_dict(choice) else choice[0] for choice in union["choices"]]


def tagged_choice(union: Node, tag: str) -> Node | None:
    """Return the branch of a tagged union that a tag chooses."""
    for key, choice in union["choices"].items():
        if tag == str(key.value if isinstance(key, Enum) else key):
            return choice if is_dict(choice) else None
    return None


def item_node(core: Node, index: int) -> Node | None:
    """Return what is declared for an item of a list or tuple."""
    items: Any = core.get("items_schema")
    if not is_list(items):
        return items  # type: ignore[no-any-return]  # a schema is a dict of anything
    if not items:
        return None
    return items[index] if index < len(items) else items[core.get("variadic_item_index", -1)]  # type: ignore[no-any-return]


def is_path(node: Node) -> bool:
    """Return whether a part is how pydantic declares a `Path`."""
    if node["type"] != "lax-or-strict":
        return False
    cls: Any = node["strict_schema"].get("python_schema", {}).get("cls")
    return isinstance(cls, type) and issubclass(cls, PurePath)


def _field(name: str, field: Node, *, total: bool) -> Field:
    required = field.get("required", total and field["schema"]["type"] != "default")
    return Field(name, _paths(field.get("validation_alias") or name), field["schema"], required)


def _paths(alias: Any) -> tuple[Steps, ...]:
    if isinstance(alias, str):
        return ((alias,),)
    return tuple(tuple(path) for path in (alias if is_list(alias[0]) else [alias]))


def _is_of_pydantic(node: Node) -> bool:
    function: Any = node["function"]
    function = function["function"] if is_dict(function) else function
    return str(getattr(function, "__module__", "")).partition(".")[0] in ("pydantic", "pydantic_core")
