# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium for tests, spoken to by WebDriver (https://www.w3.org/TR/webdriver2/) with nothing but the
standard library. A test without Chromium is skipped: its exit code is 77, and it says so."""
import argparse
import base64
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key by which WebDriver marks a reference to an element


class Browser:
    def __init__(self, driver_url, width, height):
        self.driver_url = driver_url
        arguments = ["--headless=new", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1",
                     f"--window-size={width},{height}", "--disable-dev-shm-usage", "--force-prefers-reduced-motion",
                     # not as root, and not in a container; what it opens is our own page
                     "--no-sandbox"]
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}})
        self.session = "/session/" + session["sessionId"]

    def call(self, method, path, body=None):
        request = urllib.request.Request(self.driver_url + path, method=method,
                                         data=None if body is None else json.dumps(body).encode(),
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()[:2000]}") from None

    def open(self, path):
        self.call("POST", self.session + "/url", {"url": pathlib.Path(path).resolve().as_uri()})
        self.wait("return document.documentElement.dataset.ready === 'yes'", "the page to be ready")

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, script, what, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.run(script):
                return
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s for {what}")

    def settle(self):
        """Two frames later everything that was asked for is drawn."""
        self.call("POST", self.session + "/execute/async", {"args": [], "script":
                  "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()));"})

    def find(self, selector):
        return self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        # into the middle: the bar at the top stays over what is scrolled beneath it
        self.run("document.querySelector(arguments[0]).scrollIntoView({ block: 'center' })", selector)
        self.call("POST", f"{self.session}/element/{self.find(selector)}/click", {})
        self.settle()

    def type(self, selector, text):
        self.call("POST", f"{self.session}/element/{self.find(selector)}/value", {"text": text})
        self.settle()

    def act(self, *actions):
        """Pointer actions: ("move", selector, x, y) from the middle of an element, ("down",), ("up",)."""
        steps = []
        for action in actions:
            if action[0] == "move":
                steps.append({"type": "pointerMove", "duration": 20, "origin": {ELEMENT: self.find(action[1])},
                              "x": action[2], "y": action[3]})
            else:
                steps.append({"type": "pointer" + action[0].capitalize(), "button": 0})
        self.call("POST", self.session + "/actions", {"actions": [
            {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": steps}]})
        self.settle()

    def wheel(self, selector, delta):
        self.call("POST", self.session + "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": 40, "y": 0, "deltaX": 0, "deltaY": delta, "duration": 0,
             "origin": {ELEMENT: self.find(selector)}}]}]})
        self.settle()

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def view(self):
        data = self.run("return {...document.getElementById('lanes').dataset}")
        return float(data["begin"]), float(data["end"])

    def command(self, name, **parameters):
        """A command of Chromium's own protocol, for what WebDriver does not have."""
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def set_screen(self, width, height, scheme):
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                     mobile=width < 600)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def screenshot(self, path):
        data = self.call("GET", self.session + "/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def get_console(self):
        return [entry["message"] for entry in self.call("POST", self.session + "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def get_requests(self):
        """Addresses of everything that was fetched."""
        entries = self.call("POST", self.session + "/se/log", {"type": "performance"})
        messages = [json.loads(entry["message"])["message"] for entry in entries]
        return [message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"]

    def close(self):
        self.call("DELETE", self.session)


@contextlib.contextmanager
def start(width=1280, height=800):
    driver = shutil.which("chromedriver")
    if not driver or not shutil.which("chromium"):
        print("skipped: chromium and chromium-driver are not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="dtc-web-") as home:
        process = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   env={**os.environ, "HOME": home, "TMPDIR": home})
        browser = None
        try:
            port = None
            for line in process.stdout:
                if "started successfully on port" in line:
                    port = int(line.rstrip(".\n").split()[-1])
                    break
            if port is None:
                raise RuntimeError("chromedriver ended without naming its port")
            browser = Browser(f"http://127.0.0.1:{port}", width, height)
            yield browser
        finally:
            if browser:
                browser.close()
            process.terminate()
            process.wait(timeout=20)
            process.stdout.close()


def get_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--make-page", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()
    os.makedirs(options.output, exist_ok=True)
    return options


def check(condition, what):
    if not condition:
        raise AssertionError(what)
    print("ok:", what)


def check_quiet(browser, page):
    """The page asked nobody for anything and complained of nothing."""
    check(browser.get_console() == [], "nothing on the console")
    own = pathlib.Path(page).resolve().as_uri()
    foreign = [url for url in browser.get_requests() if url != own and not url.startswith(("data:", "chrome:"))]
    check(foreign == [], f"no request but the page itself: {foreign}")
