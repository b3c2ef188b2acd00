/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * join_visit NODE FILE: joins as `banyand --join FILE --node NODE` does, writes the boot record that
 * it is given to its standard output, and becomes no daemon: for tests that must know a record.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/link_guest.h"
#include "launch/start/join_roster.h"
#include "launch/start/join_token.h"

#define TEXT_BYTES  (64 * 1024)
#define PATIENCE_MS 20000

static void fail(const char *what)
{
    fprintf(stderr, "join_visit: %s\n", what);
    exit(1);
}

int main(int argc, char **argv)
{
    static char text[TEXT_BYTES];
    FILE *file = argc == 3 ? fopen(argv[2], "re") : NULL;
    size_t bytes = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    unsigned char key[SECRET_BYTES];
    char identity[JOIN_IDENTITY_BYTES];
    struct message *answer = NULL;
    struct error error = ERROR_NONE;
    struct join_token token;
    struct link_guest guest = {.addresses = &token.addresses,
                               .identity = identity,
                               .key = key,
                               .patience_ms = PATIENCE_MS};

    if (file == NULL)
        fail("usage: join_visit NODE FILE");
    fclose(file);
    if (join_token_find(text, bytes, argv[1], &token, &error) < 0)
        fail(error.text);
    guest.place = token.place;
    join_token_identity_print(identity, token.session, token.place);
    if (join_roster_derive_key(token.secret, identity, key) < 0)
        fail("no key");
    if (link_guest_visit(&guest, &answer, &error) < 0)
        fail(error.text);
    if (fwrite(answer->data, 1, answer->length_bytes, stdout) != answer->length_bytes)
        fail("cannot write");
    message_release(answer);
    return EXIT_SUCCESS;
}
