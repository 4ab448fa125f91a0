/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a fuzz target on files: so that every build runs the corpus, with any compiler. usage: TARGET FILE|FOLDER...
 * Besides each file, its beginnings are tried: parsers break where input ends early.
 */
#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static guint run_file(const char *path)
{
	g_autofree char *data = NULL;
	gsize bytes;
	g_autoptr(GError) error = NULL;
	if (!g_file_get_contents(path, &data, &bytes, &error)) {
		g_printerr("%s\n", error->message);
		return 0;
	}
	enum { CUTS = 64 };
	for (gsize cut = 0; cut <= CUTS; cut++) {
		gsize part = bytes * cut / CUTS;
		/* A copy of exactly that size, so that a sanitizer sees a read beyond it. */
		g_autofree uint8_t *copy = g_memdup2(data, part);
		LLVMFuzzerTestOneInput(copy, part);
	}
	return 1;
}

static guint run_path(const char *path)
{
	if (!g_file_test(path, G_FILE_TEST_IS_DIR))
		return run_file(path);
	guint count = 0;
	g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
	for (const char *name; folder && (name = g_dir_read_name(folder));) {
		g_autofree char *file = g_build_filename(path, name, NULL);
		count += run_file(file);
	}
	return count;
}

int main(int argc, char **argv)
{
	guint count = 0;
	for (int i = 1; i < argc; i++)
		count += run_path(argv[i]);
	g_print("%u files\n", count);
	return count > 0 ? 0 : 1;
}
