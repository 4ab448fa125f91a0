/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the table of work: processes that are made for a request, and are gone before it has its answer (CGI, a shell
 * and its commands, git). Who makes one while it works for a request made it for that, and it works for that all its
 * life, as do the threads and processes that it makes itself. Not one that goes on behind the answer, which may be a
 * worker that was made on demand and has others' jobs since, nor one of which anything tells of another request.
 */
#pragma once

#include "analyze/request/serving.h"

/* Behind what others were woken or told for (inherit.h), which is merged with what their own calls tell: adds to it. */
void dtc_made_for(DtcServing *serving, const DtcLinks *links);
