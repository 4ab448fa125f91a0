#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names that are markup, script, escape codes or 4 KiB long are shown as what they are and do nothing.
usage: page_hostile.py --program FILE --make-page FILE --source DIR --output DIR"""
import os
import subprocess
import sys

import browser as web


def main():
    options = web.get_options()
    page = os.path.join(options.output, "hostile.html")
    with open(page, "wb") as file:
        subprocess.run([options.make_page, "hostile"], stdout=file, check=True, timeout=60)
    with web.start() as browser:
        browser.open(page)
        browser.settle()
        for selector in ("#tree-open", "#path-details > summary"):
            browser.click(selector)
        browser.type("#lanes", "nnnn")
        browser.act(("move", "#lanes", 0, 0))
        web.check(browser.run("return window.pwned === undefined"), "no foreign script ran")
        web.check(browser.run("return document.querySelectorAll('img, iframe, object, embed, link').length") == 0,
                  "no foreign element was made")
        web.check(browser.run("return document.scripts.length") == 5, "no script but the page's own")
        subject = browser.text("#subject")
        web.check(subject.startswith("</script><script>window.pwned=1</script>"), "markup is shown as text")
        web.check("\x1b" not in subject and "\u202e" not in subject, "escape codes are written out")
        web.check("@@DATA@@" in browser.text("#tree"), "a place of the template in a name stays a name")
        widest = browser.run("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
        web.check(widest <= 0, "a long name does not widen the page")
        web.check("clocks not aligned" in browser.text("#path"), "clocks that are not aligned are said to be so")
        hidden = browser.run("return document.getElementById('incomplete').hidden")
        web.check(not hidden, "incomplete is said at the top")
        web.check_quiet(browser, page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
