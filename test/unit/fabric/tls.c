/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/secret.h"
#include "test/support/tap.h"

#define IDENTITY "abc/1/2/3"

static const unsigned char good_key[TLS_KEY_BYTES] = "a good key of thirty-two bytes..";
static const unsigned char bad_key[TLS_KEY_BYTES] = "a bad key of thirty-two bytes...";

/* Both ends, and what each has sent. */
static struct tls *client;
static struct tls *server;
static struct buffer from_client;
static struct buffer from_server;
static struct error client_error;
static struct error server_error;

static int find_key(void *context, const char *identity, unsigned char *ret_key)
{
    if (strcmp(identity, IDENTITY) != 0)
        return -EACCES;
    memcpy(ret_key, context, TLS_KEY_BYTES);
    return 0;
}

static void open_pair(const char *identity, const unsigned char *server_key)
{
    client = tls_create_client(identity, good_key, NULL);
    server = tls_create_server(find_key, (void *)server_key, NULL);
    tls_output(client, &from_client);
    tls_output(server, &from_server);
    client_error = ERROR_NONE;
    server_error = ERROR_NONE;
}

static void close_pair(void)
{
    tls_destroy(client);
    tls_destroy(server);
    buffer_fini(&from_client);
    buffer_fini(&from_server);
}

/* Moves what one side sent to the other. */
static void carry(struct tls *to, struct buffer *from)
{
    static struct buffer carried;

    buffer_clear(&carried);
    buffer_swap(&carried, from);
    tls_input(to, carried.data, carried.length_bytes);
}

static void shake_hands(int *ret_client, int *ret_server)
{
    *ret_client = -EAGAIN;
    *ret_server = -EAGAIN;
    for (int i = 0; i < 4; i++) {
        if (*ret_client == -EAGAIN)
            *ret_client = tls_handshake(client, &client_error);
        carry(server, &from_client);
        if (*ret_server == -EAGAIN)
            *ret_server = tls_handshake(server, &server_error);
        carry(client, &from_server);
    }
}

static void test_good(void)
{
    int client_rc;
    int server_rc;
    char text[64] = "";
    size_t bytes = 0;

    open_pair(IDENTITY, good_key);
    shake_hands(&client_rc, &server_rc);
    is_int(client_rc, 0, "a client with the key is let in");
    is_int(server_rc, 0, "and the server knows it");
    is_string(tls_identity(server), IDENTITY, "by its identity");
    is_int(tls_write(client, "hello", 6), 0, "the client writes");
    carry(server, &from_client);
    is_int(tls_read(server, text, sizeof(text), &bytes), 0, "the server reads");
    is_string(text, "hello", "the same");
    is_int(tls_read(server, text, sizeof(text), &bytes), -EAGAIN, "and nothing more");
    tls_write(client, "again", 6);
    from_client.data[from_client.length_bytes - 1] ^= 1;
    carry(server, &from_client);
    is_int(tls_read(server, text, sizeof(text), &bytes), -EPROTO, "a changed bit is noticed");
    close_pair();
}

static void test_large(void)
{
    static unsigned char sent[1000000];
    static unsigned char received[sizeof(sent)];
    size_t total = 0;
    size_t bytes = 0;
    int client_rc;
    int server_rc;

    for (size_t i = 0; i < sizeof(sent); i++)
        sent[i] = (unsigned char)(i * 7 >> 3);
    open_pair(IDENTITY, good_key);
    shake_hands(&client_rc, &server_rc);
    tls_write(server, sent, sizeof(sent));
    ok(from_server.length_bytes < sizeof(sent) + sizeof(sent) / 100, "records cost under 1 %%");
    carry(client, &from_server);
    while (total < sizeof(received) &&
           tls_read(client, received + total, sizeof(received) - total, &bytes) == 0)
        total += bytes;
    is_bytes(received, total, sent, sizeof(sent), "a megabyte arrives");
    close_pair();
}

static void test_wrong_key(void)
{
    int client_rc;
    int server_rc;

    open_pair(IDENTITY, bad_key);
    shake_hands(&client_rc, &server_rc);
    is_int(server_rc, -EACCES, "a wrong key is refused");
    has_string(server_error.text, "does not know this instance's secret", "with the reason");
    is_int(client_rc, -EACCES, "the client is told");
    has_string(client_error.text, "secret", "why");
    close_pair();
}

static void test_wrong_identity(void)
{
    int client_rc;
    int server_rc;

    open_pair("abd/1/2/3", good_key);
    shake_hands(&client_rc, &server_rc);
    is_int(server_rc, -EACCES, "an unknown identity is refused");
    has_string(server_error.text, "abd/1/2/3", "and named");
    is_int(client_rc, -EACCES, "the client is told");
    has_string(client_error.text, "another instance or place", "why");
    close_pair();
}

static void test_garbage(void)
{
    struct error error = ERROR_NONE;

    open_pair(IDENTITY, good_key);
    tls_input(server, "GET / HTTP/1.0\r\n\r\n", 18);
    is_int(tls_handshake(server, &error), -EPROTO, "another protocol is refused");
    has_string(error.text, "does not speak our TLS", "with the reason");
    close_pair();
}

/* Every byte alone, and every prefix of a ClientHello followed by nothing. */
static void test_small_steps(void)
{
    struct buffer hello = {0};
    int rc = -EAGAIN;

    open_pair(IDENTITY, good_key);
    tls_handshake(client, &client_error);
    buffer_swap(&hello, &from_client);
    for (size_t i = 0; i < hello.length_bytes && rc == -EAGAIN; i++) {
        tls_input(server, hello.data + i, 1);
        rc = tls_handshake(server, &server_error);
    }
    is_int(rc, -EAGAIN, "a ClientHello in single bytes is understood");
    ok(from_server.length_bytes > 0, "and answered");
    carry(client, &from_server);
    is_int(tls_handshake(client, &client_error), 0, "the client is content");
    buffer_fini(&hello);
    close_pair();
}

/* A recorded handshake that is sent again does not get through, for the server's part is new. */
static void test_replay(void)
{
    struct buffer record = {0};
    struct error error = ERROR_NONE;
    int rc = -EAGAIN;

    open_pair(IDENTITY, good_key);
    tls_handshake(client, &client_error);
    buffer_append(&record, from_client.data, from_client.length_bytes);
    carry(server, &from_client);
    tls_handshake(server, &server_error);
    carry(client, &from_server);
    is_int(tls_handshake(client, &client_error), 0, "a handshake is recorded");
    tls_write(client, "do it", 5);
    buffer_append(&record, from_client.data, from_client.length_bytes);
    close_pair();
    open_pair(IDENTITY, good_key);
    tls_input(server, record.data, record.length_bytes);
    rc = tls_handshake(server, &error);
    ok(rc < 0 && rc != -EAGAIN, "played again, it is refused");
    buffer_fini(&record);
    close_pair();
}

/* The context of the parent is good in a child: a daemon may be forked without exec. */
static void test_fork(void)
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        int client_rc;
        int server_rc;
        open_pair(IDENTITY, good_key);
        shake_hands(&client_rc, &server_rc);
        _exit(client_rc == 0 && server_rc == 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    is_int(status, 0, "a forked child shakes hands with its parent's context");
}

/* RFC 5869, A.3: no salt, no info. */
static void test_derive(void)
{
    static const unsigned char expected[32] = {
        0x8d, 0xa4, 0xe7, 0x75, 0xa5, 0x63, 0xc1, 0x8f, 0x71, 0x5f, 0x80,
        0x2a, 0x06, 0x3c, 0x5a, 0x31, 0xb8, 0xa1, 0x1f, 0x5c, 0x5e, 0xe1,
        0x87, 0x9e, 0xc3, 0x45, 0x4e, 0x5f, 0x3c, 0x73, 0x8d, 0x2d,
    };
    unsigned char secret[22];
    unsigned char key[TLS_KEY_BYTES];
    unsigned char other[TLS_KEY_BYTES];
    char info[TLS_IDENTITY_BYTES_MAX + 3];

    memset(secret, 0x0b, sizeof(secret));
    is_int(tls_derive_key(secret, sizeof(secret), "", key), 0, "a key is derived");
    is_bytes(key, sizeof(key), expected, sizeof(expected), "as RFC 5869 says");
    tls_derive_key(secret, sizeof(secret), "abc/1/2/3", key);
    tls_derive_key(secret, sizeof(secret), "abc/2/1/3", other);
    ok(memcmp(key, other, sizeof(key)) != 0, "the two directions have two keys");
    memset(info, 'x', sizeof(info) - 1);
    info[sizeof(info) - 1] = '\0';
    is_int(tls_derive_key(secret, sizeof(secret), info, key), -EINVAL, "a long info is refused");
}

static void test_secret(void)
{
    unsigned char *a = secret_create(32);
    unsigned char *b = secret_create(32);

    secret_fill_random(a, 32);
    secret_fill_random(b, 32);
    ok(memcmp(a, b, 32) != 0, "two secrets differ");
    secret_clear(a, 32);
    secret_clear(b, 32);
    ok(memcmp(a, b, 32) == 0, "cleared ones do not");
    secret_destroy(a, 32);
    secret_destroy(b, 32);
}

int main(void)
{
    test_good();
    test_large();
    test_wrong_key();
    test_wrong_identity();
    test_garbage();
    test_small_steps();
    test_replay();
    test_fork();
    test_derive();
    test_secret();
    tls_stop();
    is_int(tls_start(NULL), 0, "it can be stopped and started again");
    test_good();
    tls_stop();
    return done_testing();
}
