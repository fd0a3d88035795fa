from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.binding import BindingsMap

from viewer.screens.config_keys import (
    TABLES,
    Config,
    ConfigError,
    bindings,
    effective,
    key_name,
    read_config,
)
from viewer.widgets.chrome import footer_items, item_words


def config(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text, "utf-8")
    return read_config(path)


@pytest.mark.parametrize("screen", TABLES)
def test_every_key_of_a_table_is_bound_to_one_action(screen: str) -> None:
    made = BindingsMap([*bindings(screen)])
    for keys in made.key_to_bindings.values():
        assert len(keys) == 1
    assert sum(len(key.keys) for key in TABLES[screen]) == len(made.key_to_bindings)


def test_no_config_file_is_an_empty_config(tmp_path: Path) -> None:
    assert read_config(tmp_path / "none.toml") == Config()


def test_own_keys_replace_those_of_the_table(tmp_path: Path) -> None:
    own = config(tmp_path, 'theme = "nord"\n[keys]\nfold = "enter, v"\n[keys.list]\nexport = "ctrl+o"\n')
    assert own.theme == "nord"
    assert own.keymap == {"transcript.fold": "enter,v", "list.export": "ctrl+o"}
    keys = {key.action: key.keys for key in effective("transcript", own.keymap)}
    assert keys["fold"] == ("enter", "v")
    assert keys["outline"] == ("tab",)
    assert "^o export" in [item_words(item).plain for item in footer_items(effective("list", own.keymap))]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theme = 3", "theme must be a name"),
        ("colour = true", "no setting 'colour'"),
        ("keys = 1", "keys must be a table"),
        ("[keys]\nfly = 'x'", "keys.fly: there is no such action"),
        ("[keys.nowhere]\nfold = 'x'", "config.toml: [keys.nowhere]: there is no such screen; there are list, find, "),
        ("[keys]\nfold = 3", "keys.fold must be keys in quotes"),
        ("[keys]\nfold = ''", "keys.fold must be keys in quotes"),
        ("[keys]\nfold = 'ctrl+banana'", "'ctrl+banana' is not the name of a key"),
        ("[keys]\nfold = 'x,'", "'' is not the name of a key"),
        ("[keys]\nfold = 't'", "the key 't' would do both"),
        ("[keys]\nfold = '?'", "would do both"),
        ("[keys.list]\nexport = 'e'", "would be typed"),
        ("[keys.list]\nfold = 'f2'", "keys.list.fold: there is no such action"),
        ("keys = {list = 1}", "keys.list must be a table"),
        ("[keys", "config.toml"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(tmp_path, text)
    message = str(caught.value)
    assert said in message
    assert message.startswith(str(tmp_path))
    assert "\n" not in message


def test_an_unreadable_config_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(ConfigError, match="directory"):
        read_config(tmp_path / "config.toml")
    (tmp_path / "other.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError):
        read_config(tmp_path / "other.toml")


@given(st.text())
def test_no_config_file_makes_more_than_one_line_of_trouble(text: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "config.toml"
        path.write_text(text, "utf-8", errors="replace")
        try:
            read_config(path)
        except ConfigError as error:
            assert "\n" not in str(error)


def test_keys_are_called_what_people_call_them() -> None:
    assert key_name("question_mark") == "?"
    assert key_name("ctrl+f") == "ctrl+f"
    assert key_name("ctrl+f", short=True) == "^f"
    assert key_name("pagedown") == "pgdn"
    assert key_name("G") == "G"


def test_the_readmes_example_is_a_config_that_works(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    start = readme.index("    # ~/.config/turnlog/config.toml")
    example = readme[start : readme.index("\n\n", start)]
    path = tmp_path / "config.toml"
    path.write_text("\n".join(line[4:] for line in example.split("\n")))
    assert read_config(path).theme == "turnlog-light"
    assert read_config(path).keymap["transcript.fold"] == "enter,v"
