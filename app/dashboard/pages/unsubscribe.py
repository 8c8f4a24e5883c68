"""Unsubscribing from a digest, by the link in it: for people, and for mail programs in one click."""

from flask import render_template

from app.alerts import digests
from app.dashboard.blueprint import PageBlueprint, from_anywhere, public
from app.web.current import current_runtime

blp = PageBlueprint("unsubscribe", __name__)
_PATH = "/unsubscribe/<id:digest_id>/<signed>"


@blp.get(_PATH)
@public
def form(digest_id: str, signed: str) -> str:
    """Ask once more: programs that check the links of mail open them, too."""
    runtime = current_runtime()
    with runtime.db.reading() as session:
        digest = digests.unsubscribed(session, runtime.keyring, digest_id, signed)
        return render_template("messages/unsubscribe.html", digest=digest)


@blp.post(_PATH)
@public
@from_anywhere
def submit(digest_id: str, signed: str) -> str:
    """End the digest; the signature says that the request has the link of its reader."""
    runtime = current_runtime()
    with runtime.db.writing() as session:
        digest = digests.unsubscribed(session, runtime.keyring, digest_id, signed)
        digests.unsubscribe(digest)
    return render_template("messages/unsubscribe.html", digest=digest)
