/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * OpenSSL reads and writes through a BIO of ours that is nothing but a pair of pointers: into the
 * caller's receive buffer and to the caller's send buffer, which many connections share.
 */
#include "config.h"

#include "fabric/tls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "fabric/tls_provider.h"
#include "fabric/tls_seal.h"

#define SUITE_NAME "TLS_AES_128_GCM_SHA256"
#define GROUP_NAME "X25519"
#define HASH_BYTES 32
#define INFO_BYTES (TLS_IDENTITY_BYTES_MAX + 1)
#define RECENT_MAX 4

/* RFC 8446, B.4: TLS_AES_128_GCM_SHA256. */
static const unsigned char suite_id[] = {0x13, 0x01};

struct tls {
    SSL *ssl;
    const unsigned char *input;
    size_t input_bytes;
    struct buffer *output;
    tls_key_function *find_key; /* of a server */
    void *context;
    int refused; /* what find_key returned */
    unsigned char key[TLS_KEY_BYTES];
    char identity[TLS_IDENTITY_BYTES_MAX + 1];
};

static struct {
    SSL_CTX *context;
    BIO_METHOD *method;
    EVP_MAC_CTX *mac;               /* HMAC-SHA256 */
    struct tls *recent[RECENT_MAX]; /* those that keep their buffers, the latest first */
} state;

/* ---- The BIO ---- */

static int bio_read(BIO *bio, char *data, size_t maximum, size_t *ret_bytes)
{
    struct tls *tls = BIO_get_data(bio);
    size_t bytes = maximum < tls->input_bytes ? maximum : tls->input_bytes;

    BIO_clear_retry_flags(bio);
    if (bytes == 0) {
        BIO_set_retry_read(bio);
        return 0;
    }
    memcpy(data, tls->input, bytes);
    tls->input += bytes;
    tls->input_bytes -= bytes;
    *ret_bytes = bytes;
    return 1;
}

static int bio_write(BIO *bio, const char *data, size_t bytes, size_t *ret_bytes)
{
    struct tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    assert(tls->output != NULL);
    buffer_append(tls->output, data, bytes);
    *ret_bytes = bytes;
    return 1;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    return command == BIO_CTRL_FLUSH;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static int make_method(void)
{
    state.method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "banyan");
    return state.method != NULL && BIO_meth_set_read_ex(state.method, bio_read) &&
           BIO_meth_set_write_ex(state.method, bio_write) &&
           BIO_meth_set_ctrl(state.method, bio_control) &&
           BIO_meth_set_create(state.method, bio_create);
}

/* ---- Keys ---- */

/* The context keeps its digest: looking it up costs more than the hashing. */
static int make_mac(OSSL_LIB_CTX *library)
{
    OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_end()};
    EVP_MAC *mac = EVP_MAC_fetch(library, "HMAC", NULL);

    state.mac = EVP_MAC_CTX_new(mac);
    EVP_MAC_free(mac);
    return state.mac != NULL && EVP_MAC_CTX_set_params(state.mac, parameters);
}

static int compute_hmac(const unsigned char *key, size_t key_bytes, const void *data, size_t bytes,
                        unsigned char *ret_hash)
{
    size_t hash_bytes = 0;

    if (!EVP_MAC_init(state.mac, key, key_bytes, NULL) || !EVP_MAC_update(state.mac, data, bytes) ||
        !EVP_MAC_final(state.mac, ret_hash, &hash_bytes, HASH_BYTES))
        return -EIO;
    return hash_bytes == HASH_BYTES ? 0 : -EIO;
}

int tls_derive_key(const unsigned char *secret, size_t secret_bytes, const char *info,
                   unsigned char *ret_key)
{
    static const unsigned char no_salt[HASH_BYTES];
    unsigned char pseudo_random_key[HASH_BYTES];
    unsigned char block[INFO_BYTES];
    size_t info_bytes = strlen(info);
    int rc;

    if (info_bytes >= sizeof(block))
        return -EINVAL;
    rc = tls_start(NULL);
    if (rc == 0)
        rc = compute_hmac(no_salt, sizeof(no_salt), secret, secret_bytes, pseudo_random_key);
    /* One block is all: T(1) = HMAC(PRK, info | 0x01). */
    memcpy(block, info, info_bytes);
    block[info_bytes] = 1;
    if (rc == 0)
        rc = compute_hmac(pseudo_random_key, HASH_BYTES, block, info_bytes + 1, ret_key);
    OPENSSL_cleanse(pseudo_random_key, sizeof(pseudo_random_key));
    return rc;
}

static SSL_SESSION *make_session(SSL *ssl, const unsigned char *key)
{
    const SSL_CIPHER *suite = SSL_CIPHER_find(ssl, suite_id);
    SSL_SESSION *session = SSL_SESSION_new();

    if (session == NULL || suite == NULL ||
        !SSL_SESSION_set1_master_key(session, key, TLS_KEY_BYTES) ||
        !SSL_SESSION_set_cipher(session, suite) ||
        !SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION)) {
        SSL_SESSION_free(session);
        return NULL;
    }
    return session;
}

/* OpenSSL of a client asks for the key and identity to offer. */
static int use_session(SSL *ssl, const EVP_MD *hash, const unsigned char **ret_identity,
                       size_t *ret_identity_bytes, SSL_SESSION **ret_session)
{
    struct tls *tls = SSL_get_app_data(ssl);

    *ret_session = make_session(ssl, tls->key);
    if (*ret_session == NULL)
        return 0;
    *ret_identity = (const unsigned char *)tls->identity;
    *ret_identity_bytes = strlen(tls->identity);
    return 1;
}

/* OpenSSL of a server asks for the key of the identity that a client offers.  Without one no
 * agreement is possible, as there is no certificate. */
static int find_session(SSL *ssl, const unsigned char *identity, size_t identity_bytes,
                        SSL_SESSION **ret_session)
{
    struct tls *tls = SSL_get_app_data(ssl);

    *ret_session = NULL;
    if (identity_bytes == 0 || identity_bytes > TLS_IDENTITY_BYTES_MAX ||
        memchr(identity, '\0', identity_bytes) != NULL) {
        tls->refused = -EPROTO;
        return 1;
    }
    memcpy(tls->identity, identity, identity_bytes);
    tls->identity[identity_bytes] = '\0';
    tls->refused = tls->find_key(tls->context, tls->identity, tls->key);
    if (tls->refused < 0)
        return 1;
    *ret_session = make_session(ssl, tls->key);
    return *ret_session != NULL;
}

/* ---- The context ---- */

static int configure_context(SSL_CTX *context)
{
    SSL_CTX_set_psk_use_session_callback(context, use_session);
    SSL_CTX_set_psk_find_session_callback(context, find_session);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_COMPRESSION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_max_early_data(context, 0);
    SSL_CTX_set_verify(context, SSL_VERIFY_NONE, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) &&
           SSL_CTX_set_num_tickets(context, 0) && SSL_CTX_set_ciphersuites(context, SUITE_NAME) &&
           SSL_CTX_set1_groups_list(context, GROUP_NAME);
}

/* Skips what OpenSSL would otherwise do at its first use and at exit: tables of names of all
 * algorithms, error texts, the system's configuration file, freeing memory before exit. */
static void init_library(void)
{
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ADD_ALL_CIPHERS | OPENSSL_INIT_NO_ADD_ALL_DIGESTS |
                            OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS |
                            OPENSSL_INIT_NO_ATEXIT,
                        NULL);
    OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_LOAD_SSL_STRINGS |
                         OPENSSL_INIT_NO_LOAD_CRYPTO_STRINGS,
                     NULL);
}

int tls_start(struct error *error)
{
    OSSL_LIB_CTX *library;

    if (state.context != NULL)
        return 0;
    init_library();
    library = tls_provider_start();
    state.context = SSL_CTX_new_ex(library, NULL, TLS_method());
    if (state.context == NULL || !make_method() || !make_mac(library) ||
        !configure_context(state.context)) {
        unsigned long code = ERR_get_error();
        tls_stop();
        return error_set(error, -EIO, "cannot initialise OpenSSL (error %lx)", code);
    }
    return 0;
}

void tls_stop(void)
{
    SSL_CTX_free(state.context);
    BIO_meth_free(state.method);
    EVP_MAC_CTX_free(state.mac);
    memset(&state, 0, sizeof(state));
    tls_provider_stop();
}

/* ---- Connections ---- */

/* OpenSSL has 33 kB of buffers for a connection that reads and writes.  Allocating and freeing them
 * for every record costs a seventh of a short message, keeping them costs memory: the most recently
 * used connections keep theirs. */
static void keep_buffers(struct tls *tls)
{
    struct tls **recent = state.recent;
    size_t at = 0;

    if (recent[0] == tls)
        return;
    while (at < RECENT_MAX - 1 && recent[at] != tls)
        at++;
    if (recent[at] != NULL && recent[at] != tls)
        SSL_free_buffers(recent[at]->ssl);
    memmove(recent + 1, recent, at * sizeof(*recent));
    recent[0] = tls;
}

static void forget_recent(const struct tls *tls)
{
    for (size_t i = 0; i < RECENT_MAX; i++)
        if (state.recent[i] == tls)
            state.recent[i] = NULL;
}

static struct tls *create_tls(struct error *error)
{
    struct tls *tls = NULL;
    BIO *bio = NULL;

    if (tls_start(error) < 0)
        return NULL;
    tls = memory_allocate_zeroed(sizeof(*tls));
    tls->ssl = SSL_new(state.context);
    if (tls->ssl != NULL)
        bio = BIO_new(state.method);
    if (bio == NULL) {
        tls_destroy(tls);
        error_set(error, -ENOMEM, "cannot make a TLS connection");
        return NULL;
    }
    BIO_set_data(bio, tls);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_app_data(tls->ssl, tls);
    return tls;
}

struct tls *tls_create_client(const char *identity, const unsigned char *key, struct error *error)
{
    struct tls *tls = create_tls(error);

    if (tls == NULL)
        return NULL;
    assert(strlen(identity) <= TLS_IDENTITY_BYTES_MAX);
    memcpy(tls->identity, identity, strlen(identity) + 1);
    memcpy(tls->key, key, TLS_KEY_BYTES);
    SSL_set_connect_state(tls->ssl);
    return tls;
}

struct tls *tls_create_server(tls_key_function *find_key, void *context, struct error *error)
{
    struct tls *tls = create_tls(error);

    if (tls == NULL)
        return NULL;
    tls->find_key = find_key;
    tls->context = context;
    SSL_set_accept_state(tls->ssl);
    return tls;
}

void tls_destroy(struct tls *tls)
{
    if (tls == NULL)
        return;
    forget_recent(tls);
    SSL_free(tls->ssl);
    OPENSSL_cleanse(tls->key, sizeof(tls->key));
    free(tls);
}

void tls_wipe_plaintext(struct tls *tls)
{
    SSL_set_options(tls->ssl, SSL_OP_CLEANSE_PLAINTEXT);
}

void tls_input(struct tls *tls, const void *data, size_t bytes)
{
    tls->input = data;
    tls->input_bytes = bytes;
}

void tls_output(struct tls *tls, struct buffer *output)
{
    tls->output = output;
}

/* What the first entry of OpenSSL's error queue means; the queue is empty after. */
static int explain_failure(struct tls *tls, struct error *error)
{
    unsigned long code = ERR_get_error();
    int reason = ERR_GET_LIB(code) == ERR_LIB_SSL ? ERR_GET_REASON(code) : 0;

    ERR_clear_error();
    switch (reason) {
    case SSL_R_BINDER_DOES_NOT_VERIFY:
        return error_set(error, -EACCES, "the peer does not know this instance's secret");
    case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
        return error_set(error, -EACCES, "the peer does not share this instance's secret");
    case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
    case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        if (tls->refused < 0)
            return error_set(error, -EACCES, "the peer asked for \"%s\", which is not local",
                             tls->identity);
        return error_set(error, -EACCES,
                         tls->find_key != NULL ? "the peer offers no key for this instance"
                                               : "the peer belongs to another instance or place");
    default:
        return error_set(error, -EPROTO, "the peer does not speak our TLS (OpenSSL error %lx)",
                         code);
    }
}

/* RFC 8446, 5.1 and 4: a record of type handshake, of which the first message is ClientHello. */
int tls_is_hello(const unsigned char *data, size_t bytes)
{
    static const unsigned char head[] = {22, 3};
    size_t record_bytes;

    if (bytes == 0)
        return 0;
    if (memcmp(data, head, bytes < sizeof(head) ? bytes : sizeof(head)) != 0 ||
        (bytes > 2 && data[2] > 4))
        return -EPROTO;
    if (bytes < 5)
        return 0;
    record_bytes = 5 + (size_t)(data[3] << 8 | data[4]);
    if (record_bytes > TLS_HELLO_BYTES_MAX || (bytes > 5 && data[5] != 1))
        return -EPROTO;
    return bytes >= record_bytes;
}

int tls_handshake(struct tls *tls, struct error *error)
{
    int result;

    ERR_clear_error();
    result = SSL_do_handshake(tls->ssl);
    if (result == 1) {
        OPENSSL_cleanse(tls->key, sizeof(tls->key));
        /* Only a resumed handshake has used the key. */
        if (!SSL_session_reused(tls->ssl))
            return error_set(error, -EACCES, "the peer did not use the session's key");
        /* From now on keep_buffers decides. */
        SSL_clear_mode(tls->ssl, SSL_MODE_RELEASE_BUFFERS);
        return 0;
    }
    if (SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ)
        return -EAGAIN;
    return explain_failure(tls, error);
}

int tls_read(struct tls *tls, void *data, size_t maximum, size_t *ret_bytes)
{
    int result;

    /* OpenSSL would return the same, slowly. */
    if (tls->input_bytes == 0 && SSL_pending(tls->ssl) == 0)
        return -EAGAIN;
    keep_buffers(tls);
    result = SSL_read_ex(tls->ssl, data, maximum, ret_bytes);
    if (result == 1)
        return 0;
    switch (SSL_get_error(tls->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return -EAGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return -EPIPE;
    default:
        ERR_clear_error();
        return -EPROTO;
    }
}

int tls_write(struct tls *tls, const void *data, size_t bytes)
{
    const unsigned char *next = data;

    keep_buffers(tls);
    while (bytes > 0) {
        size_t written = 0;
        if (SSL_write_ex(tls->ssl, next, bytes, &written) != 1) {
            ERR_clear_error();
            return -EPROTO;
        }
        next += written;
        bytes -= written;
    }
    return 0;
}

const char *tls_identity(const struct tls *tls)
{
    return tls->identity;
}

int tls_export_key(struct tls *tls, uint32_t from, uint32_t to, unsigned char *ret_key)
{
    static const char label[] = "EXPORTER-banyan-rail";
    uint32_t ends[] = {htole32(from), htole32(to)};

    if (!SSL_export_keying_material(tls->ssl, ret_key, TLS_SEAL_KEY_BYTES, label, sizeof(label) - 1,
                                    (const unsigned char *)ends, sizeof(ends), 1))
        return -EPROTO;
    return 0;
}
