"""Folders of others: no link, no FIFO and no device is read, and nothing outside of the folder."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.storage.untrusted import UntrustedFolder


def make_link(file: Path) -> None:
    file.symlink_to(file.parents[1] / "secret")


def make_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(file))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder next to a secret."""
    (tmp_path / "secret").write_text("key")
    made = tmp_path / "in"
    made.mkdir()
    return made


def test_a_regular_file_is_read_whatever_leads_to_the_folder(folder: Path) -> None:
    (folder / "week").mkdir()
    (folder / "week" / "a.txt").write_text("text")
    other = folder.parent / "other"
    other.symlink_to(folder)
    with UntrustedFolder(other).open(other / "week" / "a.txt") as file:
        assert file.read() == b"text"


@pytest.mark.parametrize("follow_links", [False, True])
@pytest.mark.parametrize("make", [os.mkfifo, make_socket, Path.mkdir])
def test_what_is_not_a_regular_file_is_refused_at_once(
    folder: Path, make: Callable[[Path], None], follow_links: bool
) -> None:
    make(folder / "a.txt")
    with pytest.raises(OSError, match=r"it is not a regular file|No such device"):
        UntrustedFolder(folder, follow_links).open(folder / "a.txt")


def test_a_link_is_followed_only_on_request(folder: Path) -> None:
    make_link(folder / "a.txt")
    with pytest.raises(OSError, match="it is a symbolic link"):
        UntrustedFolder(folder).open(folder / "a.txt")
    with UntrustedFolder(folder, follow_links=True).open(folder / "a.txt") as file:
        assert file.read() == b"key"
    (folder / "zero").symlink_to("/dev/zero")
    with pytest.raises(OSError, match="it is not a regular file"):
        UntrustedFolder(folder, follow_links=True).open(folder / "zero")


def test_no_path_leads_out_of_the_folder(folder: Path) -> None:
    (folder / "up").symlink_to(folder.parent)
    (folder / "week").mkdir()
    for path in ("up/secret", "../secret", "week/../../secret"):
        with pytest.raises(OSError, match=r"link|outside"):
            UntrustedFolder(folder).open(folder / path)
    with pytest.raises(ValueError, match="not in the subpath"):
        UntrustedFolder(folder).open(folder.parent / "secret")


def test_no_descriptor_is_left_open(folder: Path) -> None:
    (folder / "week").mkdir()
    os.mkfifo(folder / "week" / "a.txt")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(OSError, match="regular"):
            UntrustedFolder(folder).open(folder / "week" / "a.txt")
    assert len(os.listdir("/proc/self/fd")) == before
