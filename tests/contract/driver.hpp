// SPDX-License-Identifier: Apache-2.0
// The raw driver under test: the library that HOSTLAUNCH_DRIVER names, as a table of its entries.
#pragma once

#include <string>

#include "driver/abi.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::contract {

using namespace abi;  // NOLINT: handles, results and flags are the vocabulary of every case

struct table : driver_library::table {
#define HOSTLAUNCH_CONTRACT_ENTRY(field, name, version, params) result(*field) params;
#include "contract/extra_entries.def"
#undef HOSTLAUNCH_CONTRACT_ENTRY
};

// The file of the driver library, chosen and initialised by the code that users run. Each suite
// defines it: the driver suites through the loader, the C++ suite through the library's surface.
std::string chosen_library();

// Any thread; the first call loads the driver.
const table& api();

bool on_embedded();
int driver_version();
get_proc_address_fn get_proc_address();

// A knob of the embedded driver, null on any other.
void* embedded_knob(const char* name);

// Makes the embedded driver of this process have two devices, unless the environment says how many.
void prefer_two_devices();

}  // namespace hostlaunch::contract
