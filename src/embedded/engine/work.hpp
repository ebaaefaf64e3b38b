// SPDX-License-Identifier: Apache-2.0
// What one operation of a stream does: the part that a stream's queue and a graph's node share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "embedded/abi.hpp"

namespace hostlaunch::embedded {

struct event_state;
struct exec_state;
struct pool_block;
struct reference_set;

enum class work_kind : std::uint8_t {
    host,         // a host function, run by an executor
    callback,     // a cuStreamAddCallback function, run by an executor, also after a sticky error
    barrier,      // waits until its gate is open
    record,       // completes an event's record
    copy,         // copies host memory, which is all the memory there is
    fill,         // sets memory
    wait_value,   // waits until a word in memory fulfils a condition
    write_value,  // writes a word
    give_back,    // memory that was freed in stream order goes back to its pool
    end_launch,   // ends the launch of an executable
};

struct work {
    struct host_work {
        host_fn fn;
        stream_callback callback;
        stream handle;
        void* user_data;
    };
    struct record_work {
        event_state* target;
        std::uint64_t id;
    };
    // Where the next row and the next slice begin; unused where there is one of them.
    struct steps {
        std::size_t row;
        std::size_t slice;
    };
    struct copy_work {
        void* dst;
        const void* src;
        std::size_t bytes;  // of a row
        void* staging;      // freed after the copy; null if the source is the caller's own
        std::size_t rows;
        std::size_t slices;
        steps to;
        steps from;
    };
    struct fill_work {
        void* dst;
        std::size_t count;  // of elements in a row
        std::uint32_t value;
        unsigned width;  // bytes an element: 1, 2 or 4
        std::size_t rows;
        std::size_t pitch;
    };
    struct value_work {
        void* address;
        std::uint64_t value;
        unsigned flags;
        unsigned width;  // bytes: 4 or 8
    };
    struct give_back_work {
        pool_block* block;
        std::uint64_t free;  // which of the block's frees it is
    };
    struct launch_work {
        exec_state* exec;
        reference_set* references;
    };

    work_kind kind;
    union {
        host_work host;
        record_work record;
        copy_work copy;
        fill_work fill;
        value_work value;
        give_back_work give_back;
        launch_work launch;
    };
};

// Does what a copy or a fill does. requires: its kind is one of these, for `bytes_of` too
void move_bytes(const work& w);
std::size_t bytes_of(const work& w);

// From the first byte that it touches to the last, the gaps between rows included.
std::size_t span_of(const work::copy_work& w, const work::steps& step);
std::size_t span_of(const work::fill_work& w);

// Whether the work copies, fills, waits for or writes any of those bytes.
bool touches(const work& w, std::uintptr_t first, std::size_t bytes);

}  // namespace hostlaunch::embedded
