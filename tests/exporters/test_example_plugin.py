"""The example of a plugin, as its users have it: installed into an environment of its own, used, and removed again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from rulesets import small_rules

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "shallowrules-dmn"
COMMAND = "from shallowrules.cli import script; script()"


@pytest.mark.builds
def test_a_plugin_is_installed_used_and_removed(tmp_path):
    environment = tmp_path / "env"
    venv.create(environment, with_pip=False)
    python = Path(sysconfig.get_path("scripts", "venv", vars={"base": str(environment)}), "python")
    places = {"base": str(environment), "platbase": str(environment)}
    site_packages = Path(sysconfig.get_path("purelib", "venv", vars=places))
    ours = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    # Packages come from this environment, an editable install of shallowrules among them.
    (site_packages / "ours.pth").write_text(
        "".join(f"import site; site.addsitedir({path!r})\n" for path in sorted(ours))
    )
    source = shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))

    def run(*command, ok=True):
        done = subprocess.run(
            [str(part) for part in command],
            cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""},
        )  # fmt: skip
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout + done.stderr

    def pip(*arguments):
        return run(sys.executable, "-m", "pip", "--python", python, *arguments)

    small_rules().to_json(tmp_path / "rules.json")
    assert "unknown exporter 'dmn'" in run(python, "-c", COMMAND, "export", "rules.json", "dmn", ok=False)
    pip("install", "-q", "--no-deps", "--no-index", "--no-build-isolation", source)
    listed = run(python, "-c", COMMAND, "exporters")
    [line] = [line for line in listed.splitlines() if " dmn " in f" {line} "]
    assert "shallowrules-dmn" in line
    assert "0.1.0" in line
    text = run(python, "-c", COMMAND, "export", "rules.json", "dmn", "--decision", "segment")
    assert '<decision id="decision" name="segment">' in text
    assert "--hit-policy" in run(python, "-c", COMMAND, "export", "dmn", "--help")
    (tmp_path / "t.csv").write_text("x,n\n" + "0.5,1\n9.5,7\n" * 10)
    run(python, "-c", COMMAND, "run", "t.csv", "-k", "2", "--write", "sql,dmn", "--dmn-hit-policy", "FIRST")
    assert 'hitPolicy="FIRST"' in (tmp_path / "t_rules" / "rules.dmn").read_text()
    said = run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist", source / "tests")
    assert "5 passed" in said or ("4 passed" in said and "pyDMNrules is not installed" in said)
    pip("uninstall", "-q", "-y", "shallowrules-dmn")
    assert "dmn" not in run(python, "-c", COMMAND, "exporters")
