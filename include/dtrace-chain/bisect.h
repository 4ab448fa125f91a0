/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a condition ends that holds for the first entries of a sorted list: the one binary search. The condition is
 * written where it is asked, over whatever the list is, and compiled into the loop: a comparison function, or a key in
 * a struct, would cost a call for each probe where maps and histories are asked millions of times.
 */
#pragma once

/*
 * The first index in [begin, end) for which is_before does not hold; end if it holds for all. index is the name under
 * which is_before knows the place that it is asked about, an expression without effects. That it never holds again
 * behind a place where it does not is the caller's promise. Indexes have the type of begin + end, and nothing
 * overflows as long as both fit into it.
 *
 *	uint32_t first = DTC_BISECT(i, 0, count, runs[i].begin_ns < time_ns);	// the first at or after time
 *	uint32_t after = DTC_BISECT(i, 0, count, runs[i].begin_ns <= time_ns);	// the first after it
 *	uint32_t knot = DTC_BISECT(i, 1, count, knots[i].x <= x) - 1;		// the last not after x, else the first
 */
/* NOLINTBEGIN(bugprone-macro-parentheses): index is a name to declare, which takes none */
#define DTC_BISECT(index, begin, end, is_before)                                                                       \
	__extension__({                                                                                                \
		__typeof__((begin) + (end)) index##_low = (begin), index##_high = (end);                               \
		while (index##_low < index##_high) {                                                                   \
			__typeof__((begin) + (end)) index = index##_low + (index##_high - index##_low) / 2;            \
			if (is_before)                                                                                 \
				index##_low = index + 1;                                                               \
			else                                                                                           \
				index##_high = index;                                                                  \
		}                                                                                                      \
		index##_low;                                                                                           \
	})

/*
 * The same, for who expects the answer near a place in [begin, end]: it costs the logarithm of how far that is from
 * the answer, and two probes if it is the answer or just before it. near is evaluated once, and before anything else.
 *
 *	at = DTC_BISECT_NEAR(i, 0, count, at, runs[i].begin_ns <= time_ns); // times that mostly go on by little
 */
#define DTC_BISECT_NEAR(index, begin, end, near, is_before)                                                            \
	__extension__({                                                                                                \
		__typeof__((begin) + (end)) index##_near = (near), index##_low = (begin), index##_high = (end),        \
					    index##_step = 0;                                                          \
		int index##_known = 0; /* 1: low was moved; 2: high; 3: both, what is left is bisected */              \
		while (index##_low < index##_high) {                                                                   \
			__typeof__((begin) + (end)) index##_gap = index##_high - index##_low,                          \
						    index##_jump =                                                     \
							    index##_step < index##_gap ? index##_step : index##_gap;   \
			__typeof__((begin) + (end)) index = index##_known == 3	 ? index##_low + index##_gap / 2       \
							    : index##_known == 2 ? index##_high - index##_jump         \
							    : index##_known == 1 ? index##_low + index##_jump - 1      \
							    : index##_near < index##_high ? index##_near               \
											  : index##_high - 1;          \
			if (is_before) {                                                                               \
				index##_low = index + 1;                                                               \
				index##_known |= 1;                                                                    \
			} else {                                                                                       \
				index##_high = index;                                                                  \
				index##_known |= 2;                                                                    \
			}                                                                                              \
			index##_step = index##_step * 2 + 1;                                                           \
		}                                                                                                      \
		index##_low;                                                                                           \
	})
/* NOLINTEND(bugprone-macro-parentheses) */
