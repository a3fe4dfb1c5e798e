"""`True` is not 1: bools that stand where a literal or an enum has numbers to choose from.

Python compares `True` and `1` as equal, so that pydantic takes one for the other there, strict or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any

from mcp_guard.validation.shape import (
    LISTS,
    MAPPINGS,
    OBJECTS,
    Node,
    Shape,
    Steps,
    choices_of,
    is_dict,
    is_list,
    item_node,
    look_up,
    tagged_choice,
)


def may_take_bools(shape: Shape, node: Node) -> bool:
    """Return whether there is a literal or an enum with numbers anywhere in a part."""
    return any(_numbers(part) for part in shape.nodes(node))


def stray_bools(shape: Shape, node: Node, value: Any, path: Steps) -> Iterator[tuple[Steps, Node]]:
    """Yield where in an accepted value a bool stands for a number, and what is declared there.

    Args:
        shape: Where `node` is from.
        node: What is declared for the value.
        value: The raw value.
        path: Where the value is in the arguments.
    """
    core, authored = shape.unwrapped(node)
    kind = core["type"]
    if authored:
        return
    if kind in ("union", "tagged-union"):
        yield from _strays_of_all_branches(shape, core, value, path)
    elif isinstance(value, bool):
        if _numbers(core) and not any(isinstance(member, bool) for member in _members(core)):
            yield path, core
    else:
        for step, part in _parts(shape, core, value):
            yield from stray_bools(shape, part, look_up(value, step), (*path, *step))


def _parts(shape: Shape, core: Node, value: Any) -> Iterator[tuple[Steps, Node]]:
    """Yield the steps from a container to its parts, and what is declared for each."""
    kind = core["type"]
    if kind in LISTS and is_list(value):
        for index in range(len(value)):
            if (item := item_node(core, index)) is not None:
                yield (index,), item
    elif kind in MAPPINGS and is_dict(value):
        for key in value if "values_schema" in core else ():
            yield (key,), core["values_schema"]
    elif kind in OBJECTS and is_dict(value):
        for field in shape.fields(core):
            if (given := field.given_in(value)) is not None:
                yield given, field.node


def _strays_of_all_branches(shape: Shape, union: Node, value: Any, path: Steps) -> Iterator[tuple[Steps, Node]]:
    """Yield the stray bools of the first branch, if every branch that the value fits has some."""
    fitting = [choice for choice in _branches(union, value) if any(_fits(leaf, value) for leaf in shape.leaves(choice))]
    strays = [list(stray_bools(shape, choice, value, path)) for choice in fitting]
    if strays and all(strays):
        yield from [(path, union)] if isinstance(value, bool) else strays[0]


def _branches(union: Node, value: Any) -> list[Node]:
    if union["type"] == "union":
        return choices_of(union)
    discriminator = union["discriminator"]
    if isinstance(discriminator, str) and is_dict(value):
        tagged = tagged_choice(union, str(value.get(discriminator)))
        return [] if tagged is None else [tagged]
    return [choice for choice in union["choices"].values() if is_dict(choice)]


def _fits(leaf: Node, value: Any) -> bool:
    kind = leaf["type"]
    if kind == "any":
        return True
    if isinstance(value, bool):
        return kind == "bool" or bool(_numbers(leaf))
    return kind in LISTS if is_list(value) else kind in MAPPINGS | OBJECTS


def _members(core: Node) -> list[Any]:
    kind = core["type"]
    members: list[Any] = core["expected"] if kind == "literal" else core["members"] if kind == "enum" else []
    return [member.value if isinstance(member, Enum) else member for member in members]


def _numbers(core: Node) -> bool:
    return any(isinstance(member, int | float) and not isinstance(member, bool) for member in _members(core))
