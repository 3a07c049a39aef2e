"""The Helm chart without a cluster: Helm's own engine renders it, and the schemas of Kubernetes and KEDA validate it.

The containers' commands are compared with docker-compose.yml, whose services `test_compose` starts as written.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml

from tests.repository import ROOT

helm = pytest.importorskip("helm_python", reason="no Helm for this machine in the package helm-python-sdk")
kubernetes_validate = pytest.importorskip("kubernetes_validate")

CHART = ROOT / "charts/cogitate"
KUBERNETES = ("1.29", "1.32", "1.35", "1.37")
VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "autoscaled": {
        "autoscaling": {"enabled": True},
        "settings": {"COGITATE_LLM": "openai", "COGITATE_WAIT": 0, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://otel:4318"},
    },
    "own servers": {
        "redis": {"state": "rediss://USER:PASSWORD@one:6379/0", "broker": "rediss://USER:PASSWORD@two:6379/0"},
        "host": {"type": "StatefulSet", "command": ["cogitate", "gateway", "--address", "0.0.0.0"], "replicas": 2},
        "imagePullSecrets": ["registry"],
        "nodeSelector": {"pool": "cpu"},
        "tolerations": [{"key": "pool", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "networkPolicy": {"metricsFrom": [], "flowerFrom": [{"podSelector": {"matchLabels": {"app": "ingress"}}}]},
        "valkey": {"storageClassName": "fast"},
    },
    "workers alone": {"host": {"type": "None"}, "flower": {"enabled": False}, "networkPolicy": {"enabled": False}},
}


@cache
def _rendered(values: str) -> list[dict[str, Any]]:
    with helm.Chart.load(str(CHART)) as chart:
        files: Mapping[str, str] = chart.render(json.loads(values), name="demo", namespace="town")
    documents = [yaml.safe_load_all(text) for name, text in files.items() if name.endswith(".yaml")]
    return [document for found in documents for document in found if document]


def rendered(name: str = "defaults") -> list[dict[str, Any]]:
    """Return all objects that Helm renders from the chart with the named values."""
    return _rendered(json.dumps(VALUES[name]))


def one(kind: str, part: str, values: str = "defaults") -> dict[str, Any]:
    """Return the object of a kind that belongs to a component, such as "worker"."""
    (match,) = [made for made in rendered(values) if (made["kind"], component(made)) == (kind, part)]
    return match


def component(made: dict[str, Any]) -> str:
    part: str = made["metadata"]["labels"]["app.kubernetes.io/component"]
    return part


def pods(values: str) -> dict[str, dict[str, Any]]:
    """Return the pod template of each component."""
    return {
        component(made): made["spec"]["template"]
        for made in rendered(values)
        if made["kind"] in ("Deployment", "StatefulSet", "Job")
    }


def test_helm_lint_reports_only_the_missing_icon() -> None:
    found = helm.lint(str(CHART))
    assert found["errors"] == []
    assert [message["error"] for message in found["messages"]] == ["icon is recommended"]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_accepts_every_object(version: str, name: str) -> None:
    checked = 0
    for made in rendered(name):
        if made["kind"] == "ScaledObject":
            continue
        kubernetes_validate.validate(made, version, strict=True)
        checked += 1
    assert checked >= 3


def test_a_field_unknown_to_kubernetes_is_reported() -> None:
    made = json.loads(json.dumps(one("Deployment", "worker")))
    made["spec"]["template"]["spec"]["containers"][0]["resource"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(made, KUBERNETES[-1], strict=True)


def test_keda_scales_only_the_workers() -> None:
    schema = json.loads((ROOT / "tests/fixtures/keda-scaledobject.json").read_text())
    scaled = one("ScaledObject", "worker", "autoscaled")
    jsonschema.validate(scaled, schema)
    workers, flower = one("Deployment", "worker", "autoscaled"), one("Service", "flower", "autoscaled")
    assert scaled["spec"]["scaleTargetRef"]["name"] == workers["metadata"]["name"]
    assert "replicas" not in workers["spec"], "an upgrade would reset the autoscaled number"
    assert one("Deployment", "worker")["spec"]["replicas"] == 2
    (trigger,) = scaled["spec"]["triggers"]
    (port,) = flower["spec"]["ports"]
    assert trigger["metadata"]["url"] == f"http://{flower['metadata']['name']}.town.svc:{port['port']}/demand"
    assert trigger["metadata"]["targetValue"] == variables(workers)["COGITATE_CONCURRENCY"]
    for name in VALUES:
        kinds = {made["kind"] for made in rendered(name)}
        assert "HorizontalPodAutoscaler" not in kinds
        assert ("ScaledObject" in kinds) == (name == "autoscaled")


@pytest.mark.parametrize("name", VALUES)
def test_every_pod_meets_the_restricted_standard(name: str) -> None:
    for part, template in pods(name).items():
        pod = template["spec"]
        assert pod["automountServiceAccountToken"] is False, part
        assert pod["enableServiceLinks"] is False, "a service named flower would set FLOWER_PORT"
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
        assert {kind for volume in pod["volumes"] for kind in volume} <= {"name", "emptyDir", "secret", "configMap"}
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["limits"]["memory"]
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()
            mounted = {mount["name"] for mount in container["volumeMounts"]}
            claimed = {"data"} if part in ("host", "redis") else set()
            assert mounted == {volume["name"] for volume in pod["volumes"]} | claimed


def variables(made: dict[str, Any]) -> dict[str, str]:
    (container,) = made["spec"]["template"]["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in container["env"]}


@pytest.mark.parametrize("part", ["worker", "host", "flower", "redis"])
def test_containers_run_the_commands_of_compose(part: str) -> None:
    service = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"][part]
    (container,) = pods("defaults")[part]["spec"]["containers"]
    command = [*container.get("command", []), *container["args"]]
    composed = shlex.split(service["command"].replace("${AGENTS:-25}", "25").replace("${REDIS_MAXMEMORY:-1gb}", "1gb"))
    if part == "redis":
        at = command.index("--dir")
        del command[at : at + 2]  # the image's own folder in compose
        assert container["image"] == service["image"]
    assert command == composed
    given = {item["name"]: item["value"].replace("@demo-cogitate-redis:", "@redis:") for item in container["env"]}
    fixed = {
        name: str(value)
        for name, value in service["environment"].items()
        if value is not None and not str(value).startswith("${")
    }
    assert fixed.items() <= given.items()
    assert given.keys() - fixed.keys() <= {"COGITATE_CONCURRENCY", "RUN", "DAYS"}
    (secrets,) = [volume["secret"] for volume in pods("defaults")[part]["spec"]["volumes"] if "secret" in volume]
    assert {item["key"] for item in secrets["items"]} == set(service["secrets"])
    assert all(item["key"] == item["path"] for item in secrets["items"])


def test_the_chart_and_compose_share_the_servers_users() -> None:
    files = one("ConfigMap", "redis")["data"]
    assert files == {name: (ROOT / "ops/acl" / name).read_text() for name in ("start.sh", "users.acl")}


def test_settings_and_servers_reach_hosts_and_workers() -> None:
    for part, made in (
        ("worker", one("Deployment", "worker", "autoscaled")),
        ("host", one("Job", "host", "autoscaled")),
    ):
        given = variables(made)
        assert (given["COGITATE_LLM"], given["COGITATE_WAIT"]) == ("openai", "0"), part
        assert given["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://otel:4318", part
    given = variables(one("StatefulSet", "host", "own servers"))
    assert given["COGITATE_REDIS_URL"] == "rediss://host:PASSWORD@one:6379/0"
    assert given["COGITATE_BROKER_URL"] == "rediss://host:PASSWORD@two:6379/0"
    assert "redis" not in pods("own servers")


def test_only_pods_of_the_release_reach_its_server_and_selectors_match_their_pods() -> None:
    for name in VALUES:
        templates = pods(name)
        for made in rendered(name):
            spec = made.get("spec", {})
            selector = spec.get("podSelector", spec.get("selector", {}))
            wanted = selector.get("matchLabels", selector)
            if wanted:
                meets = [
                    part
                    for part, template in templates.items()
                    if wanted.items() <= template["metadata"]["labels"].items()
                ]
                assert meets == [component(made)], (made["kind"], name)
    (peer,) = one("NetworkPolicy", "redis")["spec"]["ingress"][0]["from"]
    assert peer["podSelector"]["matchLabels"] == {
        "app.kubernetes.io/name": "cogitate",
        "app.kubernetes.io/instance": "demo",
    }
    assert one("NetworkPolicy", "worker", "own servers")["spec"]["ingress"] == []
    assert {component(made) for made in rendered() if made["kind"] == "NetworkPolicy"} == pods("defaults").keys()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"worker": {}}, "worker"),
        ({"settings": {"OPENAI_API_KEY": "sk-1"}}, "OPENAI_API_KEY"),
        ({"settings": {"COGITATE_REDIS_URL": "redis://x"}}, "COGITATE_REDIS_URL"),
        ({"redis": {"state": "redis://x"}}, "set both"),
        ({"autoscaling": {"enabled": True}, "flower": {"enabled": False}}, "flower.enabled"),
        ({"autoscaling": {"enabled": True, "minReplicas": 30}}, "more than maxReplicas"),
        ({"host": {"type": "Deployment"}}, "host"),
    ],
)
def test_invalid_values_are_refused(values: dict[str, Any], message: str) -> None:
    with helm.Chart.load(str(CHART)) as chart, pytest.raises(helm.HelmError, match=message):
        chart.render(values, name="demo", namespace="town")


def test_version_and_schema_of_the_chart_are_current() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert set(yaml.safe_load((CHART / "values.yaml").read_text())) == set(
        json.loads((CHART / "values.schema.json").read_text())["properties"]
    ) - {"global"}
