/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * URLs that differ in ids only are one: "/cart/8123/items?page=2" and "/cart/77/items" are one pattern,
 * with a "*" for the id (which is how --url and compare take it). The query is left out. A segment of the path is an id
 * if it is
 * - digits, or such with "-", "_", ".", ":" or "," between;
 * - hexadecimal of 8 or more digits, a UUID with its dashes included, with at least one figure;
 * - a word and a number of 2 or more digits with "-", "_", "." or ":" between ("req-0111", "f.req-0111");
 * - 20 or more letters and figures with both of them (tokens);
 * so that "v1", "app2", "utf-8" and "2fa" are not.
 */
#pragma once

/* The pattern of a request target. Caller frees. */
char *dtc_url_fold(const char *url);
