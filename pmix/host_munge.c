/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "pmix/host_munge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_MUNGE
#include <munge.h>
#endif

#include "base/buffer.h"

#include <pmix.h>

/* In the environment, as for boot records (launch/start/boot_carry.h): not the usual socket of munged. */
#define SOCKET_VARIABLE "BANYAN_MUNGE_SOCKET"

void host_munge_answer_fini(struct host_munge_answer *answer)
{
    if (answer->credential != NULL)
        explicit_bzero(answer->credential, strlen(answer->credential));
    free(answer->credential);
    answer->credential = NULL;
}

#ifdef HAVE_MUNGE

static munge_ctx_t open_context(void)
{
    const char *socket = getenv(SOCKET_VARIABLE);
    munge_ctx_t context = munge_ctx_create();

    if (context != NULL && socket != NULL)
        (void)munge_ctx_set(context, MUNGE_OPT_SOCKET, socket);
    return context;
}

/* PMIx has one code for all that is wrong with a credential.  What remains is not the credential's fault. */
static pmix_status_t status_of(munge_err_t code)
{
    switch (code) {
    case EMUNGE_SUCCESS:
        return PMIX_SUCCESS;
    case EMUNGE_SOCKET:
        return PMIX_ERR_NOT_SUPPORTED;
    case EMUNGE_TIMEOUT:
        return PMIX_ERR_TIMEOUT;
    case EMUNGE_NO_MEMORY:
        return PMIX_ERR_NOMEM;
    case EMUNGE_CRED_UNAUTHORIZED:
        return PMIX_ERR_NO_PERMISSIONS;
    case EMUNGE_BAD_ARG:
    case EMUNGE_BAD_LENGTH:
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
    case EMUNGE_CRED_INVALID:
    case EMUNGE_CRED_EXPIRED:
    case EMUNGE_CRED_REWOUND:
    case EMUNGE_CRED_REPLAYED:
        return PMIX_ERR_INVALID_CRED;
    default:
        return PMIX_ERROR;
    }
}

/* The user reads about MUNGE when it does not work, not when a process has shown a bad credential. */
static void answer_fill(munge_ctx_t context, munge_err_t code, struct host_munge_answer *answer)
{
    const char *why = context != NULL ? munge_ctx_strerror(context) : NULL;

    answer->status = status_of(code);
    if (answer->status == PMIX_SUCCESS || answer->status == PMIX_ERR_INVALID_CRED ||
        answer->status == PMIX_ERR_NO_PERMISSIONS)
        return;
    if (why == NULL)
        why = munge_strerror(code);
    /* Some of its texts ask that, too. */
    snprintf(answer->why, sizeof(answer->why), "%s%s", why,
             code == EMUNGE_SOCKET && strchr(why, '?') == NULL
                 ? " (is munged running on this node?)"
                 : "");
}

void host_munge_encode(struct host_munge_answer *ret_answer)
{
    munge_ctx_t context = open_context();
    char *credential = NULL;
    munge_err_t code = munge_encode(&credential, context, NULL, 0);

    *ret_answer = (struct host_munge_answer){.credential = credential};
    answer_fill(context, code, ret_answer);
    assert((ret_answer->status == PMIX_SUCCESS) == (credential != NULL));
    munge_ctx_destroy(context);
}

/* libpmix's clients count the NUL at the end of a credential, others may not. */
void host_munge_decode(const char *credential, size_t bytes, struct host_munge_answer *ret_answer)
{
    munge_ctx_t context;
    munge_err_t code;
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    char *copy;

    *ret_answer = (struct host_munge_answer){.status = PMIX_ERR_INVALID_CRED};
    if (bytes > 0 && credential[bytes - 1] == '\0')
        bytes--;
    if (bytes == 0 || bytes > HOST_MUNGE_CREDENTIAL_BYTES_MAX ||
        memchr(credential, '\0', bytes) != NULL)
        return;
    copy = memory_allocate(bytes + 1);
    memcpy(copy, credential, bytes);
    copy[bytes] = '\0';
    context = open_context();
    code = munge_decode(copy, context, NULL, NULL, &uid, &gid);
    answer_fill(context, code, ret_answer);
    if (ret_answer->status == PMIX_SUCCESS) {
        ret_answer->uid = uid;
        ret_answer->gid = gid;
    }
    munge_ctx_destroy(context);
    explicit_bzero(copy, bytes);
    free(copy);
}

#else

static void answer_missing(struct host_munge_answer *answer)
{
    *answer = (struct host_munge_answer){.status = PMIX_ERR_NOT_SUPPORTED};
    snprintf(answer->why, sizeof(answer->why),
             "this banyan is built without MUNGE: install libmunge and configure again");
}

void host_munge_encode(struct host_munge_answer *ret_answer)
{
    answer_missing(ret_answer);
}

void host_munge_decode(const char *credential, size_t bytes, struct host_munge_answer *ret_answer)
{
    assert(credential != NULL || bytes == 0);
    answer_missing(ret_answer);
}

#endif
