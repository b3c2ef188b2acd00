/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/address.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "test/support/tap.h"

static void test_text(const char *text, const char *expected, uint16_t port)
{
    struct address address = {0};
    char printed[ADDRESS_TEXT_BYTES];
    struct error error = ERROR_NONE;

    if (expected == NULL) {
        is_int(address_parse(text, &address, &error), -EINVAL, "\"%s\" is refused", text);
        has_string(error.text, text, "and named");
        return;
    }
    is_int(address_parse(text, &address, &error), 0, "\"%s\" is read", text);
    is_string(address_print(&address, printed), expected, "and written");
    is_uint(address_port(&address), port, "with its port");
}

static void test_system(void)
{
    struct sockaddr_storage system;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct address address;
    struct address again;
    socklen_t bytes;

    address_parse("[2001:db8::7]:4242", &address, NULL);
    is_int(address_to_system(&address, &system, &bytes), 0, "IPv6 for the system");
    is_int(address_from_system((struct sockaddr *)&system, &again), 0, "and back");
    ok(address_equal(&address, &again), "is the same");
    address_set_port(&again, 4243);
    ok(!address_equal(&address, &again), "another port is another address");
    is_int(address_from_system((struct sockaddr *)&local, &again), -EAFNOSUPPORT,
           "other families are refused");
    address.length_bytes = 7;
    is_int(address_to_system(&address, &system, &bytes), -EINVAL, "bytes of a peer are checked");
    address.bytes[0] = 9;
    is_int(address_to_system(&address, &system, &bytes), -EINVAL, "also the family");
    address.length_bytes = 0;
    is_uint(address_port(&address), 0, "no address has no port");
    is_int(address_to_system(&address, &system, &bytes), -EINVAL, "nor a form for the system");
}

/* A link-local address needs the interface that leads to it. */
static void test_scope(void)
{
    struct sockaddr_storage system;
    struct address address;
    struct address again;
    char text[ADDRESS_TEXT_BYTES];
    socklen_t bytes;

    is_int(address_parse("[fe80::1%lo]:80", &address, NULL), 0, "a scope is read");
    is_string(address_print(&address, text), "[fe80::1%lo]:80", "and printed");
    is_int(address_to_system(&address, &system, &bytes), 0, "told to the system");
    is_uint(((struct sockaddr_in6 *)&system)->sin6_scope_id, if_nametoindex("lo"), "as its number");
    address_from_system((struct sockaddr *)&system, &again);
    ok(address_equal(&address, &again), "and comes back");
    is_int(address_parse("fe80::1%999999", &address, NULL), 0, "a number is taken as it is");
    is_string(address_print(&address, text), "fe80::1%999999", "and told as it is");
    ok(!address_equal(&address, &again), "another scope is another address");
    is_int(address_parse("fe80::1%nosuch0", &address, NULL), -EINVAL, "no such interface");
    is_int(address_parse("fe80::1%", &address, NULL), -EINVAL, "no interface");
    is_int(address_parse("10.0.0.1%lo", &address, NULL), -EINVAL, "IPv4 has no scope");
}

static void test_local(void)
{
    struct addresses found = {0};
    struct addresses all = {0};
    struct error error = ERROR_NONE;
    char text[ADDRESS_TEXT_BYTES];
    int loopbacks = 0;

    is_int(address_local(NULL, &all, &error), 0, "this machine has an address");
    ok(all.count > 0, "at least one: %s", address_print(&all.items[0], text));
    for (int i = 0; i < all.count; i++)
        loopbacks += address_is_loopback(&all.items[i]);
    ok(loopbacks == 0 || loopbacks == all.count, "loopback is only there if it is all there is");
    is_int(address_local("127.0.0.0/8", &found, &error), 0, "loopback can be asked for");
    is_string(address_print(&found.items[0], text), "127.0.0.1", "by its network");
    is_int(address_local("lo", &found, &error), 0, "and by its interface");
    ok(address_is_loopback(&found.items[0]), "which has it");
    is_int(address_local("203.0.113.0/24,lo", &found, &error), 0, "a list takes what it can");
    is_int(address_local("127.0.0.1", &found, &error), 0, "a single address is a network");
    is_int(address_local("203.0.113.0/24", &found, &error), -ENODEV, "a network that is not here");
    has_string(error.text, "lo 127.0.0.1", "says what there is");
    is_int(address_local("10.0.0.0/33", &found, &error), -EINVAL, "33 bits are too many");
    has_string(error.text, "item 1", "and the item is named");
    is_int(address_local("lo,", &found, &error), -EINVAL, "an empty item is refused");
    is_int(address_local("10.x/8", &found, &error), -EINVAL, "so is half an address");
}

static void test_prefix(void)
{
    static const struct {
        const char *address;
        const char *prefix;
        unsigned int bits;
        int expected;
    } cases[] = {{"10.1.2.3", "10.1.0.0", 16, 1},   {"10.1.2.3", "10.1.0.0", 23, 0},
                 {"10.1.2.3", "10.1.2.2", 31, 1},   {"10.1.2.3", "10.1.2.2", 32, 0},
                 {"10.1.2.3", "192.168.0.0", 0, 1}, {"10.1.2.3", "::", 0, 0},
                 {"fd00:6::1", "fd00:6::", 64, 1},  {"fd00:6::1", "fd00:7::", 64, 0},
                 {"10.1.2.3", "10.1.2.3", 33, 0},   {"fd00::ff", "fd00::fe", 127, 1},
                 {"fd00::ff", "fd00::fe", 128, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct address address, prefix;
        address_parse_ip(cases[i].address, &address);
        address_parse_ip(cases[i].prefix, &prefix);
        is_int(address_has_prefix(&address, &prefix, cases[i].bits), cases[i].expected,
               "%s in %s/%u", cases[i].address, cases[i].prefix, cases[i].bits);
    }
}

static void test_interfaces(void)
{
    struct buffer interfaces = {0}, devices = {0};
    struct error error = ERROR_NONE;

    is_int(address_net_interfaces("127.0.0.0/8,lo", &interfaces, &devices, &error), 0,
           "interfaces of a network");
    is_string(buffer_string(&interfaces), "lo", "each once");
    is_string(buffer_string(&devices), "lo", "loopback has no device");
    is_int(address_net_interfaces("203.0.113.0/24", &interfaces, &devices, &error), -ENODEV,
           "there may be none");
    is_int(address_net_check("203.0.113.0/24,eth99", &error), 0, "of which a check says nothing");
    is_int(address_net_check("10.0.0.0/8,,lo", &error), -EINVAL, "it sees what is malformed");
    is_int(address_net_check("10.0.0.0/", &error), -EINVAL, "also no bits");
    is_int(address_net_check("fd00::/129", &error), -EINVAL, "or too many");
    buffer_fini(&interfaces);
    buffer_fini(&devices);
}

int main(void)
{
    test_text("127.0.0.1", "127.0.0.1", 0);
    test_text("10.1.2.3:4242", "10.1.2.3:4242", 4242);
    test_text("::1", "::1", 0);
    test_text("[2001:db8::7]", "2001:db8::7", 0);
    test_text("[2001:db8::7]:65535", "[2001:db8::7]:65535", 65535);
    test_text("10.1.2.3:65536", NULL, 0);
    test_text("10.1.2.3:0", NULL, 0);
    test_text("10.1.2.3:", NULL, 0);
    test_text("10.1.2.3:+1", NULL, 0);
    test_text("10.1.2", NULL, 0);
    test_text("[10.1.2.3]:1", NULL, 0);
    test_text("[::1", NULL, 0);
    test_text("[::1]x", NULL, 0);
    test_text("localhost", NULL, 0);
    test_system();
    test_scope();
    test_local();
    test_prefix();
    test_interfaces();
    return done_testing();
}
