/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "base/wire.h"
#include "test/support/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

#define STRING_BYTES_MAX 100

static void put_one_of_each(struct buffer *out)
{
    wire_put_u8(out, 0xfe);
    wire_put_u16(out, 0x1234);
    wire_put_u32(out, 0x12345678);
    wire_put_u64(out, 0x123456789abcdef0u);
    wire_put_varint(out, 300);
    wire_put_bytes(out, "a\0b", 3);
    wire_put_string(out, "text");
    wire_put_string(out, "array");
    wire_put_optional_string(out, "");
    wire_put_optional_string(out, NULL);
    wire_put_bytes(out, NULL, 0);
}

/* Reads one of each; 1 if all of it is what was put. */
static int get_one_of_each(struct wire_reader *reader)
{
    int same = 1;
    struct wire_bytes bytes;
    char *text;
    char array[6];

    same = wire_get_u8(reader) == 0xfe && same;
    same = wire_get_u16(reader) == 0x1234 && same;
    same = wire_get_u32(reader) == 0x12345678 && same;
    same = wire_get_u64(reader) == 0x123456789abcdef0u && same;
    same = wire_get_varint(reader) == 300 && same;
    bytes = wire_get_bytes(reader, 3);
    same = bytes.length_bytes == 3 && memcmp(bytes.data, "a\0b", 3) == 0 && same;
    text = wire_get_string(reader, STRING_BYTES_MAX);
    same = strcmp(text, "text") == 0 && same;
    free(text);
    wire_get_string_into(reader, array, sizeof(array));
    same = strcmp(array, "array") == 0 && same;
    text = wire_get_optional_string(reader, 0);
    same = text != NULL && text[0] == '\0' && same;
    free(text);
    same = wire_get_optional_string(reader, STRING_BYTES_MAX) == NULL && same;
    same = wire_get_bytes(reader, 0).length_bytes == 0 && same;
    return same;
}

static void test_round_trip(void)
{
    struct buffer bytes = {0};
    struct wire_reader reader;
    int refused = 1;

    put_one_of_each(&bytes);
    is_bytes(bytes.data, 15, "\xfe\x34\x12\x78\x56\x34\x12\xf0\xde\xbc\x9a\x78\x56\x34\x12", 15,
             "numbers are little-endian");
    is_bytes(bytes.data + 15, 6, "\xac\x02\x03\x61\x00\x62", 6,
             "a varint has seven bits a byte, bytes have their length in front");
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    ok(get_one_of_each(&reader) && wire_finish(&reader) == 0, "what is put is got");
    for (size_t length = 0; length < bytes.length_bytes; length++) {
        unsigned char *cut = malloc(length > 0 ? length : 1); /* for the sanitizer to guard */

        memcpy(cut, bytes.data, length);
        wire_reader_init(&reader, cut, length);
        get_one_of_each(&reader);
        refused = refused && wire_finish(&reader) == -EBADMSG && wire_status(&reader) == -EBADMSG;
        free(cut);
    }
    ok(refused, "cut at every byte: an error");
    wire_put_u8(&bytes, 0);
    wire_reader_init(&reader, bytes.data, bytes.length_bytes);
    ok(get_one_of_each(&reader) && wire_status(&reader) == 0 && wire_left(&reader) == 1 &&
           wire_finish(&reader) == -EBADMSG,
       "a byte too many: no failure, but not finished");
    buffer_fini(&bytes);
}

static void test_sticky(void)
{
    struct wire_reader reader;
    char array[4] = "old";
    char *text;

    wire_reader_init(&reader, "\x05\x06\x07", 3);
    wire_get_u32(&reader);
    ok(wire_get_u8(&reader) == 0 && wire_get_varint(&reader) == 0 && wire_left(&reader) == 0,
       "after a failure every number is 0");
    text = wire_get_string(&reader, STRING_BYTES_MAX);
    is_string(text, "", "every string is empty");
    free(text);
    wire_get_string_into(&reader, array, sizeof(array));
    is_string(array, "", "every array is empty");
    ok(wire_get_bytes(&reader, 9).length_bytes == 0, "all bytes are none");
    wire_reader_init(&reader, NULL, 0);
    is_int(wire_finish(&reader), 0, "nothing to read is read");
    wire_fail(&reader);
    is_int(wire_finish(&reader), -EBADMSG, "a decoder can fail the reader");
}

/* Reads a varint of the bytes; 1 if it is value and all was read. */
static int varint_is(const char *bytes, size_t length, uint64_t value)
{
    struct wire_reader reader;

    wire_reader_init(&reader, bytes, length);
    return wire_get_varint(&reader) == value && wire_finish(&reader) == 0;
}

static void test_varint(void)
{
    struct random_state random;
    int held = 1;

    random_init(&random, 1);
    for (int round = 0; round < 100000; round++) {
        uint64_t value = random_next(&random) >> random_below(&random, 64);
        struct buffer bytes = {0};

        if (random_chance(&random, 0.1))
            value = ~value;
        wire_put_varint(&bytes, value);
        held = held && varint_is((char *)bytes.data, bytes.length_bytes, value);
        for (size_t length = 0; length < bytes.length_bytes; length++)
            held = held && !varint_is((char *)bytes.data, length, value);
        buffer_fini(&bytes);
    }
    ok(held, "numbers of every length survive, and are refused when cut");
    ok(varint_is("\x00", 1, 0), "0 is one byte");
    ok(varint_is("\x7f", 1, 127), "127 is one byte");
    ok(varint_is("\x80\x01", 2, 128), "128 is two");
    ok(varint_is("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, UINT64_MAX), "2^64-1 is ten");
    ok(!varint_is("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, 0x7fffffffffffffff),
       "65 bits are refused");
    ok(!varint_is("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00", 11, UINT64_MAX),
       "eleven bytes are refused");
    ok(!varint_is("\x80\x00", 2, 0), "an overlong form is refused");
}

static void test_limits(void)
{
    struct wire_reader reader;
    char array[4];
    char *text;

    wire_reader_init(&reader, "\x07", 1);
    ok(wire_get_varint_max(&reader, 7) == 7 && wire_finish(&reader) == 0, "a number at its limit");
    wire_reader_init(&reader, "\x07", 1);
    ok(wire_get_varint_max(&reader, 6) == 0 && wire_finish(&reader) < 0, "a number above it");
    wire_reader_init(&reader,
                     "\x03"
                     "abc",
                     4);
    ok(wire_get_bytes(&reader, 2).data == NULL && wire_finish(&reader) < 0, "bytes above a limit");
    wire_reader_init(&reader,
                     "\x04"
                     "abcd",
                     5);
    wire_get_string_into(&reader, array, sizeof(array));
    ok(array[0] == '\0' && wire_finish(&reader) < 0, "a string that leaves no room for its NUL");
    wire_reader_init(&reader,
                     "\x03"
                     "a\0c",
                     4);
    text = wire_get_string(&reader, STRING_BYTES_MAX);
    ok(text[0] == '\0' && wire_finish(&reader) < 0, "a NUL inside a string");
    free(text);
    wire_reader_init(&reader, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
    ok(wire_get_bytes(&reader, SIZE_MAX).data == NULL && wire_finish(&reader) < 0,
       "a length of 2^64-1");
}

/* Arbitrary bytes are read without harm: for the sanitizers. */
static void test_garbage(void)
{
    struct random_state random;

    random_init(&random, 2);
    for (int round = 0; round < 20000; round++) {
        size_t length = random_below(&random, 40);
        unsigned char *bytes = malloc(length > 0 ? length : 1);
        struct wire_reader reader;

        for (size_t i = 0; i < length; i++)
            bytes[i] = (unsigned char)random_next(&random);
        wire_reader_init(&reader, bytes, length);
        get_one_of_each(&reader);
        free(bytes);
    }
    pass("random bytes are read without harm");
}

int main(void)
{
    test_round_trip();
    test_sticky();
    test_varint();
    test_limits();
    test_garbage();
    return done_testing();
}
