"""The report of a record as `sojourn report` writes it, computed once.

The page runs scripts of its own, so it is sandboxed: it has no origin and cannot ask this server
for anything. Its address has the key, so it runs no script but the lab's own, known by digest, and
its policy lets it send nothing.
"""

from __future__ import annotations

import threading
from pathlib import Path

from sojourn import extras, store
from sojourn.store import files

FORM = "view page"
SANDBOX = "sandbox allow-scripts allow-downloads allow-popups"
_TURN = threading.Lock()  # one at a time: it takes a CPU and hundreds of MB


def page(path: Path) -> tuple[str, str]:
    """The page, and the policy with which it is sent.

    Raises:
        HostFault: pages cannot be drawn here.
        StoreFault: the record is damaged, or of a newer version.
    """
    extras.require(extras.PAGES)
    with _TURN:
        texts = store.Texts(path)
        text = texts.load(FORM)
        if text is None:
            text = _computed(path)
            texts.keep(FORM, text)
    return text, f"{_policy()}; {SANDBOX}; frame-ancestors 'self'"


def _computed(path: Path) -> str:
    from sojourn import pipeline  # noqa: PLC0415 - a list needs no statistics
    from sojourn.questions import parts  # noqa: PLC0415
    from sojourn.report.parts import using  # noqa: PLC0415
    from sojourn.report.writers import html  # noqa: PLC0415

    findings = pipeline.findings_of(path)
    with files.readable(path, pipeline.STRANGE), using(parts()):
        return html.content(findings).decode()


def _policy() -> str:
    from sojourn.report import page as written  # noqa: PLC0415 - as above

    return written.policy()
