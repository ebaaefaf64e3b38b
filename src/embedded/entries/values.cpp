// SPDX-License-Identifier: Apache-2.0
// Entry points that make a stream wait for values in memory and write them, alone and in batches.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/poller.hpp"
#include "embedded/entries/arguments.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

// What stands in one batch is enqueued together: no other call comes between.
result enqueue_batch(stream s, const value_params* values, unsigned count, unsigned flags) {
    lock held(the_driver().mutex);
    result why;
    stream_state* found = find_stream(s, why);
    if (found == nullptr) {
        return why;
    }
    if (flags != 0 || count > most_values || (values == nullptr && count != 0)) {
        return error_invalid_value;
    }
    if (const result wrong = check_values(values, count); wrong != success) {
        return wrong;
    }
    return ensure_poller() ? enqueue_values(held, *found, found->ctx->handle, values, count)
                           : error_out_of_memory;
}

result enqueue_one(stream s, value_operation operation, device_ptr address, std::uint64_t value,
                   unsigned flags) {
    value_params one{};
    one.operation = operation;
    one.address = address;
    one.value = value;
    one.flags = flags;
    return enqueue_batch(s, &one, 1, 0);
}

}  // namespace

namespace calls {

result cuStreamWaitValue32_v2(stream s, device_ptr address, std::uint32_t value, unsigned flags) {
    return enqueue_one(s, value_operation::wait_32, address, value, flags);
}

result cuStreamWaitValue64_v2(stream s, device_ptr address, std::uint64_t value, unsigned flags) {
    return enqueue_one(s, value_operation::wait_64, address, value, flags);
}

result cuStreamWriteValue32_v2(stream s, device_ptr address, std::uint32_t value, unsigned flags) {
    return enqueue_one(s, value_operation::write_32, address, value, flags);
}

result cuStreamWriteValue64_v2(stream s, device_ptr address, std::uint64_t value, unsigned flags) {
    return enqueue_one(s, value_operation::write_64, address, value, flags);
}

result cuStreamBatchMemOp_v2(stream s, unsigned count, value_params* values, unsigned flags) {
    return enqueue_batch(s, values, count, flags);
}

}  // namespace calls

}  // namespace hostlaunch::embedded
