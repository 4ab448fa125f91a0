/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --headers-only: what of a captured packet is written. Headers of the network and transport stay; of HTTP/1 the start
 * line, the names of headers, and the values that carry an id or say where a message ends. Other values and bodies in
 * between are overwritten, what comes after the last header is cut; of other protocols nothing is left. The lengths
 * that the packet had on the wire are not touched.
 *
 * Each packet is looked at by itself: of headers that go on in a second segment, nothing of that is kept, ids neither.
 */
#pragma once

#include <glib.h>
#include <stdint.h>

/*
 * Overwrites in place and gives how many of the captured bytes are kept. The packet begins with a LINUX_SLL2 header.
 * more are names of headers to keep, lower case, NULL-terminated; or NULL.
 */
guint32 dtc_headers_only_cut(uint8_t *packet, guint32 captured_bytes, const char *const *more);
