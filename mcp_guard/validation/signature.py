"""A tool's signature as a pydantic model, the way the server's library reads it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, ConfigDict, PydanticUserError, create_model
from pydantic import Field as ModelField
from pydantic_core import SchemaError

from mcp_guard.contract import function_name
from mcp_guard.faults import ConfigurationError
from mcp_guard.redaction import is_sensitive_annotation, is_sensitive_name
from mcp_guard.validation.shape import Field, Node, Shape, is_path

# A value that these accept as strict JSON is the very value that lax validation of the raw argument gives.
_SAME_EITHER_WAY = frozenset(
    {"any", "str", "int", "float", "bool", "none", "date", "time", "datetime", "uuid", "enum", "nullable", "default"}
    | {"list", "set", "frozenset", "tuple", "dict", "typed-dict", "typed-dict-field", "model", "model-fields"}
    | {"model-field", "function-after", "literal", "definitions", "definition-ref"}
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that a caller may send.

    Attributes:
        name: Its name in the function.
        attribute: Its name in the model.
        field: Where its value is looked for, and what is declared.
        keys: The arguments that its value may come in.
        sensitive: Whether its value must not be shown.
    """

    name: str
    attribute: str
    field: Field
    keys: frozenset[str]
    sensitive: bool


class Signature:
    """The parameters of a function, compiled.

    Args:
        fn: The function; partials, bound methods and wrappers with `__wrapped__` are seen through.
        hidden: Parameters that the server fills.

    Attributes:
        model: The model of the arguments.
        shape: Its core schema.
        parameters: The parameters that are left, in the order of the signature.
        values_agree: Whether strict JSON validation gives the very values that lax validation of raw arguments does.
        sensitive_fields: Names of fields at any depth whose declared type says that their values must not be shown.

    Raises:
        ConfigurationError: If pydantic can make no model of it, or a parameter cannot be passed by name.
    """

    def __init__(self, fn: Callable[..., Any], hidden: frozenset[str]) -> None:
        name = function_name(fn)
        declared = _parameters(fn, name, hidden)
        names = {parameter.name for parameter in declared}
        attributes = {_attribute(parameter.name, names): parameter for parameter in declared}
        self.model = _model(name, attributes)
        self.shape = Shape(self.model.__pydantic_core_schema__)
        fields = {field.name: field for field in self.shape.fields()}
        self.parameters = tuple(
            _parameter(parameter, attribute, fields[attribute]) for attribute, parameter in attributes.items()
        )
        self.values_agree = all(map(_agrees, self.shape.nodes()))
        self.sensitive_fields = _sensitive_fields(self.shape)


def _parameters(fn: Callable[..., Any], name: str, hidden: frozenset[str]) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(fn, eval_str=True)
    except (NameError, TypeError, ValueError, SyntaxError) as error:
        raise ConfigurationError(f"{name}: its signature cannot be read: {error}") from error
    kept = [parameter for parameter in signature.parameters.values() if parameter.name not in hidden]
    for parameter in kept:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigurationError(
                f"{name}: {parameter.name!r} is positional-only, and arguments come by name; drop the / after it"
            )
    return kept


def _attribute(name: str, names: Iterable[str]) -> str:
    """Return the name in the model: pydantic takes no underscore in front, and its own names only with a warning."""
    if not name.startswith("_") and not hasattr(BaseModel, name):
        return name
    attribute = f"field_{name}"
    while attribute in names:
        attribute = f"field_{attribute}"
    return attribute


def _model(function: str, attributes: Mapping[str, inspect.Parameter]) -> type[BaseModel]:
    definitions: dict[str, Any] = {}
    for attribute, parameter in attributes.items():
        annotation = Any if parameter.annotation is parameter.empty else parameter.annotation
        if attribute != parameter.name:
            annotation = Annotated[annotation, ModelField(alias=parameter.name)]
        definitions[attribute] = annotation if parameter.default is parameter.empty else (annotation, parameter.default)
    try:
        model: type[BaseModel] = create_model(
            f"{function}Arguments", __config__=ConfigDict(arbitrary_types_allowed=True), **definitions
        )
        model.model_rebuild()
    except (PydanticUserError, SchemaError, NameError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{function}: pydantic can make no model of its parameters: {error}") from error
    return model


def _parameter(parameter: inspect.Parameter, attribute: str, field: Field) -> Parameter:
    keys = frozenset(str(path[0]) for path in field.paths)
    return Parameter(
        parameter.name,
        attribute,
        field,
        keys,
        sensitive=any(map(is_sensitive_name, (parameter.name, *keys))) or is_sensitive_annotation(parameter.annotation),
    )


def _agrees(node: Node) -> bool:
    if node["type"] == "literal":
        return all(type(member) in (str, int, bool, NoneType) for member in node["expected"])
    if node["type"] == "model" and node.get("custom_init"):
        return False
    return node["type"] in _SAME_EITHER_WAY or is_path(node)


def _sensitive_fields(shape: Shape) -> frozenset[str]:
    names: set[str] = set()
    for node in shape.nodes():
        if node["type"] in ("model", "dataclass", "typed-dict") and "fields" in shape.core(node):
            annotations = _annotations(node["cls"])
            for field in shape.fields(node):
                if is_sensitive_annotation(annotations.get(field.name)):
                    names.update((field.name, *(str(path[-1]) for path in field.paths)))
    return frozenset(names)


def _annotations(cls: type[Any]) -> Mapping[str, Any]:
    if issubclass(cls, BaseModel):
        return {
            name: Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            for name, field in cls.model_fields.items()
        }
    try:
        return get_type_hints(cls, include_extras=True)
    except NameError:
        # A name that pydantic found in a namespace of its own; what the annotations say stays unknown.
        return {}
