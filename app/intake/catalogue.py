"""Catalogue of the sources, in the order of the page that lists them."""

from collections.abc import Mapping
from types import MappingProxyType

from app.intake.vendor import Vendor
from app.intake.vendors import chatwoot, elevenlabs, intercom, retell, twilio, vapi, zammad, zendesk

VENDORS: Mapping[str, Vendor] = MappingProxyType(
    {
        module.VENDOR.name: module.VENDOR
        for module in (vapi, retell, elevenlabs, twilio, zendesk, intercom, chatwoot, zammad)
    }
)
