"""Discovery of exporters by entry point, with made-up distributions, and the contract."""

import math
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from rulesets import example_rules

from shallowrules.errors import OptionError, PluginError, ShallowRulesError
from shallowrules.exporters import check_exporter, export, exporter_names, get_exporter, installed_exporters

PLUGINS = Path(__file__).parents[1] / "plugins"
BUILT_IN = [
    *("c", "dbt", "go", "html", "java", "javascript", "markdown", "mermaid", "onnx", "pandas", "pmml", "polars"),
    *("python", "r", "rust", "sql", "svg", "xlsx"),
]


def test_built_in_exporters_are_installed():
    ours = {exporter.name for exporter in installed_exporters() if exporter.distribution == "shallowrules"}
    assert ours == set(BUILT_IN)
    assert ours <= set(exporter_names())


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_exporters_meet_the_contract(name):
    check_exporter(get_exporter(name))


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_option_takes_any_value_or_refuses_it_with_an_error_of_ours(name, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    values = [7, -1, 2.5, math.nan, True, None, "", "x", b"x", object(), [1], ["a"], {"a": 1}, {1: "a"}, {1}, str(file)]
    for option in (each.name for each in fields(get_exporter(name).options)):
        for value in values:
            with suppress(ShallowRulesError, FileNotFoundError):
                assert export(example_rules(), name, **{option: value})


def test_an_option_may_be_called_name():
    assert "int zq(" in export(example_rules(), "c", name="zq")


def test_a_plugin_is_found_and_used(install, monkeypatch):
    monkeypatch.delitem(sys.modules, "shout_exporter", raising=False)  # which another test may have imported
    install("shout", {"shout": "shout_exporter:ShoutExporter"}, version="2.5")
    assert "shout" in exporter_names()
    [found] = [exporter for exporter in installed_exporters() if exporter.name == "shout"]
    assert (found.distribution, found.version) == ("shout", "2.5")
    assert "shout_exporter" not in sys.modules
    assert export(example_rules(), "shout", mark="?").startswith("1?\n")


def test_listing_imports_no_exporter():
    code = (
        "import sys; from shallowrules.exporters import exporter_names; exporter_names();"
        "assert not {'sqlglot', 'jinja2', 'shallowrules.exporters.sql'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_name_lists_the_known():
    with pytest.raises(OptionError, match=r"unknown exporter 'yaml'; use one of: .*markdown, .*python, .*sql"):
        export(example_rules(), "yaml")


def test_one_name_in_two_distributions(install):
    install("first", {"shout": "shout_exporter:ShoutExporter"}, version="1.1")
    install("second", {"shout": "shout_exporter:ShoutExporter"}, version="2.2")
    with pytest.raises(PluginError, match=r"'shout': first 1\.1 .* and second 2\.2 "):
        get_exporter("shout")
    assert [exporter.distribution for exporter in installed_exporters() if exporter.name == "shout"] == [
        "first",
        "second",
    ]
    assert exporter_names().count("shout") == 1
    assert export(example_rules(), "sql")


def test_one_distribution_in_two_places_is_no_clash(install):
    install("shout", {"shout": "shout_exporter:ShoutExporter"}, folder="one")
    install("shout", {"shout": "shout_exporter:ShoutExporter"}, folder="two")
    assert export(example_rules(), "shout")


def test_what_is_installed_or_removed_meanwhile_is_seen(install, tmp_path):
    install("first", {"shout": "shout_exporter:ShoutExporter"})
    os.utime(tmp_path / "site", (0, 0))  # the file system may keep times of some milliseconds only
    path = list(sys.path)
    assert "whisper" not in exporter_names()
    install("second", {"whisper": "shout_exporter:ShoutExporter"})
    sys.path[:] = path
    assert {"shout", "whisper"} <= set(exporter_names())
    os.utime(tmp_path / "site", (1, 1))
    assert "whisper" in exporter_names()
    shutil.rmtree(tmp_path / "site" / "second-1.0.dist-info")
    assert "whisper" not in exporter_names()
    with pytest.raises(OptionError, match="unknown exporter 'whisper'"):
        get_exporter("whisper")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("broken_exporter:Broken", "RuntimeError: broken on purpose"),
        ("no_such_module:Broken", "ModuleNotFoundError"),
        ("shout_exporter:NoSuchClass", "AttributeError"),
    ],
)
def test_a_plugin_that_does_not_import(install, value, reason):
    install("wreck", {"wreck": value, "shout": "shout_exporter:ShoutExporter"}, version="0.3")
    with pytest.raises(PluginError, match=rf"exporter 'wreck' of distribution wreck 0\.3 .*{reason}"):
        export(example_rules(), "wreck")
    assert "wreck" in exporter_names()
    assert export(example_rules(), "shout")


def test_a_plugin_of_another_name(install):
    install("alias", {"whisper": "shout_exporter:ShoutExporter"})
    with pytest.raises(PluginError, match="`name` is 'shout'"):
        get_exporter("whisper")


def test_a_plugins_own_errors_come_through(install):
    install("failing", {"failing": "shout_exporter:FailingExporter"})
    with pytest.raises(TypeError, match="the plugin's own"):
        export(example_rules(), "failing")
    with pytest.raises(IndexError):
        export(example_rules(), "failing", mark="index")


def test_unknown_options_list_the_known(install):
    install("shout", {"shout": "shout_exporter:ShoutExporter"})
    with pytest.raises(OptionError, match="exporter 'shout' has no option 'loud'; its options are: mark"):
        export(example_rules(), "shout", loud=True)


def test_a_plugin_that_returns_no_text(install):
    install("number", {"number": "shout_exporter:NumberExporter"})
    with pytest.raises(PluginError, match="'number' returned int, not str"):
        export(example_rules(), "number")


def test_check_exporter(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGINS))
    import shout_exporter

    check_exporter(shout_exporter.ShoutExporter)
    with pytest.raises(PluginError) as caught:
        check_exporter(shout_exporter.FaultyExporter)
    for fault in ("file_extension", "media_type", "dataclass", r"export(rules, **options)"):
        assert fault in str(caught.value)
    with pytest.raises(PluginError, match="not a class"):
        check_exporter(shout_exporter.ShoutExporter())
    with pytest.raises(PluginError, match="returned int"):
        check_exporter(shout_exporter.NumberExporter)
    with pytest.raises(PluginError, match="two results"):
        check_exporter(shout_exporter.MoodyExporter)
    with pytest.raises(TypeError, match="the plugin's own"):
        check_exporter(shout_exporter.FailingExporter)


def test_options_need_defaults():
    from dataclasses import dataclass

    @dataclass
    class Needy:
        size: int

    class NeedyExporter:
        name, file_extension, media_type, options = "needy", ".txt", "text/plain", Needy

        def export(self, rules, **options):
            return ""

    with pytest.raises(PluginError, match="needs a default; these have none: size"):
        check_exporter(NeedyExporter)
