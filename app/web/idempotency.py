"""Idempotency-Key on every POST: the first answer is stored and repeated."""

import re
from collections.abc import Callable
from typing import Any

from flask import Response, make_response, request

from app.core.clock import utc_now
from app.core.database.idempotency import IdempotentRequest, Replay, StoredAnswer, fingerprint
from app.core.errors import InvalidInput
from app.web.current import current_runtime
from app.web.principal import current_principal

_FORM = re.compile(r'"?([\x21\x23-\x7e][\x21-\x7e]{0,254}?)"?', re.ASCII)
_STORED_HEADERS = ("ETag", "Location", "Cache-Control")


def answer_once(view: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call the view, or repeat the stored answer of this Idempotency-Key."""
    header = request.headers.get("Idempotency-Key")
    if header is None:
        return view(*args, **kwargs)
    idempotent = IdempotentRequest(
        key_id=current_principal().key_id,
        idempotency_key=_key_of(header),
        fingerprint=fingerprint(request.method, request.environ["RAW_URI"], request.get_data()),
        now=utc_now(),
    )
    runtime = current_runtime()
    try:
        with runtime.db.reading() as session:
            idempotent.replay(session, runtime.keyring)
        with runtime.db.held(lambda session: idempotent.claim(session, runtime.keyring)) as held:
            response: Response = make_response(view(*args, **kwargs))
            if held.session is not None:
                idempotent.complete(held.session, runtime.keyring, _stored(response))
    except Replay as replay:
        runtime.db.confirm_earlier_commits()
        headers = {**replay.answer.headers, "Idempotency-Replayed": "true"}
        return Response(
            replay.answer.body,
            replay.answer.status,
            headers,
            content_type="application/json",
        )
    return response


def _stored(response: Response) -> StoredAnswer:
    headers = {name: response.headers[name] for name in _STORED_HEADERS if name in response.headers}
    return StoredAnswer(response.status_code, response.get_data(), headers)


def _key_of(header: str) -> str:
    match = _FORM.fullmatch(header)
    if match is None:
        raise InvalidInput.field(
            "Idempotency-Key", "This must be 1 to 255 visible characters.", location="headers"
        )
    return match[1]
