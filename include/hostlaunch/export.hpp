// SPDX-License-Identifier: Apache-2.0
// HOSTLAUNCH_API: what the shared library exports.
#pragma once

#define HOSTLAUNCH_API __attribute__((visibility("default")))
