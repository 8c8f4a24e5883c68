"""Webhook address policy: URL form, and every spelling of a non-public address."""

import socket
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from app.core.outgoing_http.addresses import (
    AddressPolicy,
    NameNotResolved,
    UrlRefused,
    is_public,
    resolve,
    unwrapped,
)

STRICT = AddressPolicy()

BAD_FORMS = [
    "",
    "hook",
    "//example.com/hook",
    "http://example.com/hook",
    "ftp://example.com/hook",
    "file:///etc/passwd",
    "gopher://example.com/",
    "https://",
    "https:///hook",
    "https://user@example.com/",
    "https://user:password@example.com/",
    "https://example.com@169.254.169.254/",
    "https://example.com/#fragment",
    "https://example.com/#",
    "https://example.com/a b",
    "https://example.com/\n",
    "https://exam\tple.com/",
    "https://example.com\\@evil.example/",
    "https://example.com:0/",
    "https://example.com:99999/",
    "https://example.com:port/",
    "https://[::1/",
    "https://[fe80::1%25eth0]/",
    "https://exämple.com/",
    "https://ⓔxample.com/",
    "https://exa%6dple.com/",
    "https://-example.com/",
    "https://a..b/",
    f"https://{'a' * 64}.com/",
    "https://example.com/" + "a" * 2048,
]

NOT_PUBLIC = [
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.100.100.200",
    "127.0.0.1",
    "127.255.255.254",
    "168.63.129.16",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::10.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "100::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
    "3fff::1",
    "4000::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
]

PUBLIC = [
    "1.1.1.1",
    "93.184.216.34",
    "172.32.0.1",
    "192.0.1.1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:80b::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]

# Every one of these is a way to write a loopback or metadata address.
HOSTILE_HOSTS = [
    "127.0.0.1",
    "127.1",
    "0",
    "0x7f000001",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "2130706433",
    "017700000001",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:0:0:1]",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "[64:ff9b::a9fe:a9fe]",
    "[2002:a9fe:a9fe::1]",
    "[fd00:ec2::254]",
    "localhost",
    "LOCALHOST",
    "localhost.",
]


@pytest.mark.parametrize("url", BAD_FORMS)
def test_a_url_of_a_bad_form_is_refused(url: str) -> None:
    with pytest.raises(UrlRefused):
        STRICT.parse(url)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_an_address_that_is_not_of_the_open_internet_is_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_open_internet_is_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize("host", HOSTILE_HOSTS)
def test_a_hostile_host_is_refused_however_it_is_written(host: str) -> None:
    with pytest.raises((UrlRefused, NameNotResolved)):
        STRICT.locate(f"https://{host}/hook", timeout_s=2)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "[::ffff:127.0.0.1]"])
def test_a_listed_network_allows_its_addresses_in_every_form(host: str) -> None:
    policy = AddressPolicy((ip_network("127.0.0.0/8"),))
    target, addresses = policy.locate(f"https://{host}:9443/hook", timeout_s=2)
    assert target.port == 9443
    assert unwrapped(addresses[0]) == ip_address("127.0.0.1")


def test_a_listed_network_allows_no_other() -> None:
    policy = AddressPolicy((ip_network("10.1.0.0/16"),))
    target = policy.parse("https://internal.example/")
    policy.judge(target, [ip_address("10.1.2.3")])
    with pytest.raises(UrlRefused):
        policy.judge(target, [ip_address("10.2.0.1")])


def test_one_bad_address_among_good_ones_is_enough_to_refuse() -> None:
    target = STRICT.parse("https://rebinding.example/")
    with pytest.raises(UrlRefused):
        STRICT.judge(target, [ip_address("93.184.216.34"), ip_address("127.0.0.1")])


@pytest.mark.parametrize("port", [1, 22, 80, 8080, 9443])
def test_an_unusual_port_is_refused_at_a_public_address(port: int) -> None:
    target = STRICT.parse(f"https://example.com:{port}/")
    with pytest.raises(UrlRefused, match="443 or 8443"):
        STRICT.judge(target, [ip_address("93.184.216.34")])


@pytest.mark.parametrize("port", ["", ":443", ":8443"])
def test_the_usual_ports_are_taken(port: str) -> None:
    target = STRICT.parse(f"https://example.com{port}/hook?a=b")
    STRICT.judge(target, [ip_address("93.184.216.34")])


def test_plain_http_is_taken_only_where_it_is_allowed() -> None:
    policy = AddressPolicy(allow_http=True)
    target = policy.parse("http://example.com/hook")
    policy.judge(target, [ip_address("93.184.216.34")])
    assert not target.is_tls


def test_a_refusal_names_the_setting_and_no_address() -> None:
    with pytest.raises(UrlRefused) as refused:
        STRICT.locate("https://localhost/", timeout_s=2)
    assert "CQE_WEBHOOK_ALLOWED_CIDRS" in str(refused.value)
    assert "127.0.0.1" not in str(refused.value)


def test_the_host_header_names_the_port_when_it_is_not_the_default() -> None:
    assert STRICT.parse("https://example.com/").netloc == "example.com"
    assert STRICT.parse("https://example.com:8443/").netloc == "example.com:8443"
    assert STRICT.parse("https://[2606:4700::1]:8443/").netloc == "[2606:4700::1]:8443"


def test_a_resolver_that_hangs_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    released = threading.Event()

    def hang(*_: Any, flags: int = 0, **__: Any) -> Any:
        if flags:
            raise socket.gaierror
        released.wait(5)
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with pytest.raises(TimeoutError):
        resolve("slow.example", 0.05)
    released.set()
