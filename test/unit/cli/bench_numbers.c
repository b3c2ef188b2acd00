/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of numbers as `banyan bench` has them: launch/cli/verb/bench_numbers.c. */
#include "config.h"

#include "launch/cli/verb/bench_numbers.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "test/support/tap.h"

static struct buffer numbers_text;

/* "1 2 4", or "refused". */
static const char *parsed(const char *text, uint32_t maximum)
{
    struct bench_numbers numbers;
    int rc = bench_numbers_parse(text, maximum, &numbers);

    buffer_clear(&numbers_text);
    if (rc == -EINVAL)
        return "refused";
    for (uint32_t i = 0; i < numbers.count; i++)
        buffer_printf(&numbers_text, "%s%u", i > 0 ? " " : "", numbers.items[i]);
    return buffer_string(&numbers_text);
}

static void test_parse(void)
{
    is_string(parsed("7", 9), "7", "one");
    is_string(parsed("3,1,3", 9), "3 1 3", "several, as they are");
    is_string(parsed("1K,2m", 2 << 20), "1024 2097152", "units");
    is_string(parsed("3..13,1", 99), "3 6 12 1", "each the double");
    is_string(parsed("5..5", 9), "5", "once");
    is_string(parsed("10", 9), "refused", "too large");
    is_string(parsed("1..16", 9), "refused", "at its end");
    is_string(parsed("4..2", 9), "refused", "descending");
    is_string(parsed("0..8", 9), "refused", "from 0, which has no double");
    is_string(parsed("", 9), "refused", "none");
    is_string(parsed("1,", 9), "refused", "nothing after a comma");
    is_string(parsed("1x", 9), "refused", "no number");
    is_string(parsed("-1", 9), "refused", "less than none");
    is_string(parsed("99999999999999999999", UINT32_MAX), "refused", "more than any");
}

static void test_many(void)
{
    struct bench_numbers numbers;
    struct buffer text = {0};

    for (uint32_t i = 0; i < BENCH_NUMBERS_MAX; i++)
        buffer_printf(&text, "%s%u", i > 0 ? "," : "", BENCH_NUMBERS_MAX - i % 100);
    is_int(bench_numbers_parse(buffer_string(&text), UINT32_MAX, &numbers), 0, "as many as go in");
    is_uint(numbers.count, BENCH_NUMBERS_MAX, "all are there");
    bench_numbers_sort(&numbers);
    is_uint(numbers.count, 100, "each once");
    ok(numbers.items[0] == BENCH_NUMBERS_MAX - 99 && numbers.items[99] == BENCH_NUMBERS_MAX,
       "ascending");
    buffer_append_string(&text, ",1");
    is_int(bench_numbers_parse(buffer_string(&text), UINT32_MAX, &numbers), -EINVAL, "one more");
    buffer_fini(&text);
}

int main(void)
{
    test_parse();
    test_many();
    buffer_fini(&numbers_text);
    return done_testing();
}
