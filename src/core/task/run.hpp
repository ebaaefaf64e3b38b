// SPDX-License-Identifier: Apache-2.0
// Running tasks: the two functions that the driver is given, whatever language a task is of.
//
// Both are called with a token on a thread that is not ours. They pass the gate, find the record
// and run it by its type. No frame of theirs is noexcept: an interpreter that ends unwinds threads
// by force, and such a thread parks.
#pragma once

#include <cxxabi.h>

#include <exception>

#include "core/process/gate.hpp"
#include "core/process/process.hpp"
#include "core/task/record.hpp"
#include "core/task/unhandled.hpp"

namespace hostlaunch::core {

// Calls call() and returns what it returns. Nothing leaves: exceptions go to the handler, and a
// thread that is being unwound by force parks.
template <class Call>
outcome run_guarded(Call&& call) {
    const host_function_scope inside;
    try {
        return call();
    } catch (::abi::__forced_unwind&) {
        park();
    } catch (...) {
        report_unhandled(std::current_exception());
        return outcome::raised;
    }
}

// Claims the task and runs it: at most once.
extern "C" void hostlaunch_call(void* user_data);

// Runs a task that graphs hold, any number of times and perhaps at once on several threads.
extern "C" void hostlaunch_graph_call(void* user_data);

// The record behind a token while graphs hold it, else null.
record* held_by_graphs(token t) noexcept;

}  // namespace hostlaunch::core
