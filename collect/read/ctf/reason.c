/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collect/read/ctf/reason.h"

#include <glib.h>

const char *dtc_reason_translate(const char *message)
{
	/* of babeltrace2 2.0, source.ctf.fs: begins of the messages, the first that fits counts */
	static const struct {
		const char *begin, *words;
	} reasons[] = {
		{ "No event class with ID", "it has an event that the metadata does not declare" },
		{ "No stream class with ID", "it has packets that the metadata does not declare" },
		{ "Cannot handle state", "an event there cannot be decoded" },
		{ "Cannot decode event", "an event there cannot be decoded" },
		{ "Cannot decode packet", "the header of a packet cannot be decoded" },
		{ "Cannot switch packet", "the packet after it cannot be found" },
		{ "Cannot append", "a text in an event is not one" },
		{ "Cannot set dynamic array", "a length in an event cannot be right" },
		{ "Cannot select variant", "a choice in an event cannot be right" },
		{ "Cannot find variant", "a choice in an event cannot be right" },
		{ "Cannot ensure", "it ends inside an event" },
		{ "Cannot read first packet", "its first packet cannot be decoded" },
		{ "Cannot get stream file's first packet", "its first packet cannot be decoded" },
		{ "Cannot get nanoseconds", "a time in it cannot be right" },
		{ "Cannot convert clock", "a time in it cannot be right" },
		{ "Failed to convert", "a time in it cannot be right" },
		{ "Cannot open", "it cannot be opened" },
		{ "Failed to open", "it cannot be opened" },
		{ "Cannot memory-", "it cannot be mapped into memory" },
		{ "Cannot allocate", "there is not enough memory for it" },
		{ "Failed to allocate", "there is not enough memory for it" },
		{ "Cannot translate", "its metadata cannot be understood" },
		{ "Cannot update metadata", "its metadata cannot be understood" },
		{ "Cannot create metadata", "its metadata cannot be understood" },
		{ "Cannot create trace", "its metadata cannot be understood" },
		{ "Failed to create trace", "its metadata cannot be understood" },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(reasons); i++)
		if (g_str_has_prefix(message, reasons[i].begin))
			return reasons[i].words;
	return "it cannot be decoded";
}
