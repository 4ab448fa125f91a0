/* SPDX-License-Identifier: GPL-3.0-or-later */
/* dtrace-collect agent: what `dtrace-collect cluster` runs on nodes; for nobody to type, and so in no manual */
#include "collect/record/cluster/agent.h"
#include "collect/record/cluster/boot.h"
#include "collect/record/collect.h"
#include "dtrace-chain/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

/* By its name, which is what the recording then has of it; a file that was removed meanwhile still has the other one.
 */
static char *get_program(void)
{
	char *path = g_file_read_link("/proc/self/exe", NULL);

	if (path && g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
		return path;
	g_free(path);
	return g_strdup("/proc/self/exe");
}

static int serve(const char *folder, bool resumes)
{
	g_autofree char *program = get_program();
	const struct dtc_agent_request request = {
		.folder = folder,
		.program = program,
		.in_fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0),
		.out_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0),
		.resumes = resumes,
		.silence_ns = 20 * SECOND_NS,
		.linger_ns = 60 * SECOND_NS,
	};
	g_autoptr(GError) error = NULL;

	if (dtc_agent_serve(&request, &error))
		return 0;
	return dtc_program_report_error(&dtc_collect_program, error);
}

int dtc_collect_agent(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (argc == 2 && strcmp(what, "version") == 0) {
		puts(dtc_boot_get_version());
		return 0;
	}
	if (argc == 3 && (strcmp(what, "serve") == 0 || strcmp(what, "resume") == 0))
		return serve(argv[2], strcmp(what, "resume") == 0);
	g_autoptr(GError) error = g_error_new(DTC_COLLECT_ERROR, DTC_ERROR_USAGE,
					      "an agent is run by `dtrace-collect cluster`\nit is of no use alone");
	return dtc_program_report_error(&dtc_collect_program, error);
}
