/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes and durations as people type them. What is none is a usage error that names the option. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* "512M", "64GiB", "2T", or bytes. */
bool dtc_size_parse(const char *option, const char *text, guint64 *ret_bytes, GError **error);
/* "30s", "1.5s", "500ms", "5m", "2h"; more than nothing and less than a year. */
bool dtc_duration_parse(const char *option, const char *text, int64_t *ret_ns, GError **error);
