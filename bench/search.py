"""Search of what was said over a million conversations, next to its budget of 300 ms.

`python -m bench.search FOLDER [conversations] [URL]`; without a URL in SQLite. The data set is kept in the
folder, or the database, and used again. Words are as frequent as in a language: the first are said in nearly
every conversation. Times are of whole requests in this process, the first and the median of five, in
milliseconds: of SQLite CPU, so that a busy machine doesn't matter.
"""

import sys
import time
from datetime import timedelta
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from urllib.parse import urlencode

import numpy as np
from sqlalchemy import Connection, insert, text

from app.core.clock import utc_now
from app.core.database.session import Table
from app.core.runtime import Runtime
from app.core.secrets.encryption import KEY_FILE, create_key_file
from app.core.setting_parsers import RateLimit
from app.core.settings import Settings
from app.evaluations.models import (
    CREATE_SEARCH_INDEX,
    SEARCH_INDEX,
    Evaluation,
    EvaluationTotal,
    SpokenWords,
    StoredTranscript,
)
from app.factory import create_app
from app.web.current import runtime_of
from bench.analytics import Client

BUDGET_MS, TIMES = 300, 5
STEP, WORDS, VOCABULARY, DAYS = 20_000, 120, 30_000, 365
TRANSCRIPT = "tr_bench"
NAMES = ["".join(letters) for letters in product(ascii_lowercase[::-1], repeat=4)][:VOCABULARY]
FREQUENCIES = 1 / np.arange(1, VOCABULARY + 1)
FREQUENCIES /= FREQUENCIES.sum()


def word(rank: int) -> str:
    """The word of this rank; the first is the most frequent."""
    return NAMES[rank - 1]


# What is asked, and the filters beside it.
QUESTIONS: dict[str, tuple[str, dict[str, int | str]]] = {
    "a word in nearly all": (word(1), {}),
    "a word in two of three": (word(10), {}),
    "a word in one of ten": (word(100), {}),
    "a word in one of a hundred": (word(1_000), {}),
    "a rare word": (word(25_000), {}),
    "two frequent words": (f"{word(1)} {word(10)}", {}),
    "a frequent and a rare word": (f"{word(1)} {word(25_000)}", {}),
    "two words of one of ten": (f"{word(100)} {word(101)}", {}),
    "a phrase of frequent words": (f'"{word(1)} {word(2)}"', {}),
    "a rare phrase of frequent words": (f'"{word(60)} {word(61)} {word(62)}"', {}),
    "a frequent word, a month of last year": (word(10), {"from": 300, "to": 270}),
    "a frequent word, one channel": (word(10), {"channel": "voice"}),
    "a frequent word, one day": (word(10), {"from": 100, "to": 99}),
    "a frequent word by lowest score": (word(10), {"sort": "score"}),
    "a word of one of a hundred, a month": (word(1_000), {"from": 30}),
    "a word that nobody said": ("qqqqq", {}),
}


def fill(runtime: Runtime, number: int) -> None:
    """Make the conversations, with their words."""
    dice, now = np.random.default_rng(1), utc_now()
    engine = runtime.db.engine
    is_sqlite = engine.dialect.name == "sqlite"
    transcript = {
        "id": TRANSCRIPT,
        "source_id": "conv_0",
        "source_type": "conversation",
        **{name: [] for name in ("languages", "participants", "segments")},
        **{name: {} for name in ("redaction_entities", "origin")},
        **dict.fromkeys(("word_count", "segment_count"), 0),
        **dict.fromkeys(("provider", "model", "digest"), ""),
        "redacted": True,
        "created_at": now,
    }
    with engine.begin() as connection:
        connection.execute(text(f"DROP {'TABLE' if is_sqlite else 'INDEX'} {SEARCH_INDEX}"))
        connection.execute(insert(StoredTranscript), transcript)
        kinds = [{"kind": kind, "quantity": number} for kind in ("all", "current")]
        connection.execute(insert(EvaluationTotal), kinds)
    names = np.array(NAMES, dtype=object)
    for begin in range(0, number, STEP):
        ranks = dice.choice(VOCABULARY, size=(STEP, WORDS), p=FREQUENCIES)
        words = names[ranks]
        words[:, 11::12] = "_"
        with engine.begin() as connection:
            _add(connection, begin, number, words.tolist(), is_sqlite=is_sqlite)
        print(f"{begin + STEP:,}", end="\r", flush=True)
    with engine.begin() as connection:
        connection.execute(text(CREATE_SEARCH_INDEX[engine.dialect.name]))
        if is_sqlite:
            connection.execute(
                text(f"INSERT INTO {SEARCH_INDEX} ({SEARCH_INDEX}) VALUES ('rebuild')")
            )
        else:
            connection.execute(text("ANALYZE spoken_words, evaluations"))


def _add(
    connection: Connection, begin: int, number: int, words: list[list[str]], *, is_sqlite: bool
) -> None:
    now = utc_now()
    rows, spoken = [], []
    for place, said in enumerate(words, start=begin):
        at = now - timedelta(days=DAYS) * (1 - place / number)
        source = f"conv_{place:026d}"
        rows.append(
            {
                "id": f"eval_{place:026d}",
                "source_id": source,
                "source_type": "conversation",
                "channel": "voice" if place % 3 == 0 else "chat",
                "status": "completed",
                "score": place * 7919 % 101,
                "passed": True,
                "scorecard_id": "sc_1",
                "scorecard_version": 1,
                "scorecard_name": "Usual",
                "executive_id": f"exec_{place % 200:026d}",
                "conversation_at": at,
                "created_at": at,
                "updated_at": at,
            }
        )
        kept = " ".join(said)
        if not is_sqlite:
            kept = " ".join(f"'{one}':{where}" for where, one in enumerate(said, start=1))
        spoken.append({"source_id": source, "transcript_id": TRANSCRIPT, "words": kept})
    connection.execute(insert(Evaluation), rows)
    connection.execute(insert(SpokenWords), spoken)


def main(folder: Path, number: int, url: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / KEY_FILE).exists():
        create_key_file(folder)
    limit = RateLimit(1_000_000, 60)
    settings = Settings(
        data_dir=folder,
        database_url=url,
        redis_url="none",
        sqlite_synchronous="NORMAL",
        log_level="ERROR",
        rate_limit_default=limit,
    )
    app = create_app(settings)
    runtime = runtime_of(app)
    Table.metadata.create_all(runtime.db.engine)
    with runtime.db.engine.connect() as connection:
        is_filled = connection.scalar(text("SELECT EXISTS (SELECT 1 FROM spoken_words)"))
    if not is_filled:
        fill(runtime, number)
    client = Client(app)
    clock = time.perf_counter if url else time.process_time
    for name, (asked, filters) in QUESTIONS.items():
        times, total = [], 0
        day = utc_now()
        params = {
            key: (day - timedelta(days=value)).isoformat() if isinstance(value, int) else value
            for key, value in filters.items()
        }
        for _ in range(TIMES):
            started = clock()
            answer = client.call(
                "GET", f"/api/v1/evaluations?{urlencode({'said': asked, **params})}"
            )
            times.append((clock() - started) * 1000)
            assert answer.status_code == 200, answer.text
            total = answer.get_json()["pagination"]["totalCount"]
        median = sorted(times)[TIMES // 2]
        verdict = "" if median <= BUDGET_MS else "OVER"
        print(
            f"{name:40} {total:9,} {times[0]:7.0f} {median:7.0f} of {BUDGET_MS} ms {verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000,
        sys.argv[3] if len(sys.argv) > 3 else "",
    )
