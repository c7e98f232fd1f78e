"""A service as one writes it with Flask."""

from flask import Flask, jsonify

app = Flask(__name__)


@app.get("/")
def hello() -> object:
    return jsonify(words=sorted(f"word {n}" for n in range(100)))
