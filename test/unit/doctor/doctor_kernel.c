/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "launch/doctor/doctor_kernel.h"

#include <stddef.h>

#include "test/support/tap.h"

int main(void)
{
    ok(doctor_kernel_starves("6.18.44", "1\n"), "Linux 6.18 with autogroup on");
    ok(doctor_kernel_starves("6.18-rc1", "1\n"), "and before its release");
    ok(!doctor_kernel_starves("6.18.44", "0\n"), "not with autogroup off");
    ok(!doctor_kernel_starves("6.18.44", NULL), "nor without autogroup");
    ok(!doctor_kernel_starves("6.17.2", "1\n"), "not the one before");
    ok(!doctor_kernel_starves("5.18.1", "1\n"), "nor another with the number 18");
    ok(!doctor_kernel_starves("what", "1\n"), "nor what is no number");
    return done_testing();
}
