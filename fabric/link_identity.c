/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "fabric/link_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void link_identity_print(char text[TLS_IDENTITY_BYTES_MAX + 1], const char *session, uint32_t from,
                         uint32_t to, uint32_t incarnation)
{
    snprintf(text, TLS_IDENTITY_BYTES_MAX + 1, "%s/%u/%u/%u", session, from, to, incarnation);
}

int link_identity_parse(const char *text, struct link_identity *ret_identity)
{
    struct link_identity identity;
    char again[TLS_IDENTITY_BYTES_MAX + 1];
    const char *slash = strchr(text, '/');
    size_t length = slash != NULL ? (size_t)(slash - text) : 0;
    unsigned long numbers[3];

    if (length == 0 || length > LINK_SESSION_LENGTH_MAX)
        return -EBADMSG;
    memcpy(identity.session, text, length);
    identity.session[length] = '\0';
    for (int i = 0; i < 3; i++) {
        char *end;
        if (*slash != '/')
            return -EBADMSG;
        numbers[i] = strtoul(slash + 1, &end, 10);
        slash = end;
    }
    identity.from = (uint32_t)numbers[0];
    identity.to = (uint32_t)numbers[1];
    identity.incarnation = (uint32_t)numbers[2];
    /* One text for one identity: no signs, blanks, leading zeros, overflows or trailing bytes. */
    link_identity_print(again, identity.session, identity.from, identity.to, identity.incarnation);
    if (strcmp(again, text) != 0)
        return -EBADMSG;
    *ret_identity = identity;
    return 0;
}
