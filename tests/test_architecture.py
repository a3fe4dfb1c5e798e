"""The layout that DESIGN promises: what may import what, and how big a thing may get."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import mcp_guard

ROOT = Path(mcp_guard.__file__).parent

LAYERS = (
    "templates",
    "faults",
    "redaction",
    "call",
    "contract",
    "ports",
    "suggestions",
    # What a signature accepts, and what is wrong with arguments.
    "validation",
    "paths",
    # What exceptions become, and how that reads.
    "known_errors",
    "translation",
    "rendering",
    # How a call runs; `Budget` starts the clock that `runtime` keeps.
    "runtime",
    "policies",
    "guard",
    "__init__",
    # The guard loads these by name, on first use.
    "servers",
    "lab",
    "cli",
    "__main__",
)
"""The modules and packages of mcp_guard; each imports only from those above it, and from itself."""

SDKS = {"mcp", "mcp_types", "fastmcp", "uncalled_for"}
MAX_MODULE = 400
MAX_FUNCTION = 60


def name_of(file: Path) -> str:
    """Return the dotted name of a module below `mcp_guard`; `__init__` for the package itself."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


MODULES = {name_of(file): file for file in sorted(ROOT.rglob("*.py"))}


def layer_of(module: str) -> str:
    return module.partition(".")[0]


def is_for_type_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of a module that run, without what only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if is_for_type_checkers(child):
            for other in getattr(child, "orelse", []):
                yield other
                yield from running(other)
        else:
            yield child
            yield from running(child)


def imported(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names that an import statement loads; nothing for another node."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        yield module
        yield from (f"{module}.{alias.name}" for alias in node.names)


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def own_imports(module: str) -> set[str]:
    """Return the modules of mcp_guard that a module loads when it runs."""
    statements = [node for node in running(tree_of(module)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.removeprefix("mcp_guard.") for node in statements for name in imported(node)}
    # `from mcp_guard.faults import Fault` loads the package too, but asks nothing of it.
    asked = {name for node in statements if getattr(node, "module", "") == "mcp_guard" for name in imported(node)}
    of_the_package = {name for name in asked if name != "mcp_guard" and name.removeprefix("mcp_guard.") not in MODULES}
    return (names & MODULES.keys()) | ({"__init__"} if of_the_package else set())


def foreign_imports(module: str) -> set[str]:
    """Return the dotted names that a module imports, also for type checkers."""
    return {name for node in ast.walk(tree_of(module)) for name in imported(node)}


def packages(names: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def outside(*layers: str) -> Iterator[str]:
    """Yield the modules that are not in some layers."""
    yield from (module for module in MODULES if layer_of(module) not in layers)


def test_every_module_has_its_place() -> None:
    assert {layer_of(module) for module in MODULES} == set(LAYERS)


def test_a_module_imports_only_from_above_itself() -> None:
    below = {
        module: {
            other for other in own_imports(module) if LAYERS.index(layer_of(other)) > LAYERS.index(layer_of(module))
        }
        for module in MODULES
    }

    assert {module: others for module, others in below.items() if others} == {}


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {module: own_imports(module) - {module} for module in MODULES}

    assert set(TopologicalSorter(graph).static_order()) == MODULES.keys()


def test_imports_are_absolute() -> None:
    assert [module for module in MODULES if any(name.startswith(".") for name in foreign_imports(module))] == []


def test_only_adapters_and_the_lab_know_a_server_library() -> None:
    assert [module for module in outside("servers", "lab") if packages(foreign_imports(module)) & SDKS] == []


def test_only_the_command_line_knows_its_libraries() -> None:
    assert [module for module in outside("cli") if packages(foreign_imports(module)) & {"cyclopts", "rich"}] == []


def test_only_the_threads_use_private_names_of_anyio() -> None:
    private = {
        module
        for module in MODULES
        if any(name.startswith("anyio.") and "._" in name for name in foreign_imports(module))
    }

    assert private <= {"runtime.threads"}


def test_only_the_command_line_prints() -> None:
    def prints(node: ast.AST) -> bool:
        return (isinstance(node, ast.Call) and ast.unparse(node.func) == "print") or (
            isinstance(node, ast.Attribute) and ast.unparse(node) == "sys.stdout"
        )

    assert [module for module in outside("cli") if any(prints(node) for node in ast.walk(tree_of(module)))] == []


def test_policies_never_import_each_other() -> None:
    policies = {module for module in MODULES if module.startswith("policies.")}

    assert [module for module in policies if own_imports(module) & policies] == []


def test_no_module_is_too_long() -> None:
    lengths = {module: len(file.read_text().splitlines()) for module, file in MODULES.items()}

    assert {module: length for module, length in lengths.items() if length > MAX_MODULE} == {}


def test_every_function_fits_a_screen() -> None:
    lengths = {
        f"{module}.{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {function: length for function, length in lengths.items() if length > MAX_FUNCTION} == {}


def test_importing_the_package_imports_no_server_library_and_nothing_that_is_slow_and_seldom_needed() -> None:
    code = "import sys, mcp_guard; print(*{name.partition('.')[0] for name in sys.modules})"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert "mcp_guard" in loaded
    assert {*SDKS, "jsonschema", "cyclopts", "rich"} & set(loaded) == set()
