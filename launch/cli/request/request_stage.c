/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/cli/request/request_stage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "launch/cli/request/request_settings.h"

int request_stage_take(const struct request_settings *settings, struct request_stage *ret_stage,
                       struct job_spec *job, struct error *error)
{
    const struct option_list *words = &settings->stage;

    assert(ret_stage->words == NULL);
    if (settings->force > 0 && words->count == 0 && settings->stage_binary == 0)
        return error_set(error, -EINVAL,
                         "option --force: no file is staged; name one with --stage");
    if (words->count > 0)
        ret_stage->words = memory_allocate_zeroed(words->count * sizeof(*ret_stage->words));
    for (size_t i = 0; i < words->count; i++)
        ret_stage->words[ret_stage->words_count++] = memory_copy_string(words->items[i]);
    ret_stage->binary = settings->stage_binary > 0;
    ret_stage->force = settings->force > 0;
    ret_stage->check_libraries = settings->check_libraries > 0;
    if (words->count > 0 || ret_stage->binary || ret_stage->check_libraries)
        job->stage = JOB_STAGE_FILES;
    if (ret_stage->binary)
        job->stage |= JOB_STAGE_PROGRAMS;
    return 0;
}

void request_stage_fini(struct request_stage *stage)
{
    for (uint32_t i = 0; i < stage->words_count; i++)
        free(stage->words[i]);
    free(stage->words);
    *stage = (struct request_stage){.words = NULL};
}
