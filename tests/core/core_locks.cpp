// SPDX-License-Identifier: Apache-2.0
// Every driver call is made without any lock of ours: all locks that the library takes are counted.
//
// The linker sends this program's calls of pthread_mutex_lock and its kin through the wrappers
// below
// (-Wl,--wrap); the library's parts are linked in, the driver is not, so its own locks do not
// count.
#include <gtest/gtest.h>
#include <pthread.h>

#include <memory>
#include <mutex>
#include <thread>

#include "core/driver_fixture.hpp"
#include "core/objects/buffer.hpp"
#include "core/objects/event.hpp"
#include "core/objects/stream.hpp"

namespace {
thread_local int locks_held = 0;
}

// Visible, since a sanitizer's library may refer to the wrapped names.
#pragma GCC visibility push(default)
extern "C" {
int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t* mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t* mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
    const int failed = __real_pthread_mutex_lock(mutex);
    locks_held += failed == 0 ? 1 : 0;
    return failed;
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t* mutex) {
    const int failed = __real_pthread_mutex_trylock(mutex);
    locks_held += failed == 0 ? 1 : 0;
    return failed;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t* mutex) {
    --locks_held;
    return __real_pthread_mutex_unlock(mutex);
}
}
#pragma GCC visibility pop

namespace hostlaunch::core {
namespace {

using test::eventually;
using test::make_record;

int holds_a_lock() {
    return locks_held != 0 ? 1 : 0;
}

void count_destroyed(void* payload) noexcept {
    ++**static_cast<std::atomic<int>**>(payload);
}
outcome run_nothing(void*) {
    return outcome::ran;
}
constexpr task_type counted{&run_nothing, &count_destroyed};
void do_nothing(void*) {}
class locks : public test::core_on_embedded {
  protected:
    void SetUp() override {
        core_on_embedded::SetUp();
        hostlaunch_embedded_set_entry_check(&holds_a_lock);
    }
    void TearDown() override {
        if (expect_none_) {
            const char* first = hostlaunch_embedded_first_violation();
            EXPECT_EQ(hostlaunch_embedded_violations(), 0) << (first == nullptr ? "" : first);
        }
        core_on_embedded::TearDown();
    }

    bool expect_none_ = true;
    std::atomic<int> destroyed_{0};
};

TEST_F(locks, a_call_made_with_a_lock_is_noticed) {
    expect_none_ = false;
    std::mutex mutex;
    const std::lock_guard lock(mutex);
    abi::context context = nullptr;
    EXPECT_EQ(embedded::cuCtxGetCurrent(&context), 0);
    EXPECT_EQ(hostlaunch_embedded_violations(), 1);
    EXPECT_STREQ(hostlaunch_embedded_first_violation(), "cuCtxGetCurrent");
}

// contract: G1
TEST_F(locks, none_is_held_in_the_driver_by_launches_and_the_housekeeper) {
    const abi::stream s = make_stream();
    int launched = 0;
    // More than one chunk of records, so that the pool grows while others launch.
    const auto launch = [this, s] {
        for (int i = 0; i < 400; ++i) {
            ASSERT_TRUE(launch_task({s}, make_record(counted, &destroyed_)).ok());
            ASSERT_TRUE(
                launch_native({s}, make_record(counted, &destroyed_), &do_nothing, nullptr).ok());
        }
    };
    std::thread other(launch);
    launch();
    other.join();
    launched = 2 * 800;
    EXPECT_TRUE(eventually([&] { return destroyed_ == launched; }));
}

// contract: G1
TEST_F(locks, none_is_held_in_the_driver_by_probes_of_contexts) {
    const abi::stream s = make_stream();
    const std::uint64_t probes = hostlaunch_embedded_calls("cuEventQuery");
    hostlaunch_embedded_set_manual(1);
    ASSERT_TRUE(launch_task({s}, make_record(counted, &destroyed_)).ok());
    EXPECT_TRUE(
        eventually([probes] { return hostlaunch_embedded_calls("cuEventQuery") > probes + 1; }));
    EXPECT_EQ(hostlaunch_embedded_step(1, test::patience_ms), 1);
    EXPECT_TRUE(eventually([this] { return destroyed_ == 1; }));
}

// contract: G1
TEST_F(locks, none_is_held_in_the_driver_by_objects) {
    std::unique_ptr<stream> s;
    std::unique_ptr<event> e;
    std::unique_ptr<buffer> a;
    std::unique_ptr<buffer> b;
    bool done = false;
    int device = -1;
    ASSERT_TRUE(stream::create({0, true, 0}, s).ok());
    ASSERT_TRUE(event::create(s->target(), e).ok());
    ASSERT_TRUE(buffer::create(64, buffer::kind::device, 0, a).ok());
    ASSERT_TRUE(buffer::create(64, buffer::kind::pinned, 0, b).ok());
    EXPECT_TRUE(record_event(s->target(), *e).ok());
    EXPECT_TRUE(wait_event(s->target(), *e).ok());
    EXPECT_TRUE(wait_stream(s->target(), {make_stream()}).ok());
    EXPECT_TRUE(fill(s->target(), *a, 1).ok());
    EXPECT_TRUE(copy(s->target(), *b, *a).ok());
    EXPECT_TRUE(e->query(&done).ok());
    EXPECT_TRUE(e->sync().ok());
    EXPECT_TRUE(sync_stream(s->target()).ok());
    EXPECT_TRUE(s->device(&device).ok());
    {
        const host_function_scope inside;
        b.reset();
    }
    to_release().drain([](record& r) { dispose(r); });
}

}  // namespace
}  // namespace hostlaunch::core
