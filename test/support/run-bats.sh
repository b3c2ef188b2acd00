#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs one bats file as a TAP test; without bats the file is skipped, with the reason.
case ${BATS:-no} in
no) echo "1..0 # SKIP bats is not installed" ;;
*) exec "$BATS" --tap "$@" ;;
esac
