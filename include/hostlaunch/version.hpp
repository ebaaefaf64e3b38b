// SPDX-License-Identifier: Apache-2.0
// The version: of the headers, of the library that was built from the same sources, of the package.
// Written here alone; CMake and the Python package read it from this file.
#pragma once

#define HOSTLAUNCH_VERSION_MAJOR 0
#define HOSTLAUNCH_VERSION_MINOR 1
#define HOSTLAUNCH_VERSION_PATCH 0
