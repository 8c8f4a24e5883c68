"""The files in deploy/: processes are confined, proxies keep the path, metrics and settings exist."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import kubernetes_validate
import promql_parser
import pytest
import requests
import yaml
from prometheus_client.core import Metric

from app.core.hosts import Keeper
from app.core.queue import Doorbell
from app.core.runtime import Runtime
from app.core.settings import Settings, variable_of
from app.operations.processes.metrics import registry_of
from app.system import last_backup
from tests.waiting import wait_until
from tests.walks.service_process import free_port

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm"
HELM = Path(sys.executable).parent / "helm"
OBSERVABILITY = DEPLOY / "observability"
UNITS = sorted(DEPLOY.glob("*.service"))


def services_of(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / name).read_text())["services"])


def expressions() -> list[str]:
    panels = json.loads((OBSERVABILITY / "board.json").read_text())["panels"]
    shown = [target["expr"] for panel in panels for target in panel["targets"]]
    return [rule["expr"] for rule in ALERTS] + shown


ALERTS = yaml.safe_load((OBSERVABILITY / "alerts.yaml").read_text())["groups"][0]["rules"]
EXPRESSIONS = expressions()
COMPOSE = services_of("compose.yaml")
PARTS = services_of("compose-parts.yaml")
HOSTS = services_of("compose-hosts.yaml")


def service_section(unit: Path) -> dict[str, str]:
    parser = ConfigParser(interpolation=None, delimiters="=")
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(unit)
    return dict(parser["Service"])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_every_unit_is_confined(unit: Path) -> None:
    section = service_section(unit)
    assert section["User"] == "cqe"
    assert section["LimitCORE"] == "0"
    assert section["NoNewPrivileges"] == "yes"
    assert section["ProtectSystem"] == "strict"
    assert section["SystemCallFilter"] == "@system-service"
    assert section["CapabilityBoundingSet"] == ""
    assert "MemoryMax" in section
    assert set(section["RestrictAddressFamilies"].split()) <= {"AF_UNIX", "AF_INET", "AF_INET6"}


@pytest.mark.parametrize("name", ["cqe-web", "cqe-worker"])
def test_units_reach_their_queue_server_by_its_socket(name: str) -> None:
    environment = service_section(DEPLOY / f"{name}.service")["Environment"]
    command = service_section(DEPLOY / "cqe-queue.service")["ExecStart"]
    assert "CQE_REDIS_URL=unix:///run/cqe-queue/queue.sock" in environment
    assert "--unixsocket /run/cqe-queue/queue.sock --unixsocketperm 700" in command
    assert "--port 0 " in command


def test_the_installer_is_valid_shell() -> None:
    checked = subprocess.run(["sh", "-n", DEPLOY / "install.sh"], check=False, capture_output=True)
    assert checked.stderr == b""


def test_the_installed_command_reads_its_settings_as_the_units_do(tmp_path: Path) -> None:
    settings = tmp_path / "cqe.env"
    url = "postgresql://cqe:$x@h/cqe?connect_timeout=10&options=-c%20lock_timeout%3D30s"
    settings.write_text(
        f"# A comment\n\nCQE_DATABASE_URL={url}\n#CQE_PORT=1\nCQE_STORAGE_URL='s3://b?region=r&x=y'"
    )
    installer = (DEPLOY / "install.sh").read_text()
    script = installer.split("<<'COMMAND'\n")[1].split("\nCOMMAND\n")[0]
    script = script.replace("/etc/cqe.env", str(settings)).partition("\ncd /var/lib/cqe")[0]
    read = subprocess.run(
        ["sh", "-c", f"{script}\nenv"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    lines = [line for line in read.stdout.splitlines() if line.startswith("CQE_")]
    assert sorted(lines) == [
        "CQE_DATABASE_URL=" + url,
        "CQE_DATA_DIR=/var/lib/cqe",
        "CQE_STORAGE_URL=s3://b?region=r&x=y",
    ]
    assert read.stderr == ""


def test_the_installer_installs_every_unit_and_what_the_project_is_built_of() -> None:
    script = (DEPLOY / "install.sh").read_text()
    installed = " ".join(re.findall(r"units='?([a-z -]+)'? ;;", script))
    assert set(installed.split()) == {unit.stem for unit in UNITS}
    [copied] = re.findall(r"^cp -RL (.*?)\"\$sources\"$", script, re.MULTILINE | re.DOTALL)
    for name in re.findall(r'"\$here/([^"]+)"', copied):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("service", [*COMPOSE.values(), *PARTS.values(), *HOSTS.values()])
def test_every_container_is_confined(service: dict[str, Any]) -> None:
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["ulimits"] == {"core": 0}
    assert "mem_limit" in service


def test_the_service_in_a_container_is_published_on_loopback_only() -> None:
    """It answers plain HTTP, because Docker forwards the host's loopback from another address."""
    assert COMPOSE["cqe"]["environment"]["CQE_REQUIRE_TLS"] == "0"
    assert COMPOSE["cqe"]["ports"] == ["127.0.0.1:8000:8000"]
    proxy = COMPOSE["proxy"]["networks"]["inner"]["ipv4_address"]
    assert COMPOSE["cqe"]["environment"]["CQE_TRUSTED_PROXIES"] == f"{proxy}/32"


@pytest.mark.parametrize("services", [PARTS, HOSTS])
def test_the_queue_server_of_the_containers_needs_a_password(services: dict[str, Any]) -> None:
    assert "requirepass $$PASSWORD" in services["queue"]["command"][-1]
    assert "ports" not in services["queue"]
    for name in ("web", "worker"):
        url = services[name]["environment"]["CQE_REDIS_URL"]
        assert url.startswith("redis://:${CQE_QUEUE_PASSWORD:?")


def test_replicas_share_no_folder_and_settle_on_one_database() -> None:
    for name in ("web", "worker"):
        assert "volumes" not in HOSTS[name]
        assert HOSTS[name]["deploy"] == {"replicas": 2}
        for shared in ("CQE_DATABASE_URL", "CQE_STORAGE_URL", "CQE_MASTER_KEYS"):
            assert HOSTS[name]["environment"][shared].startswith(f"${{{shared}:?")


needs_helm = pytest.mark.skipif(not HELM.exists(), reason="helm is not installed")


@pytest.fixture(scope="module")
def manifests() -> list[dict[str, Any]]:
    """Manifests that the chart renders from its default values, with KEDA and an ingress."""
    values = ["--set", "workers.speech.autoscaling.enabled=true", "--set", "ingress.enabled=true"]
    rendered = subprocess.run(
        [HELM, "template", "cqe", CHART, *values], check=True, capture_output=True, text=True
    )
    return [manifest for manifest in yaml.safe_load_all(rendered.stdout) if manifest]


@needs_helm
def test_the_chart_is_valid() -> None:
    checked = subprocess.run(
        [HELM, "lint", "--strict", CHART], check=False, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


@needs_helm
def test_manifests_of_the_chart_follow_the_schema_of_kubernetes(
    manifests: list[dict[str, Any]],
) -> None:
    known = [manifest for manifest in manifests if manifest["kind"] != "ScaledObject"]
    for manifest in known:
        kubernetes_validate.validate(manifest, "1.37", strict=True)
    kinds = {manifest["kind"] for manifest in known}
    assert kinds == {"Deployment", "Service", "PodDisruptionBudget", "Job", "Ingress"}


@needs_helm
def test_every_pod_of_the_chart_is_confined(manifests: list[dict[str, Any]]) -> None:
    pods = [
        manifest["spec"]["template"]["spec"]
        for manifest in manifests
        if "template" in manifest["spec"]
    ]
    assert len(pods) == 4
    for pod in pods:
        [container] = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@needs_helm
def test_every_deployment_of_the_chart_is_probed_and_spread_over_nodes(
    manifests: list[dict[str, Any]],
) -> None:
    deployments = [manifest for manifest in manifests if manifest["kind"] == "Deployment"]
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        [container] = pod["containers"]
        assert {"readinessProbe", "livenessProbe"} <= container.keys()
        [constraint] = pod["topologySpreadConstraints"]
        assert constraint["labelSelector"] == deployment["spec"]["selector"]


@needs_helm
def test_scaled_pools_ask_prometheus_for_metrics_that_exist(
    manifests: list[dict[str, Any]], exposed: list[Metric]
) -> None:
    [scaled] = [manifest for manifest in manifests if manifest["kind"] == "ScaledObject"]
    [trigger] = scaled["spec"]["triggers"]
    query = trigger["metadata"]["query"]
    promql_parser.parse(query)
    assert set(re.findall(r"cqe_\w+", query)) <= {metric.name for metric in exposed}
    [target] = [
        manifest
        for manifest in manifests
        if manifest["metadata"]["name"] == scaled["spec"]["scaleTargetRef"]["name"]
        and manifest["kind"] == "Deployment"
    ]
    assert "replicas" not in target["spec"]


def test_every_setting_in_deploy_exists() -> None:
    known = {variable_of(declared) for declared in fields(Settings)}
    # Variables of the compose files themselves.
    known |= {"CQE_DOMAIN", "CQE_QUEUE_PASSWORD"}
    for file in (file for file in DEPLOY.rglob("*") if file.is_file()):
        assert set(re.findall(r"CQE_[A-Z_]+[A-Z]", file.read_text())) <= known, file


def test_proxies_pass_the_path_on_as_it_is() -> None:
    """The path is signed; a path behind the address would replace a part of it."""
    assert re.findall(r"proxy_pass (\S+);", (DEPLOY / "proxy/nginx.conf").read_text()) == [
        "http://cqe"
    ]
    assert "reverse_proxy 127.0.0.1:8000 {" in (DEPLOY / "proxy/Caddyfile").read_text()


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_accepts_its_configuration(tmp_path: Path) -> None:
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"),
            *("-subj", "/CN=cqe.example.com", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    text = (DEPLOY / "proxy/nginx.conf").read_text()
    site = tmp_path / "site.conf"
    site.write_text(text.replace("/etc/letsencrypt/live/cqe.example.com", str(tmp_path)))
    main = tmp_path / "nginx.conf"
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "".join(f"{kind}_temp_path {tmp_path}/{kind}; " for kind in kinds)
    main.write_text(
        f"pid {tmp_path}/pid; events {{}} http {{ access_log off; {folders} include {site}; }}"
    )
    checked = subprocess.run(
        ["nginx", "-t", "-p", str(tmp_path), "-e", "stderr", "-c", str(main)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


needs_caddy = pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not installed")


@needs_caddy
@pytest.mark.parametrize("name", ["Caddyfile", "Caddyfile.hosts", "Caddyfile.plain-hosts"])
def test_caddy_accepts_its_configuration(name: str) -> None:
    checked = subprocess.run(
        ["caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "proxy" / name],
        env={**os.environ, "CQE_DOMAIN": "cqe.example.com"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr


@contextmanager
def a_host(ready_status: int) -> Iterator[str]:
    """A host that answers `/health/ready` with this status, and everything with its address."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(ready_status if self.path == "/health/ready" else 200)
            self.end_headers()
            self.wfile.write(address.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    address = f"127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()


@needs_caddy
def test_the_proxy_of_plain_hosts_leaves_out_one_that_is_not_ready(tmp_path: Path) -> None:
    site = f"http://127.0.0.1:{free_port()}"
    text = (DEPLOY / "proxy/Caddyfile.plain-hosts").read_text()
    with a_host(200) as ready, a_host(503) as unready:
        text = text.replace("10.0.0.11:8000 10.0.0.12:8000", f"{ready} {unready}")
        file = tmp_path / "Caddyfile"
        file.write_text("{\n\tadmin off\n}\n" + text.replace("\ncqe.example.com {", f"\n{site} {{"))
        proxy = subprocess.Popen(
            ["caddy", "run", "--adapter", "caddyfile", "--config", file],
            env={**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: asked(site) == {ready})
        finally:
            proxy.kill()
            proxy.wait()


def asked(site: str) -> set[str]:
    """Return the hosts that answered some requests; none if a proxy does not answer."""
    try:
        return {requests.get(site, timeout=5).text for _ in range(6)}
    except requests.ConnectionError:
        return set()


@pytest.fixture
def exposed(runtime: Runtime) -> list[Metric]:
    """The metric families that a host exposes which has made a backup and has a queue server."""
    folder = runtime.settings.data_dir
    last_backup.note(folder, folder, 1)
    runtime = replace(runtime, doorbell=Doorbell("redis://127.0.0.1:1/0"))
    return list(registry_of(runtime, Keeper(runtime.db, "figures")).collect())


def samples_of(metric: Metric) -> set[str]:
    """The names under which a metric may be queried."""
    suffixes = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}
    return {metric.name + suffix for suffix in suffixes.get(metric.type, [""])}


def test_alerts_and_board_ask_for_metrics_that_exist(exposed: list[Metric]) -> None:
    known = {name for metric in exposed for name in samples_of(metric)}
    names = set(re.findall(r"\bcqe_[a-z_]+\b", " ".join(EXPRESSIONS)))
    assert names <= known
    # Nothing is exposed in vain.
    assert [metric.name for metric in exposed if not samples_of(metric) & names] == []


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expressions_of_alerts_and_board_are_valid(expression: str) -> None:
    promql_parser.parse(expression.replace("$__rate_interval", "5m"))


def test_every_alert_says_what_to_do() -> None:
    assert [rule["alert"] for rule in ALERTS if not rule["annotations"].get("description")] == []


def test_every_metric_is_documented(exposed: list[Metric]) -> None:
    page = (ROOT / "docs" / "monitoring.md").read_text()
    for metric in exposed:
        name = metric.name + ("_total" if metric.type == "counter" else "")
        assert f"`{name}`" in page


def test_alerts_name_label_values_that_exist(exposed: list[Metric]) -> None:
    [subscriptions] = [metric for metric in exposed if metric.name == "cqe_webhook_subscriptions"]
    known = {sample.labels["status"] for sample in subscriptions.samples} | {"5xx"}
    text = (OBSERVABILITY / "alerts.yaml").read_text()
    assert set(re.findall(r'status="([^"]+)"', text)) <= known
