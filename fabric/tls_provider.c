/* SPDX-License-Identifier: BSD-3-Clause */
/* RAND_set_rand_method is deprecated, but the only way that costs nothing at start-up. */
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

/* What TLS 1.3 with an external key looks up; the key's binder is an HMAC in the form of a
 * signature.  No other signature is ever made, but ClientHello must name an algorithm that could
 * be: Ed25519, which OpenSSL counts with ECDSA. */
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

/* Both providers live in one library context, because the standard one's algorithms look for what
 * they need themselves (an HMAC for its digest) in the context it was loaded into: they must find
 * ours there and nothing else.  So it is loaded, its tables are taken, and it is unloaded, which
 * only removes it from the search: the context owns it until the end. */
static struct {
    OSSL_PROVIDER *standard;
    void *standard_context;
    OSSL_PROVIDER *ours;
    OSSL_LIB_CTX *library;
    OSSL_ALGORITHM tables[OPERATION_COUNT][ALGORITHMS_MAX];
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

/* names is "A:B:1.2.3": is name the first? */
static int is_named(const char *names, const char *name)
{
    size_t length = strlen(name);

    return strncasecmp(names, name, length) == 0 && (names[length] == ':' || names[length] == '\0');
}

static int is_offered(size_t row, const char *names)
{
    for (int n = 0; n < ALGORITHMS_MAX - 1 && offered[row].names[n] != NULL; n++)
        if (is_named(names, offered[row].names[n]))
            return 1;
    return 0;
}

static void fill_tables(void)
{
    for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++) {
        int no_cache = 0;
        size_t count = 0;
        const OSSL_ALGORITHM *all =
            OSSL_PROVIDER_query_operation(state.standard, offered[i].operation, &no_cache);

        for (; all != NULL && all->algorithm_names != NULL; all++)
            if (count < ALGORITHMS_MAX - 1 && is_offered(i, all->algorithm_names))
                state.tables[offered[i].operation][count++] = *all;
    }
}

static const OSSL_ALGORITHM *query_operation(void *context, int operation, int *ret_no_cache)
{
    *ret_no_cache = 0;
    if (operation < 0 || operation >= OPERATION_COUNT)
        return NULL;
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
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query_operation},
        {OSSL_FUNC_PROVIDER_GET_CAPABILITIES, (void (*)(void))get_capabilities},
        {0, NULL},
    };

    /* The algorithms are the standard provider's and get its context. */
    *ret_out = functions;
    *ret_context = state.standard_context;
    return 1;
}

static int stand_in_front(void)
{
    state.standard_context = OSSL_PROVIDER_get0_provider_ctx(state.standard);
    fill_tables();
    if (OSSL_PROVIDER_add_builtin(state.library, PROVIDER_NAME, init_provider))
        state.ours = OSSL_PROVIDER_load(state.library, PROVIDER_NAME);
    return state.ours != NULL && OSSL_PROVIDER_unload(state.standard);
}

OSSL_LIB_CTX *tls_provider_start(void)
{
    if (OPENSSL_version_major() != OPENSSL_MAJOR_TESTED ||
        OPENSSL_version_minor() != OPENSSL_MINOR_TESTED)
        return NULL;
    RAND_set_rand_method(&random_method);
    state.library = OSSL_LIB_CTX_new();
    if (state.library != NULL)
        state.standard = OSSL_PROVIDER_load(state.library, "default");
    if (state.standard != NULL && stand_in_front())
        return state.library;
    tls_provider_stop();
    return NULL;
}

OSSL_LIB_CTX *tls_provider_library(void)
{
    return state.library;
}

void tls_provider_stop(void)
{
    ERR_clear_error();
    if (state.ours != NULL)
        OSSL_PROVIDER_unload(state.ours);
    OSSL_LIB_CTX_free(state.library);
    memset(&state, 0, sizeof(state));
}
