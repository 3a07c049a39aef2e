"""Hooks before a commit and the hosted workflow run what the project's own commands run, and fetch nothing."""

from __future__ import annotations

import re

import yaml

from tests.repository import ROOT


def test_hooks_run_the_checks_of_make_style_from_the_venv() -> None:
    recipe = re.search(r"^style:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert recipe is not None
    checks = re.findall(r"^\t\$\(BIN\)/([\w -]+?)(?: \.)?$", recipe[1], flags=re.MULTILINE)
    assert len(checks) >= 4
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]
    hooks = repositories[0]["hooks"]
    assert [hook["entry"].replace(" --force-exclude", "") for hook in hooks] == [f".venv/bin/{name}" for name in checks]
    assert {hook["language"] for hook in hooks} == {"system"}


def test_the_hosted_workflow_checks_out_and_runs_the_same_script_as_everybody() -> None:
    (job,) = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"].values()
    checkout, run = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert run["run"].endswith("&& .ci/run")
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
