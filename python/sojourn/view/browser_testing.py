"""A headless Chromium, driven by its own protocol over two pipes.

The protocol is what Playwright and Puppeteer speak; pipes need no library and no port.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, Self

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DEADLINE_S = 60.0
_LOOK_S = 0.1


class Browser:
    """One page of one browser; a context manager."""

    def __init__(self, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # fmt: off
        words = [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-quic", "--disable-dev-shm-usage", f"--user-data-dir={profile}",
            "--remote-debugging-pipe", "about:blank",
        ]
        # fmt: on
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, "bash", *words],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number, self._rest = 0, b""
        self._session = ""
        self.faults: list[str] = []  # what the page's console reports

    def __enter__(self) -> Self:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            answer = self._next(end_s)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)
        raise TimeoutError(method)

    def _next(self, end_s: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(0.0, end_s - time.monotonic()))
            part = os.read(self._from, 1 << 16) if ready else b""
            if not part:
                raise TimeoutError("the browser does not answer")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.faults.append(str(params["exceptionDetails"]))
        elif message.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(params["entry"]["text"])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def wait(self, condition: str) -> Any:
        """The value of an expression, once it is true."""
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            if value := self.run(condition):
                return value
            time.sleep(_LOOK_S)
        raise TimeoutError(f"{condition}: {self.run('document.body.innerText')[:2000]}")

    def open(self, url: str) -> None:
        """Go to an address, and wait until it is there."""
        self.run("window.isBefore = true")
        self.call("Page.navigate", url=url)
        self.wait("!window.isBefore && document.readyState === 'complete'")

    def click(self, selector: str) -> None:
        """Press the mouse's button in the middle of an element."""
        place = self.run(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            "one.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const box = one.getBoundingClientRect();"
            "return [box.x + Math.min(box.width, 40) / 2, box.y + box.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=place[0],
                y=place[1],
                button="left",
                clickCount=1,
            )

    def type(self, text: str) -> None:
        """Type a text where the focus is."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, code: int = 0) -> None:
        """Press and release a key of the keyboard."""
        text = {"text": "\r" if key == "Enter" else key} if len(key) == 1 or code == 13 else {}
        for kind in ("keyDown", "keyUp"):
            more = text if kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **more
            )

    def look(self, width: int, *, is_dark: bool = False, height: int = 900) -> None:
        """Set the window's width, and light or dark."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        theme = {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def picture(self, file: Path, *, is_whole: bool = False) -> None:
        """Write what is seen as PNG."""
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=is_whole)
        file.write_bytes(base64.b64decode(shot["data"]))
