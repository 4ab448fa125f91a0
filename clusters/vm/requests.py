#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""The requests of this recording, "id kind path" a line: most of them CPU in the guest, so that some meet the program
that wants the same CPU; the others for comparison."""
import random

random.seed(4)
kinds = ["cpu"] * 12 + ["fast"] * 3 + ["disk"] * 3 + ["sleep"] + ["host/fast"] * 2 + ["host/sleep"]
random.shuffle(kinds)
for number, kind in enumerate(kinds, 1):
    print("req-%04d %s /%s" % (number, kind.replace("/", ""), kind))
