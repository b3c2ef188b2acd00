/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A place holder: the build needs a main() until the program is written.
 */
#include "config.h"

int main(void)
{
    return 125;
}
