"""Decoding process: reads a recording from stdin, writes its sound to stdout, reports to stderr.

A play copy, where one is needed, goes to the descriptor that the request names.

The report is one JSON object: `format`, or `error` and `message`.
"""

import json
import os
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

# PyAV loads these at its first stream, when no file can be opened any more.
import av.subtitles.codeccontext
import av.subtitles.stream  # noqa: F401

from app.ai.speech.decoding import play_copy
from app.ai.speech.decoding.confinement import confine
from app.ai.speech.decoding.limits import DecodingLimits
from app.ai.speech.decoding.output import DISK_FULL
from app.ai.speech.decoding.reader import read
from app.ai.speech.decoding.spool import Spool, SpoolFull
from app.ai.speech.errors import ProviderUnavailable, TranscriptionError, UnsupportedMedia


def main() -> None:
    """Decode as the request in the only argument says."""
    request = json.loads(sys.argv[1])
    limits = DecodingLimits(**request["limits"])
    copy = os.fdopen(request["playCopy"], "w+b")
    confine(limits, parent_pid=request["parentPid"])
    json.dump(_report(request["contentType"], limits, copy), sys.stderr)


def _report(content_type: str | None, limits: DecodingLimits, copy: BinaryIO) -> dict[str, Any]:
    try:
        spool = Spool(sys.stdout.fileno(), limits)
        source = read(sys.stdin.buffer, spool.write, content_type=content_type, limits=limits)
        if source.needs_play_copy:
            channels, layout = source.channels, source.layout
            play_copy.write(sys.stdout.fileno(), copy, layout=layout, channels=channels)
            copy.flush()
    except TranscriptionError as error:
        return {"error": error.code, "message": error.message}
    except MemoryError:
        mebibytes = limits.memory_bytes >> 20
        message = f"Decoding this recording needs more than {mebibytes} MiB of memory."
        return {"error": UnsupportedMedia.code, "message": message}
    except SpoolFull:
        return {"error": DISK_FULL}
    except OSError:
        message = "The recording could not be read or stored right now."
        return {"error": ProviderUnavailable.code, "message": message}
    return {"format": asdict(source)}


if __name__ == "__main__":
    main()
