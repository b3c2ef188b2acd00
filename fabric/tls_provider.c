/* SPDX-License-Identifier: BSD-3-Clause */
/* RAND_set_rand_method is of the old interface, and the only one that costs nothing at the start. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "config.h"

#include "fabric/tls_provider.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>

#include "fabric/secret.h"

#define PROVIDER_NAME        "banyan"
#define OPERATION_COUNT      32 /* OpenSSL's OSSL_OP_*: the highest is 22 */
#define ALGORITHMS_MAX       4  /* of one operation, and the end */
#define OPENSSL_MAJOR_TESTED 3
#define OPENSSL_MINOR_TESTED 0

/* What TLS 1.3 with an external key asks for; the key's binder is an HMAC in the form of a signature.
 * No other signature is ever made, but ClientHello must name an algorithm that could be: Ed25519,
 * which OpenSSL counts with ECDSA. */
static const struct {
    int operation;
    const char *names[ALGORITHMS_MAX];
} offered[] = {
    {OSSL_OP_CIPHER, {"AES-128-GCM"}},
    {OSSL_OP_DIGEST, {"SHA2-256"}},
    {OSSL_OP_MAC, {"HMAC"}},
    {OSSL_OP_KDF, {"TLS13-KDF"}},
    {OSSL_OP_KEYMGMT, {"X25519", "ED25519", "HMAC"}},
    {OSSL_OP_KEYEXCH, {"X25519"}},
    {OSSL_OP_SIGNATURE, {"HMAC", "ECDSA"}},
};

static struct {
    OSSL_PROVIDER *standard; /* in OpenSSL's default library context */
    OSSL_PROVIDER *ours;
    OSSL_LIB_CTX *library;
    OSSL_ALGORITHM tables[OPERATION_COUNT][ALGORITHMS_MAX];
    int is_filled[OPERATION_COUNT];
} state;

/* ---- Random bytes of the kernel ---- */

static int random_bytes(unsigned char *bytes, int count)
{
    secret_fill_random(bytes, (size_t)count);
    return 1;
}

static int random_status(void)
{
    return 1;
}

static const RAND_METHOD random_method = {
    .bytes = random_bytes,
    .pseudorand = random_bytes,
    .status = random_status,
};

/* ---- The provider ---- */

/* names is "A:B:1.2.3": does name stand first? */
static int is_named(const char *names, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(names, name, length) == 0 && (names[length] == ':' || names[length] == '\0');
}

static void fill_table(int operation, OSSL_ALGORITHM *table)
{
    int no_cache = 0;
    const OSSL_ALGORITHM *all = NULL;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++) {
        if (offered[i].operation != operation)
            continue;
        all = OSSL_PROVIDER_query_operation(state.standard, operation, &no_cache);
        for (; all != NULL && all->algorithm_names != NULL; all++)
            for (int n = 0; n < ALGORITHMS_MAX - 1 && offered[i].names[n] != NULL; n++)
                if (is_named(all->algorithm_names, offered[i].names[n]) &&
                    count < ALGORITHMS_MAX - 1)
                    table[count++] = *all;
    }
}

static const OSSL_ALGORITHM *query(void *context, int operation, int *ret_no_cache)
{
    *ret_no_cache = 0;
    if (operation < 0 || operation >= OPERATION_COUNT)
        return NULL;
    if (!state.is_filled[operation])
        fill_table(operation, state.tables[operation]);
    state.is_filled[operation] = 1;
    return state.tables[operation];
}

struct capability {
    OSSL_CALLBACK *callback;
    void *argument;
};

/* Of TLS groups only X25519 is passed on. */
static int pass_group(const OSSL_PARAM parameters[], void *context)
{
    const struct capability *capability = context;
    const OSSL_PARAM *name =
        OSSL_PARAM_locate_const(parameters, OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL);

    if (name != NULL && strcasecmp(name->data, "X25519") != 0)
        return 1;
    return capability->callback(parameters, capability->argument);
}

static int get_capabilities(void *context, const char *name, OSSL_CALLBACK *callback,
                            void *argument)
{
    struct capability capability = {.callback = callback, .argument = argument};

    return OSSL_PROVIDER_get_capabilities(state.standard, name, pass_group, &capability);
}

static int init_provider(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                         const OSSL_DISPATCH **ret_out, void **ret_context)
{
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
        {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))get_capabilities},
        {0, NULL},
    };

    /* The algorithms are the standard provider's and get its context. */
    *ret_out = functions;
    *ret_context = OSSL_PROVIDER_get0_provider_ctx(state.standard);
    return 1;
}

OSSL_LIB_CTX *tls_provider_start(void)
{
    if (OPENSSL_version_major() != OPENSSL_MAJOR_TESTED ||
        OPENSSL_version_minor() != OPENSSL_MINOR_TESTED)
        return NULL;
    RAND_set_rand_method(&random_method);
    state.standard = OSSL_PROVIDER_load(NULL, "default");
    state.library = OSSL_LIB_CTX_new();
    if (state.standard != NULL && state.library != NULL &&
        OSSL_PROVIDER_add_builtin(state.library, PROVIDER_NAME, init_provider))
        state.ours = OSSL_PROVIDER_load(state.library, PROVIDER_NAME);
    if (state.ours == NULL)
        tls_provider_stop();
    return state.library;
}

void tls_provider_stop(void)
{
    ERR_clear_error();
    if (state.ours != NULL)
        OSSL_PROVIDER_unload(state.ours);
    OSSL_LIB_CTX_free(state.library);
    if (state.standard != NULL)
        OSSL_PROVIDER_unload(state.standard);
    memset(&state, 0, sizeof(state));
}
