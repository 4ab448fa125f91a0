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


def check_details(browser, requests):
    wanted = max(requests, key=lambda request: request["duration_ns"])
    browser.click("#rows tbody th button")
    state = browser.run("return document.querySelector('#rows tbody button').getAttribute('aria-expanded')")
    web.check(state == "true", "a request opens")
    shown = browser.text("#rows tr.details")
    for part in wanted["breakdown"][:3]:
        web.check(f"{part['tier']}: {part['cause']}" in shown, f"with its parts: {part['tier']} {part['cause']}")
    web.check(f"--request-id {wanted['id']}" in shown, "and how to see more of it")
    browser.click("#rows tbody th button")
    web.check(browser.run("return document.querySelector('#rows tr.details')") is None, "and closes")
    web.check(browser.run("return [quote(\"a'b c\"), quote('req-1')]") == ["'a'\\''b c'", "req-1"],
              "an id is an argument of a shell")


def check_scatter(browser, requests):
    last = min(requests, key=lambda request: request["duration_ns"])
    spots = browser.run("return scatter.spots.length")
    web.check(spots == len(requests), "a bar for each request")
    x, y = browser.run("""
        const spot = scatter.spots.find(s => s.request.id === arguments[0]);
        const canvas = document.getElementById('scatter');
        canvas.scrollIntoView({ block: 'center' });
        return [spot.x + spot.width / 2 - canvas.clientWidth / 2, spot.y - canvas.clientHeight / 2];""", last["id"])
    browser.act(("move", "#scatter", round(x), round(y)))
    web.check(last["id"] in browser.text("#tip"), f"hovering tells: {browser.text('#tip')}")
    browser.act(("move", "#scatter", round(x), round(y)), ("down",), ("up",))
    opened = browser.run("return document.querySelector('#rows [aria-expanded=true]').textContent")
    web.check(opened == last["id"], "choosing opens it in the table")
    browser.run("document.querySelector('#rows [aria-expanded=true]').click(); window.scrollTo(0, 0)")


def check_clocks(browser):
    web.check(browser.run("return document.querySelectorAll('#pairs tbody tr').length") >= 2, "the clocks of the pairs")
    web.check(browser.run("return document.querySelectorAll('#plots polyline.hull').length") >= 4, "with both hulls")


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
        browser.open(page)
        browser.settle()
        check_details(browser, document["requests"])
        check_scatter(browser, document["requests"])
        check_clocks(browser)
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
