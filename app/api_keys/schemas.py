"""Schemas of API keys."""

from marshmallow import fields

from app.api_keys.enums import SCOPES, SignaturePolicy
from app.web.schemas.base import AnswerSchema, CamelSchema, Changes
from app.web.schemas.fields import Choice, Flag, Items, Network, Reference, Text, Timestamp, Whole
from app.web.schemas.query_fields import PageQuery, sort_field

MAX_GRACE_S = 7 * 24 * 3600
_MOST_TEAMS = 200


def _seen(what: str) -> dict[str, str]:
    return {
        "description": f"{what} whose conversations the key sees; all, if empty. Changes only narrow."
    }


class KeyCreate(CamelSchema):
    name = Text(200, low=1, required=True)
    description = Text(2000, multiline=True, allow_none=True)
    scopes = Items(Choice(SCOPES), low=1, high=len(SCOPES), required=True)
    ip_allowlist = Items(Network(), high=50, allow_none=True)
    executive_ids = Items(Reference("exec"), high=_MOST_TEAMS, metadata=_seen("Executives"))
    call_center_ids = Items(Reference("cc"), high=_MOST_TEAMS, metadata=_seen("Call centres"))
    campaign_ids = Items(Reference("camp"), high=_MOST_TEAMS, metadata=_seen("Campaigns"))
    signature_policy = Choice(tuple(SignaturePolicy))
    require_nonce = Flag()
    expires_at = Timestamp(allow_none=True)


class KeyChange(Changes, KeyCreate):
    pass


class KeyRotate(CamelSchema):
    grace_period_seconds = Whole(high=MAX_GRACE_S, load_default=0)


class KeyQuery(PageQuery):
    sort = sort_field("createdAt", "name")


class KeySchema(AnswerSchema):
    """A key, without its strings."""

    id = fields.String()
    name = fields.String()
    description = fields.String(allow_none=True)
    key_prefix = fields.String()
    scopes = fields.List(fields.String())
    ip_allowlist = fields.List(fields.String())
    executive_ids = fields.List(fields.String(), metadata=_seen("Executives"))
    call_center_ids = fields.List(fields.String(), metadata=_seen("Call centres"))
    campaign_ids = fields.List(fields.String(), metadata=_seen("Campaigns"))
    signature_policy = fields.String()
    require_nonce = fields.Boolean()
    status = Choice(("active", "revoked", "expired"))
    expires_at = Timestamp(allow_none=True)
    last_used_at = Timestamp(allow_none=True)
    created_at = Timestamp()
    updated_at = Timestamp()
    rotated_at = Timestamp(allow_none=True)
    previous_credential_expires_at = Timestamp(allow_none=True)


class IssuedKeySchema(KeySchema):
    """A new or rotated key with its two strings, which are shown only once."""

    api_key = fields.String()
    secret = fields.String()
