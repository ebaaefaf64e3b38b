// SPDX-License-Identifier: Apache-2.0
// Where the object lies that this code is part of, a library or a program, and what lies with it.
//
// Nothing here depends on the current folder, on argv[0], or on who calls the system's loader (a
// sanitizer's runtime, where that stands in front of it).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hostlaunch::driver_library {

// By the rights that the process has now, not by those of its caller.
bool may_read(const std::string& path);

// The folders of a run path as the linker wrote it. `origin` is what $ORIGIN means; empty: nothing.
// Left out: what is not absolute, for that would mean the current folder, and other variables.
std::vector<std::string> run_path_folders(std::string_view run_path, std::string_view origin);

// The folders of our own object's run path.
std::vector<std::string> own_run_path();

// Where the embedded driver may lie, by absolute paths, the best first: beside our own object, as
// it was loaded and as a real file; along its run path; where it was built or installed. A program
// that runs with more rights than its caller does not look beside itself, for the caller could
// have linked it into a folder of theirs.
std::vector<std::string> embedded_library_places();

}  // namespace hostlaunch::driver_library
