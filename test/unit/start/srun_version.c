/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/start/srun_version.h"

#include "test/support/tap.h"

int main(void)
{
    static const struct {
        const char *text;
        const char *option;
    } versions[] = {
        {"slurm 25.05.1\n", "--external-launcher"},
        {"slurm 23.11.0-0rc1\n", "--external-launcher"},
        {"slurm 23.02.7\n", "--overlap"},
        {"slurm-wlm 22.05.8\n", "--overlap"},
        {"slurm-wlm 24.11.5\n", "--external-launcher"},
        {"slurm 20.11.0\n", "--overlap"},
        {"slurm 20.02.7\n", ""},
        {"slurm 17.11.2\n", ""},
        {"slurm-wlm 19.05.5\n", ""},
        {"", "--overlap"},
        {"slurm\n", "--overlap"},
        {"srun: no such option\n", "--overlap"},
        {"slurm-mine\n", "--overlap"},
    };

    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        is_string(srun_version_step_option(versions[i].text), versions[i].option, "%s",
                  versions[i].text);
    return done_testing();
}
