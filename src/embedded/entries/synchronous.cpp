// SPDX-License-Identifier: Apache-2.0
// Work of calls that have no stream: it goes through the legacy one.
#include "embedded/entries/synchronous.hpp"

#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/waits.hpp"

namespace hostlaunch::embedded {

result enqueue_synchronous(const work& what, bool waits) {
    lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr) {
        return why;
    }
    if (const result refused = refuse_unsafe(); refused != success) {
        return refused;
    }
    const result answer = enqueue(held, *ctx->legacy, what);
    return answer == success && waits ? wait_for_stream(held, *ctx->legacy) : answer;
}

}  // namespace hostlaunch::embedded
