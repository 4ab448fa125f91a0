#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of all requests: histogram, bands, and a table that sorts, searches and follows the histogram.
usage: page_requests.py --program FILE --make-page FILE --source DIR --output DIR"""
import json
import os
import subprocess
import sys

import browser as web


def get_ids(browser):
    return browser.run("return [...document.querySelectorAll('#rows tbody th')].map(cell => cell.textContent)")


def check_sorting(browser, requests):
    browser.run("if (!document.getElementById('more').hidden) document.getElementById('more').click()")
    ids = get_ids(browser)
    web.check(sorted(ids) == sorted(request["id"] for request in requests), "every request has a row")
    by_id = {request["id"]: request for request in requests}
    durations = [by_id[name]["duration_ns"] for name in ids]
    web.check(durations == sorted(durations, reverse=True), "longest first")
    browser.click("#rows th:nth-child(5) button")
    durations = [by_id[name]["duration_ns"] for name in get_ids(browser)]
    web.check(durations == sorted(durations), "shortest first after a click")
    web.check(browser.run("return document.querySelector('#rows th:nth-child(5)').getAttribute('aria-sort')") ==
              "ascending", "and the header says so")
    browser.click("#rows th:nth-child(4) button")
    starts = [by_id[name]["start_ns"] for name in get_ids(browser)]
    web.check(all(b - a > -1000 for a, b in zip(starts, starts[1:])), "by start")


def check_choosing(browser, requests):
    counts = browser.run("return [...document.querySelectorAll('.bin > text')].map(text => parseInt(text.textContent))")
    web.check(sum(counts) == len(requests), "the histogram has every request")
    browser.run("document.querySelectorAll('.bin')[1].dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    web.check(len(get_ids(browser)) == counts[1], "a bar lists its requests")
    browser.click("#clear")
    wanted = requests[0]["id"]
    browser.type("#search", wanted)
    web.check(wanted in get_ids(browser) and len(get_ids(browser)) < len(requests), "search finds an id")
    browser.run("const s = document.getElementById('search'); s.value = ''; s.dispatchEvent(new Event('input'))")


def main():
    options = web.get_options()
    page = os.path.join(options.output, "requests.html")
    demo = os.path.join(options.source, "clusters/demo")
    command = [options.program, "requests", "--bundle", demo, "--quiet", "--format", "json", "--html", page]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=200)
    document = json.loads(done.stdout)
    web.check(os.path.getsize(page) < 3_000_000, f"under 3 MB: {os.path.getsize(page)}")
    with web.start() as browser:
        browser.open(page)
        browser.settle()
        web.check(browser.text("#headline") == f"{len(document['requests'])} requests", "the headline counts them")
        bands = browser.run("return document.querySelectorAll('#band-table tbody tr').length")
        web.check(bands == len(document["summary"]["bands"]), "a row for each band")
        check_sorting(browser, document["requests"])
        check_choosing(browser, document["requests"])
        for width, height in ((1280, 800), (390, 844)):
            for scheme in ("light", "dark"):
                browser.set_screen(width, height, scheme)
                wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
                web.check(wide <= 0, f"nothing sticks out at {width} columns, {scheme}")
                browser.screenshot(os.path.join(options.output, f"requests-{width}x{height}-{scheme}.png"))
        web.check_quiet(browser, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
