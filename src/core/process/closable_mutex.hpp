// SPDX-License-Identifier: Apache-2.0
// One use at a time of an object of the driver's, which can be closed meanwhile.
//
// The mutex is held across driver calls, without the GIL; callbacks and releases never take it.
#pragma once

#include <mutex>
#include <type_traits>

#include "core/process/use_count.hpp"
#include "core/status.hpp"

namespace hostlaunch::core {

class closable_mutex {
  public:
    // Calls f() when it is this thread's turn and returns what it returns; refuses, naming `what`,
    // if closed. After a close meanwhile the last user calls last_out(), with the mutex free.
    template <class F, class LastOut>
    auto take(const char* what, F&& f, LastOut last_out) {
        using answer_type = std::invoke_result_t<F&>;
        if (!uses_.enter()) return answer_type{refuse_closed(what)};
        struct use {
            use_count& uses;
            LastOut& last_out;
            ~use() {
                if (uses.leave()) last_out();
            }
        };
        const use until_the_end{uses_, last_out};  // and until the mutex is free; f may throw
        const std::lock_guard turn(mutex_);
        return answer_type(f());
    }

    // True if this call closed it and nobody uses it: then the caller is the last one out.
    bool close() noexcept { return uses_.close(); }
    bool is_closed() const noexcept { return uses_.is_closed(); }

  private:
    use_count uses_;
    std::mutex mutex_;
};

}  // namespace hostlaunch::core
