// SPDX-License-Identifier: Apache-2.0
// A table of texts that only grows, and an index into it by text.
#include "core/task/names.hpp"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

namespace hostlaunch::core {
namespace {

constexpr std::size_t most_names = 1u << 16;
constexpr std::size_t longest_name = 200;
constexpr name_id overflow = 1;

// Written once each, before the number leaves intern: release there, acquire in text_of.
constinit std::array<std::atomic<const char*>, most_names> texts{};

struct index {
    std::mutex mutex;
    std::deque<std::string> kept;  // where a text once is, it stays
    std::unordered_map<std::string_view, name_id> ids;
    name_id next = overflow + 1;
};
index& the_index() {
    static index& only = *new index;  // never destroyed: threads may ask as long as they live
    return only;
}

name_id add(index& known, std::string_view text) {
    if (known.next >= most_names) return overflow;
    const std::string& kept = known.kept.emplace_back(text);
    const name_id id = known.next;
    known.ids.emplace(kept, id);
    ++known.next;
    texts[id].store(kept.c_str(), std::memory_order_release);
    return id;
}

}  // namespace

name_id intern(std::string_view text) noexcept {
    text = text.substr(0, longest_name);
    try {
        index& known = the_index();
        const std::lock_guard lock(known.mutex);
        const auto found = known.ids.find(text);
        return found != known.ids.end() ? found->second : add(known, text);
    } catch (const std::bad_alloc&) {
        return overflow;
    }
}

// A type tells its name as the compiler spells a function of it, "… [with F = NAME]".
name_id name_of_type(const hostlaunch::detail::task_type& type, void* payload) noexcept {
    const char* own = type.name_of != nullptr ? type.name_of(payload) : type.name;
    if (own == nullptr) return no_name;
    std::string_view name = own;
    constexpr std::string_view before = "F = ";
    const auto begin = type.name_of == nullptr ? name.find(before) : std::string_view::npos;
    if (begin == std::string_view::npos) return intern(name);
    name.remove_prefix(begin + before.size());
    return intern(name.substr(0, name.find_first_of(";]")));
}

const char* text_of(name_id id) noexcept {
    if (id == overflow) return "(one of too many functions to name)";
    const char* text = id < most_names ? texts[id].load(std::memory_order_acquire) : nullptr;
    return text != nullptr ? text : "a function";
}

}  // namespace hostlaunch::core
