/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/nearest.h"

#include "test/support/tap.h"

static void test_nearest(void)
{
    static const char *const words[] = {"run", "help", "version"};

    is_string(nearest_word("rnu", words, 3), "run", "two letters in the wrong order");
    is_string(nearest_word("versoin", words, 3), "version", "also in a long word");
    is_string(nearest_word("hlep", words, 3), "help", "and in a short one");
    is_string(nearest_word("launch", words, 3), NULL, "nothing is near");
    is_string(nearest_word("ran", words, 3), "run", "one slip in a short word");
    is_string(nearest_word("rin", (const char *const[]){"ring", "run"}, 2), "ring", "the first");
    is_string(nearest_word("top", (const char *const[]){"map", "stop"}, 2), "stop",
              "not one that differs in two letters of three");
    is_string(nearest_word("mem", (const char *const[]){"mpi"}, 1), NULL, "which is another word");
    is_string(nearest_word("ru", words, 3), NULL, "nor anything for two letters");
    is_string(nearest_word("", words, 3), NULL, "nothing is near to nothing");
}

int main(void)
{
    test_nearest();
    return done_testing();
}
