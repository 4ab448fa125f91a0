/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that were asked for and go out one after another, as fast as the other side reads (agent.h: "get"). */
#pragma once

#include "collect/record/cluster/channel.h"

#include <glib.h>

typedef struct DtcSending DtcSending;

DtcSending *dtc_sending_new(void);
void dtc_sending_free(DtcSending *sending);
/* The rest of a file of the folder, from the offset on. */
void dtc_sending_add(DtcSending *sending, const char *folder, const char *path, guint64 offset);
/* Sends what the channel can take now. */
void dtc_sending_go_on(DtcSending *sending, DtcChannel *channel);
