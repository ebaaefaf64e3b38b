// SPDX-License-Identifier: Apache-2.0
// Chunks of notes, each for the generation in the upper half of its first word.
#include "core/task/task_notes.hpp"

#include <array>
#include <atomic>
#include <cstdlib>

#include "core/task/pool_of_records.hpp"

namespace hostlaunch::core {
namespace {

// Written by the launching thread alone; a reader that meets two writes halfway sees the generation
// of one of them, and at worst the other's stream.
struct note {
    std::atomic<std::uint64_t> name;  // generation << 32 | name
    std::atomic<std::uint64_t> stream;
};
constexpr std::uint32_t chunk_notes = 512;

// A chunk is made once and kept: release when it is put here, acquire when it is found.
constinit std::array<std::atomic<note*>, record_pool::max_records / chunk_notes> chunks{};

std::uint32_t index_of(std::uint64_t of) noexcept {
    return static_cast<std::uint32_t>(of & (record_pool::max_records - 1));
}

std::uint64_t make_entry(std::uint64_t of, name_id name) noexcept {
    return of >> record::index_bits << 32 | name;
}

note* note_for(std::uint64_t of) noexcept {
    const std::uint32_t index = index_of(of);
    auto& place = chunks[index / chunk_notes];
    note* known = place.load(std::memory_order_acquire);
    if (known != nullptr) return known + index % chunk_notes;
    auto* fresh = static_cast<note*>(std::calloc(chunk_notes, sizeof(note)));
    if (fresh == nullptr) return nullptr;
    if (!place.compare_exchange_strong(known, fresh)) {
        std::free(fresh);  // another thread was first
        fresh = known;
    }
    return fresh + index % chunk_notes;
}

bool is_of(const note& n, std::uint64_t of) noexcept {
    const std::uint64_t name = n.name.load(std::memory_order_relaxed);
    return name == make_entry(of, static_cast<name_id>(name));
}

}  // namespace

void note_name(std::uint64_t of, name_id name) noexcept {
    note* n = note_for(of);
    if (n == nullptr) return;
    if (!is_of(*n, of)) n->stream.store(0, std::memory_order_relaxed);
    n->name.store(make_entry(of, name), std::memory_order_relaxed);
}

void note_stream(std::uint64_t of, std::uint64_t stream) noexcept {
    note* n = note_for(of);
    if (n == nullptr) return;
    if (!is_of(*n, of)) n->name.store(make_entry(of, no_name), std::memory_order_relaxed);
    n->stream.store(stream, std::memory_order_relaxed);
}

task_note note_of(std::uint64_t of) noexcept {
    const std::uint32_t index = index_of(of);
    const note* chunk = chunks[index / chunk_notes].load(std::memory_order_acquire);
    if (chunk == nullptr || !is_of(chunk[index % chunk_notes], of)) return {};
    const note& n = chunk[index % chunk_notes];
    return {static_cast<name_id>(n.name.load(std::memory_order_relaxed)),
            n.stream.load(std::memory_order_relaxed)};
}

}  // namespace hostlaunch::core
