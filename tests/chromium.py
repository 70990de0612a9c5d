"""A headless Chromium, driven through its debugging pipe."""

import base64
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time


NAMES = (
    "chromium", "chromium-browser", "google-chrome", "chrome-headless-shell",
    "chromium-headless-shell",
)  # fmt: skip


def found():
    """The path of a Chromium, or `None`."""
    candidates = (os.environ.get("CHROMIUM"), *map(shutil.which, NAMES))
    return next((path for path in candidates if path), None)


class Page:
    """One tab. `problems` collects errors of the console and of scripts, and requests."""

    def __init__(self, read, write):
        self._read, self._write = read, write
        self._numbers = itertools.count(1)
        self._session = None
        self._rest = b""
        self.problems = []
        target = self("Target.createTarget", url="about:blank")["targetId"]
        session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._session = session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def __call__(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != number:
            self._note(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _message(self):
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 16)
            assert part, "the browser ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.problems.append(parameters["exceptionDetails"])
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.problems.append(parameters["args"])
        if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.problems.append(parameters["entry"])
        if method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.problems.append(url)

    def open(self, path, width=1100, height=900, dark=False):
        """Load a file."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", features=[scheme])
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        self("Page.navigate", url=path.resolve().as_uri())
        deadline = time.monotonic() + 20
        while (
            self.run("document.readyState") != "complete"
            or self.run("location.href") == "about:blank"
        ):
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.05)

    def run(self, script):
        """The value of an expression of JavaScript."""
        result = self("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path, selector=None):
        """Take a screenshot, of an element or of what is in sight."""
        clip = {}
        if selector:
            box = self.run(
                f"(() => {{ const b = document.querySelector({selector!r}).getBoundingClientRect();"
                "return [b.x + scrollX, b.y + scrollY, b.width, b.height]; })()"
            )
            clip = {"clip": dict(zip(("x", "y", "width", "height"), box)) | {"scale": 1}}
        shot = self("Page.captureScreenshot", captureBeyondViewport=bool(selector), **clip)
        path.write_bytes(base64.b64decode(shot["data"]))


@contextlib.contextmanager
def browser(path):
    """Start it, with an empty profile, and give a [`Page`][]."""
    to_browser, write = os.pipe()
    read, from_browser = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # The browser reads from descriptor 3 and writes to 4, whatever numbers ours have.
        command = f'exec 5<&{to_browser} 6>&{from_browser}; exec 3<&5 4>&6; exec "$0" "$@"'
        process = subprocess.Popen(
            ["bash", "-c", command, path, "--headless", "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={profile}", "--hide-scrollbars"],
            pass_fds=(to_browser, from_browser),
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Page(read, write)
        finally:
            process.terminate()
            process.wait(10)
            os.close(read)
            os.close(write)
