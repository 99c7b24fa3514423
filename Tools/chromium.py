"""Drives a headless Chromium over its debugging pipe, with nothing but the standard library.

The pipe carries the Chrome DevTools Protocol as JSON texts, each ended by a zero byte. Against the
command line alone it sets exact sizes and colour schemes, and sees the page after its scripts.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def find():
    return next(filter(None, map(shutil.which, NAMES)), None)


def trust(authority, folder):
    """Makes a HOME whose browser trusts the authority of a file; returns it."""
    database = f"{folder}/home/.pki/nssdb"
    os.makedirs(database)
    for words in [["-N", "--empty-password"], ["-A", "-t", "C,,", "-n", "a", "-i", authority]]:
        subprocess.run(["certutil", "-d", f"sql:{database}", *words], check=True)
    return f"{folder}/home"


class Browser:
    """A running browser with one page. Use it in a `with`, and it ends with it."""

    def __init__(self, proxy=None, seconds=30, authority=None, rules=None):
        """Starts it; `authority` is the file of what it trusts for https, `rules` map names."""
        self.seconds = seconds
        self.profile = tempfile.mkdtemp(prefix="offlinecache-chromium-")
        self.count = 0
        self.events = []
        self.rest = b""
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--no-first-run", "--disable-background-networking", "--disable-sync",
                   "--disable-component-update", f"--user-data-dir={self.profile}",
                   "--remote-debugging-pipe"]
        if proxy:
            # Without the second option, loopback addresses would go past the proxy.
            command += [f"--proxy-server={proxy}", "--proxy-bypass-list=<-loopback>"]
        if rules:
            command.append(f"--host-resolver-rules={rules}")
        environment = dict(os.environ)
        if authority:
            environment["HOME"] = trust(authority, self.profile)
        # The browser reads from descriptor 3 and writes to 4.
        shell = f"exec 3<&{to_browser} 4>&{from_browser}; exec \"$@\""
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command, "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, env=environment)
        os.close(to_browser)
        os.close(from_browser)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call(
            "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Log.enable")
        self.call("Runtime.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()
        os.close(self.input)
        os.close(self.output)
        shutil.rmtree(self.profile, ignore_errors=True)

    def read(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.input], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("chromium did not answer in time")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise ConnectionError("chromium ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """Calls a method and returns its result; events that come meanwhile are kept."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.seconds
        while True:
            answer = self.read(deadline)
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        """Opens a URL and waits until the page and all it needs are there; returns its DOM."""
        self.events.clear()
        answer = self.call("Page.navigate", url=url)
        if answer.get("errorText"):
            raise RuntimeError(f"{url}: {answer['errorText']}")
        deadline = time.monotonic() + self.seconds
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.read(deadline))
        return self.dom()

    def dom(self):
        """Returns the DOM as the browser writes it."""
        return self.evaluate("document.documentElement.outerHTML")

    def evaluate(self, expression):
        """Returns the value of an expression of JavaScript; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def problems(self):
        """Returns what the page has complained of since it was opened."""
        self.evaluate("0")
        found = []
        for event in self.events:
            if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                found.append(event["params"]["entry"]["text"])
            if event["method"] == "Runtime.exceptionThrown":
                found.append(event["params"]["exceptionDetails"]["text"])
        return found

    def look(self, width, height, dark=False, scripts=True):
        """Sets the size of the window, the colour scheme, and whether scripts run."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def screenshot(self, path, height=None):
        """Saves what is to be seen as PNG; with a height, that much of the page."""
        options = {}
        if height:
            width = self.evaluate("innerWidth")
            options = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}}
        data = self.call("Page.captureScreenshot", format="png", **options)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
