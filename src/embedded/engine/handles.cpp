// SPDX-License-Identifier: Apache-2.0
// The table behind the embedded driver's handles.
#include "embedded/engine/handles.hpp"

#include <new>

namespace hostlaunch::embedded {

namespace {

constexpr unsigned index_shift = 4;
constexpr unsigned generation_shift = 28;
constexpr unsigned kind_shift = 56;
constexpr std::uint32_t index_limit = 1u << 24;
constexpr std::uint32_t generation_limit = 1u << 28;

std::uint32_t index_of(std::uint64_t handle) {
    return static_cast<std::uint32_t>(handle >> index_shift) & (index_limit - 1);
}

std::uint64_t encode(handle_kind kind, std::uint32_t generation, std::uint32_t index) {
    return std::uint64_t{static_cast<unsigned>(kind)} << kind_shift |
           std::uint64_t{generation} << generation_shift | std::uint64_t{index} << index_shift;
}

}  // namespace

std::uint64_t handle_table::add(handle_kind kind, void* object) {
    std::uint32_t index;
    if (free_head_ == 0) {
        if (slots_.size() >= index_limit) {
            throw std::bad_alloc();
        }
        index = static_cast<std::uint32_t>(slots_.size());
        slots_.emplace_back();
    } else {
        index = free_head_;
        free_head_ = slots_[index].next_free;
        free_tail_ = free_head_ == 0 ? 0 : free_tail_;
    }
    slot& s = slots_[index];
    s.object = object;
    s.kind = kind;
    ++live_[static_cast<unsigned>(kind)];
    return encode(kind, s.generation, index);
}

const handle_table::slot* handle_table::at(handle_kind kind, std::uint64_t handle) const {
    const std::uint32_t index = index_of(handle);
    if (index >= slots_.size()) {
        return nullptr;
    }
    const slot& s = slots_[index];
    return s.kind == kind && handle == encode(kind, s.generation, index) ? &s : nullptr;
}

void* handle_table::find(handle_kind kind, std::uint64_t handle, abi::result& why) const {
    const slot* s = at(kind, handle);
    if (s == nullptr) {
        why = abi::error_invalid_handle;
        return nullptr;
    }
    why = s->object != nullptr ? abi::success : abi::error_context_is_destroyed;
    return s->object;
}

void handle_table::remove(std::uint64_t handle) {
    const std::uint32_t index = index_of(handle);
    --live_[static_cast<unsigned>(slots_[index].kind)];
    free_slot(index);
}

void handle_table::orphan(std::uint64_t handle) {
    slot& s = slots_[index_of(handle)];
    --live_[static_cast<unsigned>(s.kind)];
    s.object = nullptr;
}

bool handle_table::forget_orphan(handle_kind kind, std::uint64_t handle) {
    const slot* s = at(kind, handle);
    if (s == nullptr || s->object != nullptr) {
        return false;
    }
    free_slot(index_of(handle));
    return true;
}

void handle_table::free_slot(std::uint32_t index) {
    slot& s = slots_[index];
    s.object = nullptr;
    s.kind = handle_kind::none;
    s.next_free = 0;
    if (++s.generation == generation_limit) {
        return;
    }
    (free_tail_ == 0 ? free_head_ : slots_[free_tail_].next_free) = index;
    free_tail_ = index;
}

}  // namespace hostlaunch::embedded
