// SPDX-License-Identifier: Apache-2.0
// The moves of records that graphs hold.
#include "core/graphs/graph_task.hpp"

#include "core/task/pool_of_records.hpp"
#include "core/task/release.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {
namespace {

using driver_library::api;

record_pool& pool() noexcept {
    return record_pool::instance();
}

void set_state(record& r, state s) noexcept {
    r.word.store(record::make_word(r.generation(), s), std::memory_order_release);
}

}  // namespace

extern "C" void hostlaunch_graph_release(void* user_data) {
    const auto t = reinterpret_cast<token>(user_data);
    const auto index = static_cast<std::uint32_t>(t & (record_pool::max_records - 1));
    const std::uint64_t generation = t >> record::index_bits;
    record& r = pool().at(index);
    if (r.move(generation, state::in_graph, state::spent)) {
        to_release().push(r);
        request_release();
    } else if (!r.move(generation, state::withdrawn, state::hollow) &&
               r.word.load() == record::make_word(generation, state::hollow)) {
        pool().recycle(r);  // the caller has released its claim before
    }
}

added take_back(record& r, token t, status why) noexcept {
    return {why, r.move(t >> record::index_bits, state::in_graph, state::withdrawn)};
}

added give_to_graph(record& r, const host_call& call, abi::graph graph, held_record* out) noexcept {
    const token t = r.token_from(r.word.load(std::memory_order_relaxed));
    void* const as_data = reinterpret_cast<void*>(t);
    set_state(r, state::in_graph);
    *out = {t, nullptr, call};
    if (call.gated) out->call.user_data = as_data;
    if (const int code = api().user_object_create(&out->object, as_data, &hostlaunch_graph_release,
                                                  1, abi::user_object_no_destructor_sync)) {
        set_state(r, state::hollow);
        return {{code, "cuUserObjectCreate"}};
    }
    if (const int code =
            api().graph_retain_user_object(graph, out->object, 1, abi::graph_user_object_move)) {
        const added back = take_back(r, t, {code, "cuGraphRetainUserObject"});
        api().user_object_release(out->object, 1);
        return back;
    }
    return {};
}

void release_claim(record& r) noexcept {
    if (!r.move(r.generation(), state::withdrawn, state::hollow)) pool().recycle(r);
}

void discard(record& r, const added& made) noexcept {
    if (made.status.ok() || !made.owns_payload) return;
    if (r.type->destroy != nullptr) r.type->destroy(r.payload);
    release_claim(r);
}

}  // namespace hostlaunch::core
