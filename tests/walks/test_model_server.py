"""The command that serves a model file: what it says when there is nothing to serve."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.operations.processes.model_server import model


def serve(file: Path) -> tuple[int, str]:
    done = CliRunner().invoke(model, ["serve", str(file)])
    return done.exit_code, done.stderr.strip()


@pytest.mark.parametrize("content", [None, b"", b"not a model"])
def test_what_is_not_a_model_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "judge.gguf"
    if content is not None:
        file.write_bytes(content)
    assert serve(file) == (1, f"cqe: {file} is not a model file in the format GGUF.")


def test_a_model_file_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    file = tmp_path / "judge.gguf"
    file.write_bytes(b"GGUF" + b"\0" * 64)
    code, said = serve(file)
    assert code == 1
    assert f"cqe: {file} could not be loaded: " in said
