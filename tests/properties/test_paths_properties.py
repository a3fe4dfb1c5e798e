from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from mcp_guard import Within

_STEPS = st.sampled_from(["..", ".", "", "a", "b", "in", "out", "up", "root", "root-evil", "~", "..\\x", "a\0", "C:"])
_PATHS = st.builds(
    lambda lead, steps: lead + "/".join(steps), st.sampled_from(["", "/", "{root}/"]), st.lists(_STEPS, max_size=7)
)


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "root"
        (root / "a" / "b").mkdir(parents=True)
        (root.parent / "root-evil").mkdir()
        (root / "in").symlink_to(root / "a")
        (root / "out").symlink_to(root.parent / "root-evil")
        (root / "a" / "up").symlink_to("..")
        yield root


@given(_PATHS | st.text())
def test_whatever_is_accepted_lies_inside_and_is_a_fixed_point(root: Path, path: str) -> None:
    adapter = TypeAdapter(Annotated[Path, Within(root)])
    try:
        real = adapter.validate_python(path.replace("{root}", str(root)))
    except ValidationError:
        return
    assert real.is_absolute()
    assert os.path.commonpath([os.path.realpath(real), root]) == str(root)
    assert adapter.validate_python(real) == real


@given(st.lists(st.sampled_from(["a", "b", "c", "é", "x y", ".hidden", "in"]), min_size=1, max_size=6))
def test_a_path_of_plain_names_is_always_accepted(root: Path, steps: list[str]) -> None:
    real = TypeAdapter(Annotated[str, Within(root)]).validate_python("/".join(steps))
    assert real == os.path.realpath(root.joinpath(*steps))
