"""Whether the arguments of a call fit the tool: decided on the raw arguments, before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic_core import PydanticSerializationError, ValidationError, to_json

from mcp_guard.contract import function_name
from mcp_guard.faults import InvalidArguments, PathOutsideRoot, Problem
from mcp_guard.redaction import redact_secrets
from mcp_guard.validation.attempts import MISUSE, Attempt, Validation
from mcp_guard.validation.phrases import wanted
from mcp_guard.validation.problems import OUTSIDE_ROOT, Finding, Wording, spelled
from mcp_guard.validation.repairs import Repair, Repairs, up_to, with_values
from mcp_guard.validation.shape import NOTHING, look_up
from mcp_guard.validation.signature import Signature

LISTED = 5
"""How many problems a fault lists; the rest is counted."""

_MAX_SUGGESTION = 200


@dataclass(frozen=True, slots=True)
class Accepted:
    """Arguments that fit.

    Attributes:
        values: What the body receives, by parameter name, defaults included.
        arguments: The raw arguments by wire name, after repairs; the object that was given where nothing changed.
        repairs: What was repaired.
    """

    values: dict[str, Any]
    arguments: Mapping[str, Any]
    repairs: tuple[Repair, ...] = ()


class Arguments:
    """The compiled check of one tool's arguments.

    Args:
        fn: The function that the server calls.
        tool: The name it is registered under.
        hidden: Parameters that the server fills; a caller cannot send them.
        published: Property names of the published schema; those that are no parameters of `fn` pass unchecked.
        unknown: Whether an argument that the tool does not have is refused or dropped.
        strict: Refuse arguments whose encoding would need a repair.
        input_schema: A JSON Schema (draft 2020-12) that the arguments, as one object, must fit as well.

    Attributes:
        tool: The name the tool is registered under.
        names: The arguments that a caller may send, by wire name.
        wire_names: The wire name of each parameter.
        sensitive: Names of parameters and arguments whose values must never be shown.

    Raises:
        ConfigurationError: If the signature or the `input_schema` cannot work.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        tool: str,
        hidden: frozenset[str] = frozenset(),
        published: frozenset[str] = frozenset(),
        unknown: Literal["refuse", "drop"] = "refuse",
        strict: bool = False,
        input_schema: Mapping[str, Any] | None = None,
    ) -> None:
        self.tool = tool
        signature = Signature(fn, hidden)
        parameters = signature.parameters
        self._shape = signature.shape
        self._nodes = {key: parameter.field.node for parameter in parameters for key in parameter.keys}
        self._keys = frozenset(self._nodes)
        self._passed = published - self._keys
        self._drops_unknown = unknown == "drop"
        self.wire_names: Mapping[str, str] = {parameter.name: parameter.field.wire for parameter in parameters}
        self.names = (*self.wire_names.values(), *sorted(self._passed))
        self.sensitive = frozenset(
            name for parameter in parameters if parameter.sensitive for name in (parameter.name, *parameter.keys)
        )
        self._never_shown = self.sensitive | signature.sensitive_fields
        self._rules = None
        if input_schema is not None:
            from mcp_guard.validation.rules import Rules  # noqa: PLC0415  # 50 ms that only tools with such a schema need

            self._rules = Rules(input_schema, function_name(fn))
        self._validation = Validation(signature, self._rules)
        self._validate_json = self._validation.validate_json
        optional = frozenset(key for p in parameters if not p.field.required for key in p.keys)
        self._repairs = Repairs(self._validation, optional=optional, strict=strict)
        self._one_pass_keys = self._keys if self._validation.is_one_pass else None

    def check(self, arguments: Mapping[str, Any]) -> Accepted | InvalidArguments:
        """Return the values for the body, or the fault that says all that is wrong.

        Args:
            arguments: The raw arguments by wire name.

        Raises:
            Exception: What a validator or a default factory of the author's raises that is not about the value.
        """
        try:
            attempt: Attempt | None = None
            if self._one_pass_keys is not None and arguments.keys() <= self._one_pass_keys:
                try:
                    model = self._validate_json(to_json(arguments, inf_nan_mode="constants"), strict=True)
                except ValidationError as error:
                    # What is wrong may be repaired, and has to be said.
                    attempt = self._validation.refused(dict(arguments), error)
                except PydanticSerializationError:
                    attempt = None
                else:
                    return Accepted(model.__dict__, arguments)
            return self._examined(arguments, attempt)
        except RecursionError as error:
            too_deep = Problem(field="", message="nested too deeply to be checked")
            return _fault([Finding(too_deep, (), "depth")], 1, error)
        except MISUSE as error:
            finding = self._misused(arguments)
            if finding is None:
                raise
            return _fault([finding], 1, error)

    def _examined(self, arguments: Mapping[str, Any], attempt: Attempt | None) -> Accepted | InvalidArguments:
        unknown = [key for key in arguments if key not in self._keys and key not in self._passed]
        if attempt is None:
            attempt = self._validation.attempt({key: value for key, value in arguments.items() if key in self._keys})
        attempt, repairs = self._repairs.apply(attempt)
        if not attempt.fits or (unknown and not self._drops_unknown):
            return self._refusal(attempt, [] if self._drops_unknown else unknown)
        values = self._validation.values(attempt)
        if not repairs and not unknown:
            return Accepted(values, arguments)
        passed = {key: value for key, value in arguments.items() if key in self._passed}
        return Accepted(values, attempt.given | passed, repairs)

    def _refusal(self, attempt: Attempt, unknown: list[str]) -> InvalidArguments:
        wording = Wording(self._shape, attempt.given, self._never_shown)
        findings = [
            wording.unexpected((key,), self.names, whole="tool", part="argument", meant=self.wire_names.get(key))
            for key in unknown[:LISTED]
        ]
        count = len(unknown)
        if attempt.blocked:
            path, message = attempt.blocked
            message = "cannot be read" if wording.hides(path) else message
            findings.append(Finding(Problem(field=spelled(path), message=message), path, "unreadable"))
            count += 1
        findings += [wording.finding(part) for part in attempt.told[:LISTED]]
        count += len(attempt.told) + attempt.unseen
        if self._rules is not None:
            breaches = self._own_breaches(attempt)
            findings += [self._rules.finding(breach, wording) for breach in breaches[:LISTED]]
            count += len(breaches)
        return _fault([self._suggesting(attempt, finding, wording) for finding in findings[:LISTED]], count)

    def _own_breaches(self, attempt: Attempt) -> list[Any]:
        """Return the broken rules at places where the types do not complain already."""
        paths = {misfit.place.path for misfit in attempt.misfits}
        around = {path[:length] for path in paths for length in range(len(path) + 1)}
        return [
            breach
            for breach in attempt.breaches
            if breach.path not in around
            and not any(breach.path[:length] in paths for length in range(len(breach.path)))
        ]

    def _suggesting(self, attempt: Attempt, finding: Finding, wording: Wording) -> Finding:
        """Return the finding with a right value, if one can be told and fits."""
        path = finding.path
        if not finding.candidates or not path or wording.hides(path) or look_up(attempt.given, path) is NOTHING:
            return finding
        around = up_to(attempt.given, path)
        for candidate in finding.candidates:
            text = to_json(candidate).decode()
            if len(text) > _MAX_SUGGESTION or redact_secrets(text) != text:
                continue
            trial = self._validation.trial(with_values(around, {path: candidate}))
            if not trial.blocked and all(failing[: len(path)] != path for failing in trial.failing):
                return replace(finding, problem=replace(finding.problem, suggestion=text))
        return finding

    def _misused(self, arguments: Mapping[str, Any]) -> Finding | None:
        """Return the problem of the argument that makes an author's validator fail, or None if none does."""
        if self._misuses({}):
            return None
        for key, value in arguments.items():
            if key in self._keys and self._misuses({key: value}):
                wording = Wording(self._shape, {key: value}, self._never_shown)
                return wording.said((key,), "", wanted(self._shape, self._nodes[key]), kind="misuse")
        return None

    def _misuses(self, arguments: dict[str, Any]) -> bool:
        try:
            self._validate_json(to_json(arguments, inf_nan_mode="constants"), strict=True)
        except (ValidationError, PydanticSerializationError):
            return False
        except MISUSE:
            return True
        return False


def _fault(findings: list[Finding], count: int, cause: Exception | None = None) -> InvalidArguments:
    first = findings[0].problem
    fault = (PathOutsideRoot if findings[0].kind == OUTSIDE_ROOT else InvalidArguments)(first.message)
    fault.__cause__ = cause
    return fault.told(
        field=first.field or None,
        expected=first.expected,
        received=first.received,
        suggestion=first.suggestion,
        # A fault's fix is a template, and what is quoted in it may have braces.
        fix=None if first.fix is None else first.fix.replace("{", "{{").replace("}", "}}"),
        problems=tuple(finding.problem for finding in findings),
        problem_count=count,
    )
