// SPDX-License-Identifier: Apache-2.0
// Looks up entry points by name.
#include "embedded/controls/entry_names.hpp"

#include <array>
#include <string_view>

namespace hostlaunch::embedded {

namespace {

struct entry_name {
    std::string_view symbol;
    std::string_view base;
};

constexpr entry_name names[entry_count] = {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    {#symbol, #base},
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
};

constexpr unsigned first_with(std::string_view base) {
    unsigned i = 0;
    while (names[i].base != base) {
        ++i;
    }
    return i;
}

}  // namespace

const char* base_name_of(entry_id id) {
    return names[static_cast<unsigned>(id)].base.data();
}

entry_id base_of(entry_id id) {
    return static_cast<entry_id>(first_with(names[static_cast<unsigned>(id)].base));
}

entry_id find_base(const char* name) {
    if (name != nullptr) {
        for (const entry_name& e : names) {
            if (e.base == name || e.symbol == name) {
                return static_cast<entry_id>(first_with(e.base));
            }
        }
    }
    return entry_id::count;
}

}  // namespace hostlaunch::embedded
