// SPDX-License-Identifier: Apache-2.0
// What marks become in a trace, where some of them were lost.
#include <gtest/gtest.h>

#include <memory>

#include "diagnosis/timeline.hpp"

namespace hostlaunch::diagnosis {
namespace {

using core::trace::event;
using core::trace::phase;
using core::trace::thread_log;

class timeline_test : public testing::Test {
  protected:
    void add(phase now, std::uint64_t token, std::uint64_t at = 2000) {
        shown_.add(*log_, {at, at - 1000, {token, 0x40, 0, false}, now});
    }
    std::size_t count(const char* text) const {
        std::size_t found = 0;
        for (auto at = out_.text().find(text); at != std::string::npos;
             at = out_.text().find(text, at + 1))
            ++found;
        return found;
    }

    json_events out_;
    timeline shown_{out_};
    std::unique_ptr<thread_log> log_ = std::make_unique<thread_log>();
};

// contract: V4
TEST_F(timeline_test, shows_a_run_on_its_thread_and_on_its_stream) {
    add(phase::accepted, 1);
    add(phase::runs, 1, 5000);
    add(phase::ran, 1, 9000);
    for (const char* one : {"\"host_launch\"", "\"ph\":\"s\"", "\"ph\":\"f\"", "\"ph\":\"b\"",
                            "\"ph\":\"e\"", "\"ph\":\"B\"", "\"ph\":\"E\"", "\"outcome\":\"ran\"",
                            "waits for the GIL", "{\"name\":\"stream 0x40\"}"}) {
        EXPECT_EQ(count(one), 1u) << one;
    }
}

// contract: V4
TEST_F(timeline_test, ends_no_slice_whose_begin_was_lost) {
    add(phase::ran, 1);
    EXPECT_EQ(count("\"ph\":\"E\""), 0u);
    add(phase::runs, 2);
    add(phase::raised, 3);                 // the end of 2 and the begin of 3 were lost
    EXPECT_EQ(count("\"ph\":\"E\""), 1u);  // of 2: later slices do not lie within it
    add(phase::runs, 4);
    add(phase::runs, 5);
    EXPECT_EQ(count("\"ph\":\"E\""), 2u);
    EXPECT_EQ(count("\"outcome\":\"raised\""), 1u);
}

// contract: V4: memory is bounded
TEST_F(timeline_test, puts_streams_without_end_onto_one_track) {
    for (std::uint64_t stream = 100; stream < 3000; ++stream) {
        shown_.add(*log_, {2000, 1000, {stream, stream, 0, false}, phase::accepted});
    }
    EXPECT_EQ(count("{\"name\":\"other streams\"}"), 1u);
    EXPECT_LE(count("{\"name\":\"stream 0x"), 1000u);
}

}  // namespace
}  // namespace hostlaunch::diagnosis
