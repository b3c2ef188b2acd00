/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contributions to a group: those of several nodes in one result, and results that are none.
 */
#include "config.h"

#include "pmix/pmi_group.h"
#include "test/support/tap.h"

#include <errno.h>
#include <string.h>

int main(void)
{
    struct buffer result = {0}, data = {0};
    uint64_t number = 1;

    is_int(pmi_group_decode(NULL, 0, &number, &data), 0, "a result of nobody");
    ok(number == 0 && data.length_bytes == 0, "has nothing");
    pmi_group_encode(0x200003, "one", 3, &result);
    pmi_group_encode(0x100001, NULL, 0, &result);
    pmi_group_encode(0x100002, "two", 3, &result);
    is_int(pmi_group_decode(result.data, result.length_bytes, &number, &data), 0,
           "one of three nodes");
    ok(number == 0x200003, "the number is the first one's");
    ok(data.length_bytes == 6 && memcmp(data.data, "onetwo", 6) == 0, "the data is that of all");
    for (size_t bytes = 1; bytes < result.length_bytes; bytes++) {
        int is_whole = bytes == 12 || bytes == 21;

        buffer_clear(&data);
        is_int(pmi_group_decode(result.data, bytes, &number, &data), is_whole ? 0 : -EBADMSG,
               "the first %zu bytes of it", bytes);
    }
    memset(result.data, 0, 8);
    buffer_clear(&data);
    is_int(pmi_group_decode(result.data, result.length_bytes, &number, &data), -EBADMSG,
           "a number that is none");
    buffer_fini(&data);
    buffer_fini(&result);
    return done_testing();
}
