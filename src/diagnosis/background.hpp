// SPDX-License-Identifier: Apache-2.0
// A thread for one reader of traces.
//
// Each reader has its own: the library's background thread enters the driver and may be stuck
// there, just when the watchdog is needed. It takes no GIL and is absent in a forked child.
#pragma once

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace hostlaunch::diagnosis {

class background {
  public:
    using look = std::chrono::nanoseconds (*)() noexcept;

    // Calls f() until it is stopped, pausing as long as f says. Null if there is no thread or no
    // memory to be had.
    static background* start(const char* name, look f) noexcept;

    // True once f has returned for the last time: the object is gone then. False if f does not
    // return within the limit, or in a forked child: then it must be forgotten. Not from within f.
    bool stop(std::chrono::milliseconds limit) noexcept;

    bool is_of_this_process() const noexcept { return process_ == getpid(); }

  private:
    background(const char* name, look f) noexcept : name_(name), look_(f) {}
    void run() noexcept;

    const char* name_;
    look look_;
    pid_t process_ = getpid();
    std::mutex mutex_;
    std::condition_variable changed_;
    bool stopping_ = false;
    pthread_t thread_{};
};

}  // namespace hostlaunch::diagnosis
