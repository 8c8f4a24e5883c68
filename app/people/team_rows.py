"""Rows of each table that a caller who is limited to teams may see; the one place that says so.

In a limited request every SELECT, wherever it stands, reads these rows under the names of the tables:
common table expressions in front of it hide the tables themselves.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Engine, event

from app.core.clock import utc_now
from app.core.database.session import Table
from app.core.principal import TeamScope, current_teams

_SOURCES = ("conversations", "voice_calls", "audio_files")
# Rows that belong to one row of another table: the table, and the column with its id.
_PARTS = {
    "evaluation_results": ("evaluations", "evaluation_id"),
    "evaluation_topics": ("evaluations", "evaluation_id"),
    "evaluation_reviewers": ("evaluations", "evaluation_id"),
    "evaluation_receipts": ("evaluations", "evaluation_id"),
    "evaluation_search_texts": ("evaluations", "evaluation_id"),
    "evaluation_jobs": ("evaluations", "id"),
    "reviews": ("evaluations", "evaluation_id"),
    "review_examples": ("evaluations", "evaluation_id"),
    "review_assignments": ("evaluations", "evaluation_id"),
    "messages": ("conversations", "conversation_id"),
    "conversation_search_texts": ("conversations", "conversation_id"),
    "voice_call_turns": ("voice_calls", "voice_call_id"),
    "voice_call_search_texts": ("voice_calls", "voice_call_id"),
    "processing_jobs": ("audio_files", "audio_file_id"),
    "waveform_jobs": ("audio_files", "audio_file_id"),
}
_OF_SOURCES = ("transcripts", "spoken_words", "raw_texts")
# The list of a scope that names rows of the table itself, and the column that other tables have.
_DIRECTORY = {
    "executives": ("executive_ids", "executive_id"),
    "call_centers": ("call_center_ids", "call_center_id"),
    "campaigns": ("campaign_ids", "campaign_id"),
    "engagements": ("", "engagement_id"),
}
_STORED_WORK = ("re_evaluations", "review_plans")
# They hold nothing of a conversation, or are read only behind another check: analytics filters its
# facts by the same scope, and pages of accounts, keys, webhooks, usage and scorecards have scopes of
# the API that no one who is limited to teams has.
UNLIMITED = frozenset(
    {
        *("api_keys", "api_key_credentials", "users", "user_sessions", "audit_entries"),
        *("evaluation_facts", "evaluation_fact_parts", "score_layouts"),
        *("scorecards", "scorecard_versions", "scorecard_releases", "channel_scorecards"),
        "merged_campaigns",
        *("events", "webhook_subscriptions", "webhook_deliveries"),
        *("webhook_attempts", "mail_servers"),
        *("usage_records", "usage_batches", "usage_warnings", "usage_keys"),
        *("hosts", "keepers", "deployments", "spent_nonces", "idempotency_answers"),
        *("schema_state", "master_key_checks"),
    }
)
# What may stand before a statement.
_GAP = r"(?:\s|--[^\n]*+\n|/\*(?:[^*]|\*(?!/))*+\*/)*+"
_STARTS = re.compile(
    rf"{_GAP}(CREATE TABLE \w++ AS\s++)?"
    r"(?:(WITH\s++(?!RECURSIVE\b))|(?=[\s(]*+(?:SELECT|VALUES|INSERT|UPDATE|DELETE)\b))",
    re.IGNORECASE,
)
# SQLite's driver counts no rows of a change behind a common table expression.
_CHANGES_ALONE = re.compile(
    rf"{_GAP}(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+\w++(?!.*\b(?:SELECT|TABLE|FROM|USING)\b)",
    re.IGNORECASE | re.DOTALL,
)
_LOCKS = re.compile(r"\bFOR\s+(?:NO\s+KEY\s+|KEY\s+)?(?:UPDATE|SHARE)\b", re.IGNORECASE)
_SOURCES_OF_A_SELECT = re.compile(r"\b(?:FROM|JOIN)\s+(\S+)", re.IGNORECASE)


def install(engine: Engine, *, schema: str = "main") -> None:
    """Limit the reads of an engine to the teams of the caller of the moment.

    Args:
        schema: the schema of the tables in SQLite.
    """
    # SQLite takes the bare name of a table within its own expression for a recursion.
    prefix = f"{schema}." if engine.dialect.name == "sqlite" else ""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def limit(
        connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool
    ) -> tuple[str, Any]:
        teams = current_teams()
        if teams is not None:
            # The rows change as days go by; the minute is exact enough.
            now = f"{utc_now():%Y-%m-%d %H:%M}:00" if teams.released_only else ""
            statement = _limited(statement, _rows_of(teams, teams.caller_id, prefix, now))
        return statement, parameters


def _limited(statement: str, rows: "_TeamRows") -> str:
    """Return a statement that reads only these rows.

    Rows that it changes are those that its condition names: a read has found them before.

    Raises:
        ValueError: the statement names a table in a form that cannot be limited.
    """
    names = sorted({name.lower() for name in rows.pattern.findall(statement)})
    if not names or _CHANGES_ALONE.match(statement):
        return statement
    start = _STARTS.match(statement)
    if start is None or rows.qualified.search(statement):
        raise ValueError(f"this statement cannot be limited to teams: {statement[:200]}")
    if _LOCKS.search(statement):
        return _locking(statement, rows, names)
    shown = ", ".join(f"{name} AS NOT MATERIALIZED ({rows.select(name)})" for name in names)
    before, given = start[1] or "", start[2] or ""
    comma = "," if given else ""
    return f"{before}{given or 'WITH '}{shown}{comma} {statement[start.end() :]}"


def _locking(statement: str, rows: "_TeamRows", names: Sequence[str]) -> str:
    """Return a SELECT of one table that locks rows: of a subquery, since expressions are not locked.

    Raises:
        ValueError: it reads another table, too.
    """
    if _SOURCES_OF_A_SELECT.findall(statement) != names:
        raise ValueError("a statement of somebody limited to teams locks rows of one table")
    [name] = names
    limited = f"FROM ({rows.select(name)}) AS {name}"
    return re.sub(rf"\bFROM\s+{name}\b", lambda _: limited, statement, flags=re.IGNORECASE)


class _TeamRows:
    """The SQL of the rows that a team scope shows."""

    def __init__(self, teams: TeamScope, prefix: str, now: str) -> None:
        self._teams, self._prefix, self._now = teams, prefix, now
        self._elements = "json_each" if prefix else "json_array_elements_text"
        hidden = Table.metadata.tables.keys() - UNLIMITED
        known = rf"(?:{'|'.join(sorted(hidden))})\b"
        self.pattern = re.compile(rf"\b{known}", re.IGNORECASE)
        # The name of a schema would lead past the limit.
        schema = r'\b(?:main|temp|public)"?\s*\.\s*"?'
        self.qualified = re.compile(schema + known, re.IGNORECASE)
        self._select: dict[str, str] = {}

    def select(self, table: str) -> str:
        if table not in self._select:
            self._select[table] = self._selected(table)
        return self._select[table]

    def condition(self, table: str, alias: str) -> str:
        """Return the condition that rows of a table, under an alias, have to meet."""
        if table == "evaluation_reviewers" and self._teams.hides_reviewers:
            return "1 = 0"
        if table in ("evaluations", "conversations", "voice_calls"):
            return self._is_of_team(table, alias)
        if table == "audio_files":
            of_call = self._exists("voice_calls", "recording_id", f"{alias}.id")
            return f"({self._is_of_team(table, alias)} OR {of_call})"
        if table in _PARTS:
            whole, column = _PARTS[table]
            return self._exists(whole, "id", f"{alias}.{column}")
        if table in _OF_SOURCES:
            found = (self._exists(source, "id", f"{alias}.source_id") for source in _SOURCES)
            return f"({' OR '.join(found)})"
        if table in _DIRECTORY:
            return self._is_known(table, alias)
        if table in _STORED_WORK:
            return self._is_stored(alias)
        return _OTHERS.get(table, _nothing)(self, alias)

    def _selected(self, table: str) -> str:
        if table == "evaluation_totals":
            counted = f"FROM {self._name('evaluations')} AS e WHERE {self._is_of_team('evaluations', 'e')}"
            return (
                f"SELECT 'all' AS kind, count(*) AS quantity {counted} UNION ALL "
                f"SELECT 'current', count(*) {counted} AND e.is_current"
            )
        if table == "audio_file_totals":
            # The usage of storage, which is metered, is of all.
            counted = f"FROM {self._name('audio_files')} AS e WHERE {self._is_of_team('audio_files', 'e')}"
            return (
                f"SELECT kind, quantity FROM {self._name(table)} WHERE kind <> 'recordings' "
                f"UNION ALL SELECT 'recordings', count(*) {counted}"
            )
        columns = ", ".join(
            f'{self._count(table, column)} AS "{column}"'
            if column in _COUNTS.get(table, {})
            else f't."{column}"'
            for column in Table.metadata.tables[table].c.keys()  # noqa: SIM118 - a collection of columns
        )
        return f"SELECT {columns} FROM {self._name(table)} AS t WHERE {self.condition(table, 't')}"

    def _count(self, table: str, column: str) -> str:
        """Return the SQL of a counter, as a number of the rows that are shown."""
        counted, number, condition = _COUNTS[table][column]
        reference = _DIRECTORY[table][1]
        return (
            f"(SELECT {number} FROM {self._name(counted)} AS e WHERE e.{reference} = t.id "
            f"AND {self._is_of_team(counted, 'e')}{condition})"
        )

    def _is_of_team(self, table: str, alias: str) -> str:
        conditions = [
            f"{alias}.{column} IN ({', '.join(map(_text, ids))})"
            for column, ids in self._teams.columns().items()
        ]
        if self._teams.released_only and table == "evaluations":
            conditions.append(self._is_released(alias))
        elif self._teams.released_only:
            conditions.append(
                f"EXISTS (SELECT 1 FROM {self._name('evaluations')} AS c WHERE "
                f"c.source_id = {alias}.id AND c.is_current AND {self._is_released('c')})"
            )
        return " AND ".join(conditions)

    def _is_released(self, alias: str) -> str:
        """Match evaluations that their scorecard's rule lets an agent see; without a rule, all."""
        reviewed = (
            f"EXISTS (SELECT 1 FROM {self._name('reviews')} AS v WHERE v.evaluation_id = {alias}.id "
            f"AND v.action IN ('confirm', 'override'))"
        )
        passed = f"CAST({_text(self._now)} AS timestamptz) - r.days * INTERVAL '1 day'"
        if self._prefix:
            passed = f"datetime({_text(self._now)}, '-' || r.days || ' days')"
        return (
            f"NOT EXISTS (SELECT 1 FROM {self._name('scorecard_releases')} AS r "
            f"WHERE r.scorecard_id = {alias}.scorecard_id AND CASE r.rule "
            f"WHEN 'after_review' THEN NOT {reviewed} "
            f"WHEN 'after_days' THEN coalesce({alias}.completed_at > {passed}, 1 = 1) "
            "ELSE r.rule <> 'at_once' END)"
        )

    def _exists(self, table: str, column: str, value: str) -> str:
        return (
            f"EXISTS (SELECT 1 FROM {self._name(table)} AS e WHERE e.{column} = {value} "
            f"AND {self._is_of_team(table, 'e')})"
        )

    def _is_known(self, table: str, alias: str) -> str:
        """Match what the scope names, and what conversations of the teams name."""
        listed, column = _DIRECTORY[table]
        named = [
            f"{alias}.id IN (SELECT e.{column} FROM {self._name(source)} AS e "
            f"WHERE {self._is_of_team(source, 'e')})"
            for source in ("evaluations", *_SOURCES)
        ]
        lists = self._teams.lists()
        if [*lists] == [listed]:
            named.append(f"{alias}.id IN ({', '.join(map(_text, lists[listed]))})")
        if table == "executives" and [*lists] == ["call_center_ids"]:
            named.append(self._is_of_team(table, alias))
        return f"({' OR '.join(named)})"

    def _is_own(self, alias: str) -> str:
        return f"{alias}.user_id = {_text(self._teams.caller_id)}"

    def _is_stored(self, alias: str) -> str:
        return f"{alias}.teams = {_text(self._teams.as_text())}"

    def _is_export(self, alias: str) -> str:
        """Match exports of the same teams; those of coaching have what the requester alone has recorded."""
        others = f"{alias}.dataset <> 'coaching_sessions'"
        return f"{self._is_stored(alias)} AND ({others} OR {self._is_made(alias)})"

    def _is_made(self, alias: str) -> str:
        return f"{alias}.created_by = {_text(self._teams.caller_id)}"

    def _is_of_own_plan(self, alias: str) -> str:
        plans = self._name("review_plans")
        own = f"p.id = {alias}.plan_id AND {self._is_stored('p')}"
        return f"EXISTS (SELECT 1 FROM {plans} AS p WHERE {own})"

    def _is_about_team(self, alias: str) -> str:
        """Match what is about executives or call centres of the scope, and what the caller has made.

        A campaign has people of several teams, so that nothing about a person is of a campaign.
        """
        lists = self._teams.columns()
        made = self._is_made(alias)
        if "campaign_id" in lists:
            return made
        conditions = [
            f"{alias}.{column} IN ({', '.join(map(_text, ids))})" for column, ids in lists.items()
        ]
        return f"(({' AND '.join(conditions)}) OR {made})"

    def _is_whole_round(self, alias: str) -> str:
        """Match the rounds all of whose conversations are of the teams."""
        shown = self._exists("evaluations", "id", "j.value")
        return (
            f"NOT EXISTS (SELECT 1 FROM {self._elements}({alias}.evaluation_ids) AS j "
            f"WHERE NOT {shown})"
        )

    def _name(self, table: str) -> str:
        return f"{self._prefix}{table}"


@lru_cache(maxsize=256)
def _rows_of(teams: TeamScope, caller_id: str, prefix: str, now: str) -> _TeamRows:
    return _TeamRows(teams, prefix, now)


def _nothing(rows: _TeamRows, alias: str) -> str:
    return "1 = 0"


def _text(value: str) -> str:
    # Which would begin a parameter.
    if "%" in value:
        raise ValueError("no id has a %")
    return "'" + value.replace("'", "''") + "'"


_OTHERS: Mapping[str, Callable[[_TeamRows, str], str]] = {
    "calibration_rounds": _TeamRows._is_whole_round,
    "saved_views": _TeamRows._is_own,
    "review_draws": _TeamRows._is_of_own_plan,
    "export_jobs": _TeamRows._is_export,
    "coaching_sessions": _TeamRows._is_about_team,
    "goals": _TeamRows._is_about_team,
}
_WITH_VERDICT = " AND e.is_current AND e.passed IS NOT NULL"
_EVALUATED = ("evaluations", "count(DISTINCT e.source_id)", " AND e.status = 'completed'")
# Counters of rows: the table, the number, and which rows count.
_COUNTS: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "campaigns": {
        "conversation_count": ("conversations", "count(*)", ""),
        "voice_call_count": ("voice_calls", "count(*)", ""),
        "audio_file_count": ("audio_files", "count(*)", " AND e.uploaded_at IS NOT NULL"),
        "evaluation_count": _EVALUATED,
        "score_sum": ("evaluations", "coalesce(sum(e.score), 0)", _WITH_VERDICT),
        "score_count": ("evaluations", "count(*)", _WITH_VERDICT),
        "mean_score": ("evaluations", "avg(CAST(e.score AS float))", _WITH_VERDICT),
    },
    # The version counts evaluations, too.
    "engagements": {"evaluation_count": _EVALUATED, "version": _EVALUATED},
}
