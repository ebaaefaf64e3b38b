// SPDX-License-Identifier: Apache-2.0
// What comes before everything else: the language that is needed, and HOSTLAUNCH_API, which marks
// what the shared library exports.
#pragma once

#if __cplusplus < 202002L
#error "hostlaunch needs C++20: compile with -std=c++20"
// Ends the compilation here, before the errors that would follow from it.
#include "hostlaunch/needs_cpp20"
#endif

#define HOSTLAUNCH_API __attribute__((visibility("default")))
