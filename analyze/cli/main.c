/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analyze/cli/program.h"
#include "analyze/engine/open.h"

#include <stddef.h>

int main(int argc, char **argv)
{
	if (dtc_open_is_child(argc, argv))
		return dtc_open_serve(argv);
	return dtc_cli_run(argc, argv, NULL);
}
