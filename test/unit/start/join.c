/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Join tokens: their text, the book that lets each be used once, and visits over a link set, each from
 * a child process, as the visitor blocks.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "fabric/address.h"
#include "fabric/link_guest.h"
#include "fabric/link_set.h"
#include "fabric/loop.h"
#include "fabric/tls.h"
#include "launch/start/join_roster.h"
#include "launch/start/join_token.h"
#include "test/support/tap.h"

#define SESSION       "0123456789abcdef"
#define OTHER_SESSION "fedcba9876543210"
#define PLACES        4
#define LATER_NS      (3600ull * 1000 * 1000 * 1000)
#define LARGE_BYTES   (300u * 1024)

/* ---- Texts ---- */

static struct join_token sample(void)
{
    struct join_token token = {.session = SESSION, .place = 3};

    token.addresses.count = 2;
    (void)address_parse("10.1.2.3:4711", &token.addresses.items[0], NULL);
    (void)address_parse("[fe80::1]:4711", &token.addresses.items[1], NULL);
    for (size_t i = 0; i < SECRET_BYTES; i++)
        token.secret[i] = (unsigned char)(i * 7);
    return token;
}

static int is_same(const struct join_token *a, const struct join_token *b)
{
    return strcmp(a->session, b->session) == 0 && a->place == b->place &&
           a->addresses.count == b->addresses.count &&
           address_equal(&a->addresses.items[0], &b->addresses.items[0]) &&
           address_equal(&a->addresses.items[1], &b->addresses.items[1]) &&
           memcmp(a->secret, b->secret, SECRET_BYTES) == 0;
}

static void test_text(void)
{
    struct join_token token = sample(), again;
    struct buffer text = {0};
    struct error error;
    int wrong = 0;

    join_token_print(&token, &text);
    is_int(join_token_parse(buffer_string(&text), text.length_bytes, &again, &error), 0,
           "a token is read");
    ok(is_same(&token, &again), "and is what was written");
    for (size_t i = 0; i < text.length_bytes; i++) {
        char before = (char)text.data[i];

        text.data[i] = before == '0' ? '1' : '0';
        wrong += join_token_parse((char *)text.data, text.length_bytes, &again, &error) < 0;
        text.data[i] = (unsigned char)before;
        wrong += join_token_parse((char *)text.data, i, &again, &error) < 0;
    }
    is_int(wrong, 2 * (int64_t)text.length_bytes, "no change and no cut is taken for one");
    ok(is_same(&token, &again), "what cannot be read changes nothing");
    text.data[strlen("banyan-join-")] = '9';
    is_int(join_token_parse((char *)text.data, text.length_bytes, &again, &error), -EPROTO,
           "another version");
    has_string(error.text, "install the same version", "and what to do about it");
    buffer_fini(&text);
}

static int find(const char *text, const char *node_name, uint32_t *ret_place, struct error *error)
{
    struct join_token token = {.place = 0};
    int rc = join_token_find(text, strlen(text), node_name, &token, error);

    *ret_place = token.place;
    return rc;
}

static void test_file(void)
{
    struct join_token token = sample();
    struct buffer one = {0}, file = {0};
    struct error error;
    uint32_t place;

    join_token_print(&token, &one);
    is_int(find(buffer_string(&one), "n1", &place, &error), 0, "a token alone is anybody's");
    buffer_printf(&file, "# comment\n\n  n1 \t%s \r\n", buffer_string(&one));
    is_int(find(buffer_string(&file), "other", &place, &error), 0, "a line alone is anybody's");
    token.place = 2;
    buffer_append_string(&file, "n2 ");
    join_token_print(&token, &file);
    is_int(find(buffer_string(&file), "n2", &place, &error), 0, "the line of a node");
    is_uint(place, 2, "is its own");
    is_int(find(buffer_string(&file), "n1", &place, &error), 0, "so is the first");
    is_uint(place, 3, "whatever is between the words");
    is_int(find(buffer_string(&file), "n", &place, &error), -ENOENT, "no other node's");
    has_string(error.text, "none of its 2 tokens is for \"n\"", "and it says so");
    is_int(find("# nothing\n\n", "n1", &place, &error), -ENOENT, "a file without one");
    is_int(find("n1 hello\n", "n1", &place, &error), -EBADMSG, "a word that is no token");
    buffer_fini(&one);
    buffer_fini(&file);
}

static void test_identity(void)
{
    char text[JOIN_IDENTITY_BYTES];
    uint32_t place = 0;

    join_token_identity_print(text, SESSION, 7);
    is_string(text, SESSION "/join/7", "an identity");
    is_int(join_token_identity_parse(text, SESSION, &place), 0, "is read");
    is_uint(place, 7, "as its place");
    is_int(join_token_identity_parse(SESSION "/join/07", SESSION, &place), -EBADMSG,
           "in one form only");
    is_int(join_token_identity_parse(SESSION "/join/0", SESSION, &place), -EBADMSG,
           "not the root's");
    is_int(join_token_identity_parse(SESSION "/1/0/1", SESSION, &place), -EBADMSG, "no link's");
    is_int(join_token_identity_parse(text, OTHER_SESSION, &place), -EBADMSG, "of no other session");
}

/* ---- The book ---- */

static void test_book(void)
{
    struct join_roster *book = join_roster_create(SESSION, PLACES, 1000);
    unsigned char key[SECRET_BYTES], other[SECRET_BYTES];
    struct ranges missing = {0};
    struct join_token token;
    struct error error;
    uint32_t place = 0;

    is_int(join_roster_key(book, SESSION "/join/1", key), 0, "there is a key for a place");
    is_int(join_roster_key(book, SESSION "/join/2", other), 0, "and for the next");
    ok(memcmp(key, other, SECRET_BYTES) != 0, "which is another");
    join_roster_token(book, 1, &token);
    (void)join_roster_derive_key(token.secret, SESSION "/join/1", other);
    is_bytes(key, SECRET_BYTES, other, SECRET_BYTES, "it comes from the token's secret");
    is_int(join_roster_key(book, SESSION "/join/4", key), -EACCES, "none for a place too many");
    is_int(join_roster_key(book, OTHER_SESSION "/join/1", key), -EACCES, "none of another session");
    is_int(join_roster_claim(book, SESSION "/join/1", 999, &place, &error), 0, "a token is used");
    is_uint(place, 1, "for its place");
    is_int(join_roster_claim(book, SESSION "/join/1", 999, &place, &error), -EEXIST, "but once");
    has_string(error.text, "place 1 has already been used", "which it says");
    is_int(join_roster_claim(book, SESSION "/join/2", 1000, &place, &error), -ETIME,
           "one that has expired is not");
    has_string(error.text, "place 2 has expired", "which it says");
    join_roster_joined(book, 3);
    join_roster_joined(book, 3);
    is_int(join_roster_claim(book, SESSION "/join/3", 999, &place, &error), -EEXIST,
           "a place that is alive cannot be claimed");
    has_string(error.text, "place 3 is alive", "which it says");
    is_uint(join_roster_left(book), 2, "two have not joined");
    join_roster_missing(book, &missing);
    ok(ranges_count(&missing) == 2 && !ranges_contains(&missing, 3), "and these are they");
    ranges_fini(&missing);
    join_roster_destroy(book);
}

/* ---- Visits ---- */

static struct loop *loop;
static struct link_set *links;
static struct join_roster *book;
static struct addresses addresses;
static uint64_t shift_ns;
static char last_log[512];

static int find_key(void *context, const char *identity, unsigned char *ret_key)
{
    return join_roster_key(book, identity, ret_key);
}

static struct message *answer(void *context, const char *identity, struct error *why)
{
    struct message *message;
    uint32_t place;

    if (join_roster_claim(book, identity, loop_now_ns() + shift_ns, &place, why) < 0)
        return NULL;
    message = message_create_blank(LARGE_BYTES);
    memset(message->data, (int)place, LARGE_BYTES);
    return message;
}

static const struct link_guests guests = {.find_key = find_key, .answer = answer};
static const struct transport_events no_events;

static void note_log(void *context, enum log_level level, const char *line)
{
    snprintf(last_log, sizeof(last_log), "%s", line);
}

/* The visitor, in the child: its exit status is 0, or the errno. */
static int visit(const struct join_token *token, uint32_t patience_ms, int error_fd)
{
    char identity[JOIN_IDENTITY_BYTES];
    unsigned char key[SECRET_BYTES];
    struct link_guest guest = {.addresses = &token->addresses,
                               .identity = identity,
                               .key = key,
                               .place = token->place,
                               .patience_ms = patience_ms};
    struct message *message = NULL;
    struct error error = ERROR_NONE;
    int rc;

    join_token_identity_print(identity, token->session, token->place);
    (void)join_roster_derive_key(token->secret, identity, key);
    rc = link_guest_visit(&guest, &message, &error);
    if (rc == 0 && (message->length_bytes != LARGE_BYTES ||
                    message->data[LARGE_BYTES - 1] != (unsigned char)token->place))
        rc = -EBADMSG;
    message_release(message);
    (void)!write(error_fd, error.text, strlen(error.text));
    return -rc;
}

static void on_child(void *context)
{
    loop_stop(loop);
}

/* The errno of a visit while the loop turns, and what it said in text. */
static int visited(const struct join_token *token, uint32_t patience_ms,
                   char text[ERROR_TEXT_BYTES])
{
    struct loop_signal *ended = loop_signal_create(loop, SIGCHLD, on_child, NULL);
    int ends[2], status = 0;
    ssize_t bytes;
    pid_t pid;

    last_log[0] = '\0';
    if (pipe(ends) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        _exit(visit(token, patience_ms, ends[1]));
    }
    close(ends[1]);
    loop_run(loop);
    waitpid(pid, &status, 0);
    bytes = read(ends[0], text, ERROR_TEXT_BYTES - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(ends[0]);
    loop_signal_destroy(ended);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void open_root(void)
{
    static const unsigned char secret[LINK_SECRET_BYTES] = "the secret of this test instance";
    struct link_set_config config = {.secret = secret,
                                     .session = SESSION,
                                     .incarnation = 1,
                                     .events = &no_events,
                                     .guests = &guests};
    struct error error;

    loop = loop_create(&error);
    config.loop = loop;
    config.listen_on.count = 1;
    (void)address_parse("127.0.0.1", &config.listen_on.items[0], &error);
    links = link_set_create(&config, &error);
    link_set_addresses(links, &addresses);
    book = join_roster_create(SESSION, PLACES, loop_now_ns() + LATER_NS);
}

static struct join_token token_of(uint32_t place)
{
    struct join_token token;

    join_roster_token(book, place, &token);
    token.addresses = addresses;
    return token;
}

static void test_visits(void)
{
    struct join_token token = token_of(1), other;
    char text[ERROR_TEXT_BYTES];

    /* An address that refuses, one that is silent and one twice: one visit is made. */
    token.addresses.count = 3;
    (void)address_parse("127.0.0.1:1", &token.addresses.items[0], NULL);
    token.addresses.items[1] = token.addresses.items[2] = addresses.items[0];
    is_int(visited(&token, 20000, text), 0, "a visitor gets its answer, whole: %s", text);
    is_int(visited(&token, 20000, text), ECONNABORTED, "a second one does not");
    has_string(text, "the token of place 1 has already been used", "and is told why");
    has_string(last_log, "the token of place 1 has already been used", "and so is the log");
    has_string(last_log, "127.0.0.1:", "with its address");
    other = token_of(2);
    other.secret[0] ^= 1;
    is_int(visited(&other, 20000, text), EACCES, "a wrong secret: %s", text);
    has_string(last_log, "does not know this instance's secret", "which the log has, too");
    other = token_of(2);
    memcpy(other.session, OTHER_SESSION, sizeof(other.session));
    is_int(visited(&other, 20000, text), EACCES, "a token of another session: %s", text);
    has_string(last_log, OTHER_SESSION, "which the log names");
    other = token_of(2);
    shift_ns = LATER_NS;
    is_int(visited(&other, 20000, text), ECONNABORTED, "one that has expired");
    has_string(text, "has expired", "and is told so");
    shift_ns = 0;
    is_int(visited(&other, 20000, text), 0, "nobody's failure has used it up: %s", text);
    other = token_of(3);
    other.addresses.count = 0;
    is_int(visited(&other, 20000, text), EDESTADDRREQ, "no address: %s", text);
}

/* A listener that never answers. */
static void test_silence(void)
{
    struct sockaddr_storage system;
    struct join_token token = token_of(3);
    char text[ERROR_TEXT_BYTES];
    socklen_t bytes;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    (void)address_parse("127.0.0.1", &token.addresses.items[0], NULL);
    (void)address_to_system(&token.addresses.items[0], &system, &bytes);
    ok(bind(fd, (struct sockaddr *)&system, bytes) == 0 && listen(fd, 1) == 0 &&
           getsockname(fd, (struct sockaddr *)&system, &bytes) == 0,
       "there is a listener that never answers");
    (void)address_from_system((struct sockaddr *)&system, &token.addresses.items[0]);
    is_int(visited(&token, 300, text), ETIMEDOUT, "the wait is limited");
    has_string(text, "no answer within", "which it says");
    close(fd);
}

int main(void)
{
    test_text();
    test_file();
    test_identity();
    test_book();
    log_set_sink(note_log, NULL, LOG_LEVEL_INFO);
    open_root();
    test_visits();
    test_silence();
    link_set_destroy(links);
    join_roster_destroy(book);
    loop_destroy(loop);
    tls_stop();
    return done_testing();
}
