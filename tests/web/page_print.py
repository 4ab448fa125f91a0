#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page on paper, and without JavaScript.
usage: page_print.py --program FILE --make-page FILE --source DIR --output DIR"""
import base64
import os
import pathlib
import subprocess
import sys

import browser as web


def main():
    options = web.get_options()
    page = os.path.join(options.output, "print.html")
    demo = os.path.join(options.source, "clusters/demo")
    subprocess.run([options.program, "--bundle", demo, "--request-id", "req-0069", "--quiet", "--html", page],
                   stdout=subprocess.DEVNULL, check=True, timeout=120)
    with web.start() as browser:
        browser.open(page)
        browser.set_screen(1280, 800, "dark")
        data = base64.b64decode(browser.command("Page.printToPDF", printBackground=True)["data"])
        with open(os.path.join(options.output, "demo.pdf"), "wb") as file:
            file.write(data)
        web.check(data.startswith(b"%PDF") and len(data) > 20_000, f"it prints: {len(data)} bytes")
        theme = browser.run("return document.documentElement.dataset.theme")
        web.check(theme == "dark", "and is dark again afterwards")
        web.check_quiet(browser, page)
        browser.command("Emulation.setScriptExecutionDisabled", value=True)
        browser.call("POST", browser.session + "/url", {"url": pathlib.Path(page).resolve().as_uri()})
        text = browser.call("GET", f"{browser.session}/element/{browser.find('noscript pre')}/text")
        web.check("req-0069" in text and "Critical path" in text, "without JavaScript the answer is there as text")
    return 0


if __name__ == "__main__":
    sys.exit(main())
