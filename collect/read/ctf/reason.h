/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What babeltrace2 means by what it says when it gives up, in words for people who never heard of its states. */
#pragma once

/* Borrowed, for ever: "an event there cannot be decoded". What is not known is "it cannot be decoded". */
const char *dtc_reason_translate(const char *message);
