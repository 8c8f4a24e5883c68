"""Periodic tasks of alerts: check rules, send what they tell, and send digests."""

from app.alerts import checks, digests, sending
from app.core.jobs.purging import purge_older
from app.core.runtime import Runtime


def send_alerts(runtime: Runtime) -> None:
    """Send the messages of rules that have something to tell; writes only if there are any."""
    with runtime.db.reading() as session:
        due = sending.due_rules(session)
    for rule_id in due:
        with runtime.db.writing() as session:
            sending.send_rule(session, rule_id, sending.base_url(runtime.settings))


def check_rules(runtime: Runtime) -> None:
    """Check the rules about the mean score and about the service."""
    with runtime.db.reading() as session:
        results = [
            (rule.id, checks.found(session, runtime, rule)) for rule in checks.due_rules(session)
        ]
    for rule_id, text in results:
        with runtime.db.writing() as session:
            checks.record(session, rule_id, text)


def send_digests(runtime: Runtime) -> None:
    with runtime.db.reading() as session:
        due = digests.due(session, runtime)
    for digest_id, message in due:
        with runtime.db.writing() as session:
            digests.send(session, digest_id, message)


def purge(runtime: Runtime) -> None:
    """Delete records of sent messages as old as deleted deliveries, and digests without a target."""
    with runtime.db.writing() as session:
        digests.purge(session)
    purge_older(runtime, runtime.settings.retention_deliveries_days, sending.purge)
