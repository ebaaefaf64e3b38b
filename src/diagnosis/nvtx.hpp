// SPDX-License-Identifier: Apache-2.0
// Each run as a range of NVTX in the domain `hostlaunch`, if a profiler is there (contract V3).
#pragma once

namespace hostlaunch::diagnosis {

// Loads the tool that the environment names, once, and lets it see every run from then on. Without
// such a tool nothing is loaded and nothing is marked. Runs foreign code: call without the GIL and
// without any lock. True if there is a tool.
bool start_nvtx() noexcept;

}  // namespace hostlaunch::diagnosis
