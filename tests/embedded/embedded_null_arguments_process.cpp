// SPDX-License-Identifier: Apache-2.0
// No call crashes on a null pointer, whichever of its parameters it is.
#include <type_traits>

#include "embedded/fixture.hpp"

namespace hostlaunch::embedded::test {
namespace {

// Makes what a call may be given beside null pointers: a live object for each kind of handle.
class handles {
  public:
    handles() {
        cuCtxGetCurrent(&ctx_);
        cuStreamCreate(&stream_, stream_non_blocking);
        cuEventCreate(&event_, 0);
        cuGraphCreate(&graph_, 0);
        cuGraphAddEmptyNode(&node_, graph_, nullptr, 0);
        cuGraphInstantiateWithFlags(&exec_, graph_, 0);
        cuUserObjectCreate(&object_, nullptr, [](void*) {}, 1, user_object_no_destructor_sync);
    }

    template <class T>
    T give() const {
        if constexpr (std::is_same_v<T, context>) {
            return ctx_;
        } else if constexpr (std::is_same_v<T, stream>) {
            return stream_;
        } else if constexpr (std::is_same_v<T, event>) {
            return event_;
        } else if constexpr (std::is_same_v<T, graph>) {
            return graph_;
        } else if constexpr (std::is_same_v<T, graph_node>) {
            return node_;
        } else if constexpr (std::is_same_v<T, graph_exec>) {
            return exec_;
        } else if constexpr (std::is_same_v<T, user_object>) {
            return object_;
        } else if constexpr (std::is_pointer_v<T>) {
            return nullptr;
        } else {
            return T{};
        }
    }

  private:
    context ctx_ = nullptr;
    stream stream_ = nullptr;
    event event_ = nullptr;
    graph graph_ = nullptr;
    graph_node node_ = nullptr;
    graph_exec exec_ = nullptr;
    user_object object_ = nullptr;
};

template <class... Parameters>
void call_with_nulls(result (*entry)(Parameters...)) {
    entry(Parameters{}...);  // no handle either
    const handles live;
    entry(live.give<Parameters>()...);
}

void call_one(entry_id id) {
    switch (id) {
#define HOSTLAUNCH_EMBEDDED_ENTRY(symbol, base, version, traits, parameters, arguments) \
    case entry_id::symbol:                                                              \
        call_with_nulls(&symbol);                                                       \
        break;
#include "embedded/entry_list.def"
#undef HOSTLAUNCH_EMBEDDED_ENTRY
        case entry_id::count:
            break;
    }
}

// contract: N1. What it does to the driver stays in a process of its own.
TEST(null_arguments, crash_no_call) {
    for (unsigned i = 0; i < entry_count; ++i) {
        SCOPED_TRACE(i);
        in_forked_child([i] {
            context ctx = nullptr;
            ASSERT_EQ(cuInit(0), success);
            ASSERT_EQ(cuDevicePrimaryCtxRetain(&ctx, 0), success);
            ASSERT_EQ(cuCtxSetCurrent(ctx), success);
            call_one(static_cast<entry_id>(i));
        });
    }
}

}  // namespace
}  // namespace hostlaunch::embedded::test
