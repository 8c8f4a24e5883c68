"""Endpoint that takes the webhooks of sources; the vendor's signature stands in for an API key."""

import hashlib
from datetime import timedelta

from flask import Flask, Response, jsonify, request

from app.core.clock import utc_now
from app.core.errors import AppError, NotFound
from app.core.ids import new_id
from app.core.runtime import Runtime
from app.intake import sealing, service
from app.intake.catalogue import VENDORS
from app.intake.signatures import Arrived, SignatureRefused, require_recent
from app.intake.vendor import Config, Document, Vendor
from app.web import rate_limit
from app.web.addresses import public_address
from app.web.envelope import shape_a
from app.web.parser import check_length
from app.web.rate_limit import Policies

# How old a document may say that it is, where the signature has no time.
_OLDEST = timedelta(hours=1)


class Intake:
    """The endpoint: it verifies, stores and answers; a job does the rest."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._policies = Policies(runtime.settings)

    def install(self, app: Flask) -> None:
        """Register the endpoint; it needs no API key."""
        rule = "/intake/<name>"
        app.add_url_rule(rule, "intake.receive", self.receive, methods=["POST"])
        app.add_url_rule(rule, "intake.probe", self.probe, methods=["HEAD"])

    def probe(self, name: str) -> Response:
        """Answer a vendor that asks whether there is something at this address."""
        self._configured(name)
        return Response(status=204)

    def receive(self, name: str) -> Response:
        """Take a request of a source, once."""
        vendor, config = self._configured(name)
        self._check_length(name)
        body = request.get_data()
        headers = {key.lower(): value for key, value in request.headers.items()}
        # Some vendors sign the address that they have sent to.
        address = public_address(self._runtime.settings) + request.full_path.removesuffix("?")
        arrived = Arrived(address, headers, body)
        try:
            signature = vendor.scheme.require(arrived, config["secret"], utc_now())
            document = vendor.document_of(body)
            if (sent_at := vendor.sent_at(document)) is not None:
                require_recent(sent_at, utc_now(), _OLDEST)
        except SignatureRefused as error:
            rate_limit.count_failure(self._runtime, self._policies, request)
            with self._runtime.db.writing() as session:
                service.note_refusal(session, name, error.message)
            raise
        status = self._accepted(vendor, document, signature, body)
        return jsonify(shape_a({"status": status}))

    def _check_length(self, name: str) -> None:
        try:
            check_length(request)
        except AppError as error:
            with self._runtime.db.writing() as session:
                service.note_refusal(session, name, error.message)
            raise

    def _configured(self, name: str) -> tuple[Vendor, Config]:
        if name in VENDORS:
            with self._runtime.db.reading() as session:
                configured = service.config_of(session, self._runtime.keyring, name)
            if configured is not None:
                return VENDORS[name], configured[0]
        raise NotFound("There is no such source, or it is switched off.")

    def _accepted(self, vendor: Vendor, document: Document, signature: str, body: bytes) -> str:
        if not vendor.concerns(document):
            return "ignored"
        delivery_id = new_id("intk")
        sealed_body = sealing.seal_body(self._runtime.keyring, delivery_id, body)
        digest = hashlib.sha256(signature.encode() + b"\n" + body).hexdigest()
        with self._runtime.db.writing() as session:
            is_new = service.accept(
                session, delivery_id, source=vendor.name, digest=digest, sealed_body=sealed_body
            )
        return "accepted" if is_new else "duplicate"
