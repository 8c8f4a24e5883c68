"""The reference: a Flask route that returns a small dict."""

from flask import Flask, Response, jsonify

app = Flask(__name__)


@app.get("/")
def hello() -> Response:
    return jsonify({"hello": "world"})
