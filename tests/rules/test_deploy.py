"""The files in deploy/: every process is confined, and no queue server is open to others."""

from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
SERVICES: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


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


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert service["ulimits"] == {"core": 0}
    assert "mem_limit" in service


def test_the_queue_server_of_the_containers_needs_a_password() -> None:
    assert "requirepass $$PASSWORD" in SERVICES["queue"]["command"][-1]
    assert "ports" not in SERVICES["queue"]
    for name in ("web", "worker"):
        url = SERVICES[name]["environment"]["CQE_REDIS_URL"]
        assert url.startswith("redis://:${CQE_QUEUE_PASSWORD:?")
