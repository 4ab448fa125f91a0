#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's page: opens from disk, shows what the JSON report says, zooms, selects, searches, folds, and fits a phone.
Screenshots are left in the output folder.
usage: page_demo.py --program FILE --make-page FILE --source DIR --output DIR"""
import json
import os
import subprocess
import sys

import browser as web


def format_duration(ns):
    """As the page does it."""
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= scale:
            value = ns / scale
            return f"{value:.{0 if value >= 1000 else 1 if value >= 100 else 2 if value >= 10 else 3}f} {unit}"
    return f"{ns} ns"


def make_page(options):
    page = os.path.join(options.output, "demo.html")
    demo = os.path.join(options.source, "clusters/demo")
    command = [options.program, "--bundle", demo, "--request-id", "req-0069", "--quiet", "--format", "json"]
    done = subprocess.run(command + ["--html", page], stdout=subprocess.PIPE, check=True, timeout=120)
    report = json.loads(done.stdout)
    with open(page, "rb") as file:
        first = file.read()
    subprocess.run(command + ["--html", page], stdout=subprocess.DEVNULL, check=True, timeout=120)
    with open(page, "rb") as file:
        web.check(file.read() == first, "two runs give the same bytes")
    web.check(len(first) < 3_000_000, f"under 3 MB: {len(first)}")
    return page, report


def check_answer(browser, report):
    web.check(browser.text("#subject") == report["request"]["id"], "the request's id")
    web.check(browser.text("#total") == format_duration(report["duration_ns"]), "the total")
    verdict = browser.text("#verdict")
    web.check(report["dominant"]["cause"] in verdict and report["dominant"]["tier"] in verdict, "the dominant cause")
    web.check(format_duration(report["dominant"]["ns"]) in verdict, "and its time")
    tiers = browser.run("return [...document.querySelectorAll('#tiers tr.tier')].map(r => r.cells[0].textContent)")
    web.check(set(tiers) == {row["tier"] for row in report["breakdown"]}, "every tier in the table")
    shown = browser.run("""return [...document.querySelectorAll('#tiers tr.row td.figure[title]')]
                        .reduce((sum, cell) => sum + parseInt(cell.title), 0)""")
    web.check(shown == report["duration_ns"], "the rows sum to the total to the nanosecond")
    steps = browser.run("return document.querySelectorAll('#path tbody tr').length")
    web.check(0 < steps <= len(report["path"]), "the path as a table")


def check_head(browser, options, report):
    """The page says what the terminal says."""
    demo = os.path.join(options.source, "clusters/demo")
    command = [options.program, demo, "-r", report["request"]["id"], "-q", "--width", "1000"]
    text = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    head = text.split("\n\n")[0].split("\n")
    web.check(browser.text("#verdict").startswith(head[1] + ". "), "the verdict is the terminal's")
    machines = browser.run("return [...document.querySelectorAll('#machines li')].map(l => l.textContent)")
    web.check(machines, "machines are listed")
    for machine, line in zip(machines, head[2:]):
        node, parts = line.split()[0], line.split(" %  ", 1)[1]
        web.check(machine.startswith(node) and machine.endswith(parts), f"a machine's line: {machine}")
    web.check(head[0].split("ms  ")[1].split(".")[0][:10] in browser.text("#meta"), "the day")


def check_causes(browser, report):
    """Every cause leads to what it means, without a network."""
    causes = {row["cause"] for row in report["breakdown"]}
    links = browser.run("return [...document.querySelectorAll('#tiers a.cause')].map(a => [a.textContent, a.hash])")
    web.check({name for name, _ in links} == causes, "every cause of the table is a link")
    missing = browser.run("""return [...document.querySelectorAll('a.cause')].map(a => a.hash.slice(1))
                          .filter(id => !document.getElementById(id))""")
    web.check(missing == [], f"links lead somewhere: {missing}")
    browser.run("document.querySelector('#verdict a.cause').click()")
    browser.wait("return document.querySelector('.causes details[open]') !== null", "the explanation to open")
    shown = browser.run("return document.querySelector('.causes details[open]').textContent")
    web.check(shown.startswith(report["dominant"]["cause"]) and "Look at" in shown and "Try" in shown,
              f"the cause's page: {shown[:80]}")
    browser.run("history.replaceState(null, '', location.pathname); window.scrollTo(0, 0)")


def check_zoom(browser):
    begin, end = browser.view()
    browser.click("#zoom-in")
    inner = browser.view()
    web.check(inner[0] > begin and inner[1] < end, "the button zooms in")
    browser.click("#zoom-all")
    web.check(browser.view() == (begin, end), "and fits all again")
    browser.type("#lanes", "+")
    web.check(browser.view()[1] - browser.view()[0] < end - begin, "the + key zooms in")
    at = browser.view()
    browser.type("#lanes", "\ue014")  # right arrow
    web.check(browser.view()[0] > at[0], "the arrow moves")
    browser.type("#lanes", "-0")
    web.check(browser.view() == (begin, end), "0 fits all")
    browser.wheel("#lanes", -400)
    web.check(browser.view()[1] - browser.view()[0] < end - begin, "the wheel zooms in")
    browser.type("#lanes", "0")
    browser.act(("move", "#lanes", 0, 0), ("down",), ("move", "#lanes", 60, 0), ("move", "#lanes", 120, 0), ("up",))
    part = browser.view()
    web.check(part[1] - part[0] < (end - begin) / 4, "dragging zooms into a part")
    browser.type("#lanes", "0")


def check_selection(browser, report):
    browser.type("#lanes", "n")
    first = browser.run("return document.getElementById('lanes').dataset.selected")
    browser.type("#lanes", "nn")
    third = browser.run("return document.getElementById('lanes').dataset.selected")
    web.check(first.startswith("step:") and int(third.split(":")[1]) == int(first.split(":")[1]) + 2,
              "n walks along the path")
    web.check("on the critical path" in browser.text("#selection"), "the step is told in words")
    browser.type("#lanes", "0")
    # hovering over the middle of the longest step of the path tells what it is
    longest = max(report["path"], key=lambda step: step["end_ns"] - step["start_ns"])
    x, y = browser.run("""
        const [begin, end, lane] = arguments, canvas = document.getElementById('lanes');
        const row = timeline.rowOfLane.get(model.lanes.findIndex(l => l.tid === lane));
        return [timeline.toX((begin + end) / 2) - canvas.clientWidth / 2, row.middle - canvas.clientHeight / 2];""",
                       longest["start_ns"] - report["start_ns"], longest["end_ns"] - report["start_ns"], longest["tid"])
    browser.act(("move", "#lanes", round(x), round(y)))
    tip = browser.text("#tip")
    web.check(longest["cause"] in tip and longest["comm"] in tip, f"hovering tells: {tip}")


def check_tree(browser, report):
    def count_items():
        return browser.run("return document.querySelectorAll('[role=treeitem]').length")

    def count(nodes):
        return sum(1 + count(node["children"]) for node in nodes)

    browser.click("#tree-open")
    web.check(count_items() == count(report["causality"]), "open all shows every blocking")
    browser.click("#tree-close")
    visible = browser.run("return [...document.querySelectorAll('[role=treeitem]')].filter(i => i.offsetParent).length")
    web.check(visible == len(report["causality"]), "close all leaves the first level")
    nested = browser.run("""
        const items = [...document.querySelectorAll('#tree > [role=treeitem][aria-expanded]')];
        const item = items[0];
        item.querySelector('.fold').click();
        return [item.getAttribute('aria-expanded'), item.querySelectorAll('[role=treeitem]').length];""")
    web.check(nested[0] == "true" and nested[1] > 0, "a line opens")
    browser.run("window.scrollTo(0, document.body.scrollHeight)")
    browser.run("document.querySelector('#tree [role=treeitem] [role=treeitem] .text').click()")
    browser.settle()
    selected = browser.run("return [timeline.selection.type, timeline.selection.begin, timeline.selection.end]")
    begin, end = browser.view()
    web.check(selected[0] == "blocking" and begin <= selected[1] and selected[2] <= end, "a line is shown in the lanes")
    web.check(browser.run("return document.querySelectorAll('#tree [aria-selected=true]').length") == 1, "and marked")
    # the page may scroll smoothly
    browser.wait("""const box = document.getElementById('lanes').getBoundingClientRect();
                 return box.top < innerHeight && box.bottom > 0""", "the lanes to be in view")


def set_search(browser, text):
    browser.run("""const search = document.getElementById('search');
                search.value = arguments[0];
                search.dispatchEvent(new Event('input'))""", text)
    browser.settle()


def check_search(browser, report):
    comm = next(step["comm"] for step in report["path"] if step["comm"])
    browser.type("#search", comm)
    web.check("thread" in browser.text("#hits"), "search counts threads")
    browser.type("#search", "\ue007")  # Enter
    web.check(browser.run("return timeline.selection.type") == "step", "Enter goes to a step")
    set_search(browser, "no such thing")
    web.check(browser.text("#hits") == "nothing found", "and says so when there is nothing")
    set_search(browser, "")


def check_clocks(browser):
    web.check(browser.run("return document.querySelectorAll('#pairs tbody tr').length") >= 2, "a row for each pair")
    # no message of a cloud lies beyond its hull
    beyond = browser.run("""
        return data.pairs.flatMap(pair => [0, 1].map(back => {
            const cloud = [];
            for (let i = 0; i < pair.points.length; i += 3)
                if (pair.points[i + 2] === back)
                    cloud.push({ t: pair.points[i], ns: pair.points[i + 1] });
            cloud.sort((a, b) => a.t - b.t);
            const hull = findHull(cloud);
            return cloud.filter(p => {
                const k = Math.max(1, hull.findIndex(corner => corner.t >= p.t)), [a, b] = [hull[k - 1], hull[k]];
                return b && (b.t - a.t) * (p.ns - a.ns) - (b.ns - a.ns) * (p.t - a.t) < -1e-3 * (b.t - a.t);
            }).length;
        }))""")
    web.check(len(beyond) >= 4 and sum(beyond) == 0, f"hulls bound their clouds: {beyond}")
    web.check(browser.run("return document.querySelectorAll('#plots polyline.hull').length") == len(beyond),
              "and are drawn")


def check_access(browser):
    unnamed = browser.run("""return [...document.querySelectorAll('button, input, a, canvas:not([aria-hidden])')]
        .filter(e => !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels && e.labels.length))
        .map(e => e.outerHTML.slice(0, 80))""")
    web.check(unnamed == [], f"every control has a name: {unnamed}")
    web.check(browser.run("""return [...document.querySelectorAll('svg[role=img]')]
                          .every(e => e.getAttribute('aria-label'))"""), "every picture has one, too")
    headings = browser.run("return [...document.querySelectorAll('h1,h2,h3')].map(h => h.tagName)")
    web.check(headings[0] == "H1" and headings.count("H1") == 1, "one main heading, first")
    for scheme in ("light", "dark"):
        browser.set_screen(1280, 800, scheme)
        low = browser.run("""
            const style = getComputedStyle(document.documentElement);
            const light = name => {
                const hex = style.getPropertyValue('--' + name).trim().slice(1);
                const part = at => {
                    const v = parseInt(hex.slice(at, at + 2), 16) / 255;
                    return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
                };
                return .2126 * part(0) + .7152 * part(2) + .0722 * part(4);
            };
            const pairs = [['ink', 'paper'], ['ink', 'sheet'], ['soft', 'paper'], ['soft', 'sheet'],
                           ['accent', 'paper'], ['mark', 'paper'], ['ink', 'warn-paper']];
            return pairs.filter(([a, b]) => {
                const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
                return (x + .05) / (y + .05) < 4.5;
            }).map(pair => pair.join(' on '));""")
        web.check(low == [], f"text contrast of at least 4.5 in {scheme}: {low}")


def check_screens(browser, options):
    for width, height in ((1280, 800), (390, 844)):
        for scheme in ("light", "dark"):
            browser.set_screen(width, height, scheme)
            browser.run("window.scrollTo(0, 0); timeline.select(null)")
            browser.settle()
            web.check(browser.run("return document.documentElement.dataset.theme") == scheme, f"{scheme} is followed")
            wide = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            web.check(wide <= 0, f"nothing sticks out at {width} columns")
            browser.screenshot(os.path.join(options.output, f"demo-{width}x{height}-{scheme}.png"))
    browser.set_screen(1280, 800, "light")
    browser.click("#theme")
    browser.click("#theme")
    web.check(browser.run("return document.documentElement.dataset.theme") == "dark", "the button overrides the system")


def main():
    options = web.get_options()
    page, report = make_page(options)
    with web.start() as browser:
        browser.open(page)
        browser.settle()
        check_answer(browser, report)
        check_head(browser, options, report)
        check_causes(browser, report)
        check_zoom(browser)
        check_selection(browser, report)
        check_tree(browser, report)
        check_search(browser, report)
        check_clocks(browser)
        check_access(browser)
        check_screens(browser, options)
        web.check_quiet(browser, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
