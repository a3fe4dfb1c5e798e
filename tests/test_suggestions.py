from __future__ import annotations

import pytest

from mcp_guard.suggestions import nearest

NAMES = ["lines", "path", "max_chars", "pageToken", "include_hidden"]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("line", "lines"),
        ("Lines", "lines"),
        ("lnies", "lines"),
        ("paths", "path"),
        ("pth", "path"),
        ("maxChars", "max_chars"),
        ("chars_max", "max_chars"),
        ("charsMax", "max_chars"),
        ("max-chars", "max_chars"),
        ("token_page", "pageToken"),
        ("hidden_include", "include_hidden"),
        ("includehidden", "include_hidden"),
    ],
)
def test_a_misspelt_name_leads_to_the_one_that_was_meant(name: str, meant: str) -> None:
    assert nearest(name, NAMES) == meant


@pytest.mark.parametrize("name", ["", "x", "content", "pa", "l" * 100_000, "🜁", "liness" * 5])
def test_a_name_that_is_like_no_other_leads_nowhere(name: str) -> None:
    assert nearest(name, NAMES) is None


def test_nothing_is_guessed_between_equally_near_names() -> None:
    assert nearest("bat", ["cat", "rat"]) is None
    assert nearest("dsc", ["asc", "desc"]) == "desc"


def test_a_name_that_shares_no_letter_is_never_meant() -> None:
    assert nearest("m", ["n"]) is None


def test_the_same_name_in_another_case_wins_over_a_nearer_spelling() -> None:
    assert nearest("ID", ["IDs", "id"]) == "id"


def test_there_may_be_nothing_to_choose_from() -> None:
    assert nearest("lines", []) is None
