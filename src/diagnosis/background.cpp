// SPDX-License-Identifier: Apache-2.0
// Starting, pausing and joining the thread of a reader.
#include "diagnosis/background.hpp"

#include <new>

#include "core/process/background_thread.hpp"

namespace hostlaunch::diagnosis {

background* background::start(const char* name, look f) noexcept {
    auto* made = new (std::nothrow) background(name, f);
    if (made == nullptr) return nullptr;
    const auto body = [](void* self) -> void* {
        static_cast<background*>(self)->run();
        return nullptr;
    };
    if (core::start_thread(&made->thread_, body, made)) return made;
    delete made;
    return nullptr;
}

void background::run() noexcept {
    pthread_setname_np(pthread_self(), name_);
    std::unique_lock lock(mutex_);
    while (!stopping_) {
        lock.unlock();
        const auto pause = look_();
        lock.lock();
        changed_.wait_for(lock, pause, [this] { return stopping_; });
    }
}

bool background::stop(std::chrono::milliseconds limit) noexcept {
    if (!is_of_this_process()) return false;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_all();
    if (!core::join_thread(thread_, static_cast<long>(limit.count()))) return false;
    delete this;
    return true;
}

}  // namespace hostlaunch::diagnosis
