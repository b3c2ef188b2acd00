/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "alloc/host_name.h"

#include <errno.h>
#include <string.h>

#include "alloc/hostlist.h"

bool host_name_has_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_' ||
           (unsigned char)byte >= 0x80;
}

bool host_name_has_address_byte(char byte)
{
    return host_name_has_byte(byte) || byte == ':' || byte == '%';
}

int host_name_byte_error(struct error *error, char byte)
{
    unsigned char code = (unsigned char)byte;

    if (code < 0x20 || code == 0x7f)
        return error_set(error, -EINVAL, "control character 0x%02x", code);
    return error_set(error, -EINVAL, "'%c' is not allowed in a node name", byte);
}

/* Addresses have two colons at least; "name:4" is no name. */
static bool is_address(const char *name, size_t name_bytes)
{
    const char *colon = memchr(name, ':', name_bytes);

    return colon != NULL && memchr(colon + 1, ':', name_bytes - (size_t)(colon + 1 - name)) != NULL;
}

/* It would be an option of other programs, or lead out of a directory. */
int host_name_check_first(char byte, struct error *error)
{
    if (byte == '-' || byte == '.')
        return error_set(error, -EINVAL, "a node name cannot begin with '%c'", byte);
    return 0;
}

int host_name_check(const char *name, size_t name_bytes, size_t *ret_offset, struct error *error)
{
    int address = is_address(name, name_bytes);

    *ret_offset = 0;
    if (name_bytes > 0 && host_name_check_first(name[0], error) < 0)
        return -EINVAL;
    if (name_bytes > HOST_NAME_BYTES_MAX)
        return error_set(error, -EINVAL, "a name of more than %d bytes", HOST_NAME_BYTES_MAX);
    for (size_t i = 0; i < name_bytes; i++) {
        if (!(address ? host_name_has_address_byte(name[i]) : host_name_has_byte(name[i]))) {
            *ret_offset = i;
            return host_name_byte_error(error, name[i]);
        }
    }
    return 0;
}
