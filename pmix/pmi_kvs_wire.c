/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/pmi_kvs_wire.h"

void pmi_kvs_encode_put(const char *key, const char *value, struct buffer *out)
{
    wire_put_string(out, key);
    wire_put_string(out, value);
}

void pmi_kvs_encode_ended(struct buffer *out)
{
    pmi_kvs_encode_put("", "", out);
}

void pmi_kvs_decode_put(struct wire_reader *reader, char *ret_key, char *ret_value)
{
    wire_get_string_into(reader, ret_key, PMI_KVS_KEY_BYTES);
    wire_get_string_into(reader, ret_value, PMI_KVS_VALUE_BYTES);
}
