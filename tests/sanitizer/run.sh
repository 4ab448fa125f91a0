#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Builds the asan preset and runs its unit, property, golden and fuzz corpus tests, and what else has the label
# sanitized: of reading and of damage.
# usage: run.sh SOURCE-DIR BUILD-DIR
set -eu
cmake -S "$1" -B "$2" --preset asan -DCMAKE_COMPILE_WARNING_AS_ERROR=ON --log-level=WARNING >/dev/null
cmake --build "$2" -- --quiet
labels='^(unit|property|golden|fuzz.*|sanitized)$'
exec ctest --test-dir "$2" --output-on-failure --parallel "$(nproc)" --label-regex "$labels"
