// SPDX-License-Identifier: Apache-2.0
// The cases of the program that ends in many ways.
#pragma once

namespace hostlaunch::test {

// `run` returns the exit code, if it returns. Tables end with a null name.
struct process_case {
    const char* name;
    int (*run)();
};
extern const process_case exit_cases[];
extern const process_case static_cases[];
extern const process_case failure_cases[];
extern const process_case future_cases[];
extern const process_case graph_cases[];
extern const process_case plugin_cases[];

}  // namespace hostlaunch::test
