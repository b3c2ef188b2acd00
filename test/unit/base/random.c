/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/random.h"
#include "test/support/tap.h"

static void test_below(void)
{
    struct random_state random;
    unsigned int counts[10] = {0};
    int within = 1, even = 1;

    random_init(&random, 3);
    for (int i = 0; i < 100000; i++)
        counts[random_below(&random, 10)]++;
    for (int i = 0; i < 10; i++)
        even = even && counts[i] > 9500 && counts[i] < 10500;
    ok(even, "numbers below 10 are equally frequent");
    for (int i = 0; i < 1000; i++)
        within = within && random_below(&random, 1) == 0 &&
                 random_below(&random, UINT64_C(1) << 63) < UINT64_C(1) << 63 &&
                 random_below(&random, UINT64_MAX) < UINT64_MAX;
    ok(within, "numbers stay below small and large bounds");
}

int main(void)
{
    struct random_state a, b, c;
    double sum = 0;
    int same = 1, within = 1, hits = 0;

    /* The reference implementation's first numbers for the state 1, 2, 3, 4. */
    a = (struct random_state){{1, 2, 3, 4}};
    is_uint(random_next(&a), 11520, "first number of xoshiro256**");
    is_uint(random_next(&a), 0, "second number");
    is_uint(random_next(&a), 1509978240, "third number");

    random_init(&a, 42);
    random_init(&b, 42);
    random_init(&c, 43);
    for (int i = 0; i < 1000; i++)
        same = same && random_next(&a) == random_next(&b);
    ok(same, "one seed, one sequence");
    ok(random_next(&a) != random_next(&c), "another seed, another sequence");
    for (int i = 0; i < 100000; i++) {
        double unit = random_unit(&a);

        within = within && unit >= 0 && unit < 1;
        sum += unit;
        hits += random_chance(&a, 0.25);
    }
    ok(within, "units lie in [0, 1)");
    ok(sum > 49500 && sum < 50500, "with mean one half");
    ok(hits > 24500 && hits < 25500, "a chance of a quarter comes a quarter of the time");
    ok(!random_chance(&a, 0) && random_chance(&a, 1), "never is never, always is always");
    test_below();
    return done_testing();
}
