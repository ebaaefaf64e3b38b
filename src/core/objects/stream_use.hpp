// SPDX-License-Identifier: Apache-2.0
// A stream in use: what a call works on, which cannot be destroyed meanwhile.
#pragma once

#include "core/objects/stream.hpp"

namespace hostlaunch::core {

// A use of a stream of ours that lasts as long as this object, or what the carrier of another
// library's names. status() refuses a stream that is closed. Made and destroyed without the GIL:
// the end of the last use enters the driver.
class stream_use {
  public:
    // `own` may be null: then `named` is the target. `role`: how a refusal names a closed stream.
    stream_use(stream* own, const stream_target& named, const char* role = "stream") noexcept
        : own_(own), target_(named), role_(role) {
        if (own_ == nullptr) return;
        is_open_ = own_->guard().enter();
        target_ = own_->target();
    }
    ~stream_use() {
        if (own_ != nullptr && is_open_) own_->guard().leave();
    }
    stream_use(const stream_use&) = delete;
    stream_use& operator=(const stream_use&) = delete;

    core::status status() const noexcept {
        return is_open_ ? core::status{} : refuse_closed(role_);
    }
    const stream_target& target() const noexcept { return target_; }
    stream* own() const noexcept { return own_; }

  private:
    stream* own_;
    stream_target target_;
    const char* role_;
    bool is_open_ = true;
};

}  // namespace hostlaunch::core
