#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hundred thousand intervals and twenty thousand steps: the page stays small and answers a zoom within 100 ms.
usage: page_large.py --program FILE --make-page FILE --source DIR --output DIR"""
import os
import subprocess
import sys

import browser as web

LIMIT_MS = 100


def main():
    options = web.get_options()
    page = os.path.join(options.output, "large.html")
    with open(page, "wb") as file:
        subprocess.run([options.make_page, "large", "100000"], stdout=file, check=True, timeout=60)
    size = os.path.getsize(page)
    web.check(size < 10_000_000, f"under 10 MB: {size}")
    with web.start() as browser:
        browser.open(page)
        browser.settle()
        bars = browser.run("return model.lanes.reduce((sum, lane) => sum + lane.begin.length, 0)")
        web.check(bars >= 99_000, f"all intervals are there: {bars}")
        times = []
        for key in "++++----0":
            browser.type("#lanes", key)
            times.append(float(browser.run("return document.getElementById('lanes').dataset.drawMs")))
        # the computer may be busy with something else: the median tells what the page costs
        median = sorted(times)[len(times) // 2]
        web.check(median < LIMIT_MS, f"a zoom is drawn within {LIMIT_MS} ms: {times}")
        browser.type("#search", "epoll")
        web.check("nothing" not in browser.text("#hits"), "search finds its way")
        web.check_quiet(browser, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
