"""Message templates: plain names in braces, as in `no note at {path}`."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter


class _Unknown:
    """Stands in a template for a value that nobody gave, whatever format is asked for."""

    def __format__(self, _spec: str) -> str:
        return "?"


_UNKNOWN = _Unknown()


def template_fields(template: str) -> set[str]:
    """Return the names that a template shows.

    Raises:
        ValueError: If the template is malformed, or reaches into a value (`{path.name}`, `{path[0]}`, `{}`).
    """
    names: set[str] = set()
    for _, name, _, _ in Formatter().parse(template):
        if name is None:
            continue
        if not name.isidentifier():
            raise ValueError(f"{{{name}}} is not a plain name")
        names.add(name)
    return names


def filled(template: str, *sources: Mapping[str, object]) -> str:
    """Return a template with each name replaced by the value of the first source that has one, else by a `?`."""
    values: dict[str, object] = dict.fromkeys(template_fields(template), _UNKNOWN)
    for source in reversed(sources):
        values.update({name: source[name] for name in values.keys() & source.keys()})
    return template.format_map(values)
