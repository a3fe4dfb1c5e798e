import json
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from mcp_guard import ConfigurationError, Guard, Within


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a file, a folder, links in and out of it, and a neighbour whose name begins like its own."""
    root = tmp_path / "notes"
    (root / "sub").mkdir(parents=True)
    (root / "a.md").write_text("a")
    (tmp_path / "notes-evil").mkdir()
    (tmp_path / "notes-evil" / "secret").write_text("s")
    (root / "out").symlink_to(tmp_path / "notes-evil")
    (root / "in").symlink_to(root / "sub")
    (root / "self").symlink_to(root / "self")
    (tmp_path / "alias").symlink_to(root)
    return root


def every_way(annotation: Any, value: object) -> Any:
    """Validate as Python and as strict JSON; both must agree, and the result must be valid again."""
    adapter = TypeAdapter(annotation)
    result = adapter.validate_python(value)
    assert adapter.validate_json(json.dumps(value), strict=True) == result
    assert adapter.validate_python(result) == result
    return result


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("a.md", "a.md"),
        ("./sub//../a.md", "a.md"),
        ("new/deep/b.md", "new/deep/b.md"),
        ("in/b.md", "sub/b.md"),
        ("../notes/a.md", "a.md"),
        (".", ""),
        ("", ""),
        ("~draft.md", "~draft.md"),
        ("a\\b.md", "a\\b.md"),
        ("12:30.md", "12:30.md"),
        ("self", "self"),
    ],
)
def test_a_path_inside_reaches_the_body_as_its_absolute_real_path(root: Path, value: str, resolved: str) -> None:
    assert every_way(Annotated[Path, Within(root)], value) == root / resolved
    assert every_way(Annotated[str, Within(root)], value) == str(root / resolved)


def test_an_absolute_path_inside_is_accepted_by_whichever_link_it_comes(root: Path, tmp_path: Path) -> None:
    assert every_way(Annotated[Path, Within(root)], str(root / "a.md")) == root / "a.md"
    assert every_way(Annotated[Path, Within(root)], str(tmp_path / "alias" / "a.md")) == root / "a.md"
    assert Within(tmp_path / "alias").root == root


@pytest.mark.parametrize(
    "value",
    [
        "..",
        "../notes-evil/secret",
        "sub/../../notes-evil/secret",
        "out",
        "out/secret",
        "out/new.md",
        "{root}-evil/secret",
        "{root}/../notes-evil",
        "/etc/passwd",
        "/",
        "self/../../notes-evil",
        "a\0.md",
        "\0",
        "~",
        "~/notes/a.md",
        "..\\notes-evil\\secret",
        "sub\\..\\..\\x",
        "C:\\notes\\a.md",
        "C:/notes/a.md",
        "c:",
        "\\\\server\\share\\a.md",
        "\\a.md",
        "x/" * 3_000,
    ],
)
def test_a_path_that_leads_out_is_refused_without_naming_the_host(root: Path, value: str) -> None:
    value = value.replace("{root}", str(root))
    for annotation in (
        Annotated[Path, Within(root)],
        Annotated[str, Within(root)],
        Annotated[Path | None, Within(root)],
    ):
        with pytest.raises(ValidationError) as refused:
            every_way(annotation, value)
        (problem,) = refused.value.errors()
        assert problem["type"] == "path_outside_root"
        assert problem["msg"] == "the path leaves the folder that this tool may use"


def test_characters_that_no_file_name_can_hold_are_refused(root: Path) -> None:
    with pytest.raises(ValidationError, match="leaves the folder"):
        TypeAdapter(Annotated[Path, Within(root)]).validate_python("\ud800")


def test_the_root_is_resolved_where_it_is_declared(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    within = Within("notes/")
    monkeypatch.chdir("/")
    assert within.root == root
    assert every_way(Annotated[Path, within], "a.md") == root / "a.md"


def test_a_root_may_lie_in_the_home_folder(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root))
    assert Within("~/sub").root == root / "sub"


def test_a_root_may_be_created_later_but_not_as_a_link_to_elsewhere(tmp_path: Path) -> None:
    within = Within(tmp_path / "later")
    assert every_way(Annotated[Path, within], "a.md") == tmp_path / "later" / "a.md"
    (tmp_path / "later").symlink_to(tmp_path)
    with pytest.raises(ValidationError):
        every_way(Annotated[Path, within], "a.md")


def test_a_root_that_is_a_file_is_a_mistake_of_the_author(root: Path) -> None:
    with pytest.raises(ConfigurationError, match="this is a file; name the folder around it"):
        Within(root / "a.md")


@pytest.mark.parametrize("annotation", [list[Path], int, Path | int, dict[str, Path], Any])
def test_what_is_no_path_cannot_be_kept_within(root: Path, annotation: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"list\[Annotated\[Path, Within"):
        TypeAdapter(Annotated[annotation, Within(root)])


def test_none_stays_none_and_lists_hold_contained_paths(root: Path) -> None:
    assert every_way(Annotated[Path | None, Within(root)], None) is None
    assert every_way(Annotated[Annotated[Path, "note"] | None, Within(root)], "a.md") == root / "a.md"
    assert every_way(list[Annotated[Path, Within(root)]], ["a.md"]) == [root / "a.md"]
    assert every_way(Annotated[PurePosixPath, Within(root)], "a.md") == PurePosixPath(root / "a.md")
    assert every_way(Annotated[Annotated[str, Field(max_length=4_096)], Within(root)], "a.md") == str(root / "a.md")


def test_two_declarations_of_one_folder_are_equal(root: Path, tmp_path: Path) -> None:
    assert Within(root) == Within(str(root) + "/") != Within(tmp_path)
    assert len({Within(root), Within(tmp_path / "alias")}) == 1
    assert repr(Within(root)) == f"Within({str(root)!r})"


@pytest.mark.parametrize("bare", [Path, str, Path | None, list[Path]])
def test_the_json_schema_is_that_of_the_bare_annotation(root: Path, bare: Any) -> None:
    within = list[Annotated[Path, Within(root)]] if bare == list[Path] else Annotated[bare, Within(root)]
    for mode in ("validation", "serialization"):
        published = json.dumps(TypeAdapter(within).json_schema(mode=mode))
        assert published == json.dumps(TypeAdapter(bare).json_schema(mode=mode))


@pytest.mark.anyio
async def test_servers_publish_the_bare_schema_and_bodies_get_the_real_path(library: Any, root: Path) -> None:
    Note = Annotated[Path, Within(root)]
    bare, guarded = library.server("bare"), library.server("guarded")
    guard = Guard(guarded)

    @bare.tool()
    def head(path: Path, name: str = "x", other: Path | None = None) -> str:
        return path.read_text()

    @guarded.tool(name="head")
    @guard.reads
    def guarded_head(
        path: Note, name: Annotated[str, Within(root)] = "x", other: Annotated[Path | None, Within(root)] = None
    ) -> str:
        return path.read_text() + name.removeprefix(str(root))

    async with library.connect(bare) as one, library.connect(guarded) as other:
        (wanted,), (published,) = (await one.list_tools()).tools, (await other.list_tools()).tools
        result = await other.call_tool("head", {"path": "sub/../a.md", "name": "b"})
        refused = await other.call_tool("head", {"path": "../notes-evil/secret"})
    assert json.dumps(published.input_schema).replace("guarded_head", "head") == json.dumps(wanted.input_schema)
    assert result.content[0].text == "a/b"
    assert refused.is_error
    assert str(root.parent) not in refused.content[0].text
    assert "PATH_OUTSIDE_ROOT" in json.dumps(refused.meta)
