"""People of the demo: accounts of two leads, two reviewers, and the agents, with one random password."""

from pathlib import Path

from sqlalchemy import select
from sqlalchemy.orm import Session

from app.core.runtime import Runtime
from app.core.secrets.private_files import append_private_file
from app.demo import sample_data
from app.directory.models import CallCenter, Executive
from app.imports.formats.records import Kind
from app.people import passwords
from app.people import service as people
from app.people.models import User
from app.people.roles import AGENT, LEAD, REVIEWER

_FILE = "demo-people.txt"
# The name ends in `.example`: these addresses belong to no one.
_DOMAIN = "riverside-home.example"
LEADS = {"demo-leeds": "Grace Holt", "demo-pune": "Vikram Rao"}
REVIEWERS = ("Helen Brook", "Omar Siddiq")


def file_of(runtime: Runtime) -> Path:
    """Return the file with the names and the password, for the owner of the data folder alone."""
    return runtime.settings.data_dir / _FILE


def create(runtime: Runtime) -> None:
    """Create the accounts, unless they exist or the dashboard is off."""
    if not runtime.settings.dashboard:
        return
    with runtime.db.reading() as session:
        if people.find_by_email(session, _email(REVIEWERS[0])) is not None:
            return
    password = passwords.new_one_time_password()
    password_hash = passwords.hash_password(password)
    with runtime.db.writing() as session:
        users = _create_all(session, password_hash)
        lines = [f"{user.name:20}{user.role}" for user in users]
        # Before the commit: access that works must not be lost.
        append_private_file(
            file_of(runtime), "\n".join([*lines, f"Password of all: {password}"]) + "\n"
        )


def find(session: Session, display_name: str) -> User | None:
    """Return the account of a person of the demo, unless it is disabled."""
    user = people.find_by_email(session, _email(display_name))
    return user if user is not None and user.disabled_at is None else None


def _create_all(session: Session, password_hash: str) -> list[User]:
    centers = _ids(session, CallCenter)
    executives = _ids(session, Executive)
    return [
        *(
            _create(session, name, LEAD, password_hash, call_center_ids=[centers[key]])
            for key, name in LEADS.items()
        ),
        *(_create(session, name, REVIEWER, password_hash) for name in REVIEWERS),
        *(
            _create(session, record["name"], AGENT, password_hash, executive_id=executives[key])
            for record in sample_data.records(Kind.EXECUTIVE)
            if "email" in record and (key := record["externalId"]) in executives
        ),
    ]


def _create(
    session: Session, display_name: str, role: str, password_hash: str, **teams: object
) -> User:
    email = _email(display_name)
    user = people.create(
        session,
        name=email.partition("@")[0],
        role=role,
        display_name=display_name,
        email=email,
        password_hash=password_hash,
        **teams,
    )
    people.change_password(session, user, password_hash, keep="")
    return user


def _email(display_name: str) -> str:
    return f"{display_name.lower().replace(' ', '.')}@{_DOMAIN}"


def _ids(session: Session, table: type[CallCenter] | type[Executive]) -> dict[str, str]:
    known = table.external_id.in_(sample_data.external_ids())
    rows = session.execute(select(table.external_id, table.id).where(known))
    return {str(row.external_id): row.id for row in rows}
