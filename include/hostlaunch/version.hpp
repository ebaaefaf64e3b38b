// SPDX-License-Identifier: Apache-2.0
// The version of the headers; the library was built from the same sources.
#pragma once

#define HOSTLAUNCH_VERSION_MAJOR 0
#define HOSTLAUNCH_VERSION_MINOR 1
#define HOSTLAUNCH_VERSION_PATCH 0
