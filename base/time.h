/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Units of time. All times are unsigned nanoseconds (uint64_t) unless their names say otherwise; who
 * subtracts the other way round casts first.
 */
#ifndef BASE_TIME_H
#define BASE_TIME_H

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S  1000000000ull

#endif
