/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/proto/job_spec.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/cell.h"

void job_spec_init(struct job_spec *spec)
{
    *spec = (struct job_spec){.mpi = JOB_MPI_PMIX | JOB_MPI_PMI1, .stdin_rank = UINT32_MAX};
}

static void free_strings(char **strings)
{
    for (char **string = strings; string != NULL && *string != NULL; string++)
        free(*string);
    free(strings);
}

static void free_app(struct app_spec *app)
{
    free_strings(app->argv);
    free_strings(app->set);
    variable_edits_fini(&app->edits);
    free(app->directory);
}

void job_spec_fini(struct job_spec *spec)
{
    for (uint32_t i = 0; i < spec->apps_count; i++)
        free_app(&spec->apps[i]);
    free(spec->apps);
    for (uint32_t i = 0; i < spec->preput_count; i++) {
        free(spec->preput[i].key);
        free(spec->preput[i].value);
    }
    free(spec->preput);
    free(spec->target);
    free(spec->tool);
    placement_fini(&spec->placement);
    *spec = (struct job_spec){0};
}

void job_spec_namespace(const char *name, uint32_t number, char *text, size_t text_bytes)
{
    assert(number > 0 && text_bytes > 0);
    snprintf(text, text_bytes, "banyan-%s-%u", name, number);
}

int job_spec_directory_check(const char *directory, const char **ret_place)
{
    for (const char *at = strchr(directory, '%'); at != NULL; at = strchr(at + 2, '%')) {
        if (at[1] == '\0' || strchr("rhj%", at[1]) == NULL) {
            *ret_place = at;
            return -EINVAL;
        }
    }
    return 0;
}

char *job_spec_directory(const struct app_spec *app, uint32_t rank, const char *node,
                         uint32_t number)
{
    struct buffer text = {0};
    const char *at = app->directory;

    if (at == NULL || !app->directory_is_template)
        return at != NULL ? memory_copy_string(at) : NULL;
    while (*at != '\0') {
        size_t bytes = strcspn(at, "%");

        buffer_append(&text, at, bytes);
        at += bytes;
        if (*at == '\0')
            break;
        if (at[1] == 'r')
            buffer_printf(&text, "%u", rank);
        else if (at[1] == 'h')
            cell_put_file_name(node, &text);
        else if (at[1] == 'j')
            buffer_printf(&text, "%u", number);
        else
            buffer_append(&text, "%", 1);
        at += at[1] != '\0' ? 2 : 1;
    }
    buffer_append(&text, "", 1);
    return buffer_take(&text, NULL);
}
