// SPDX-License-Identifier: Apache-2.0
// hostlaunch::stream and event over the core's objects.
#include "hostlaunch/stream.hpp"

#include "api/convert.hpp"
#include "core/objects/event.hpp"
#include "core/objects/waits.hpp"
#include "core/routes/routes.hpp"

namespace hostlaunch {
namespace {

core::event& owned(const std::unique_ptr<core::event>& event, const char* attempted) {
    if (event == nullptr) core::throw_error(core::refuse_closed("event"), attempted);
    return *event;
}

core::status settled(core::status s, bool done) {
    return done ? core::routes::settle_after(s) : s;
}

}  // namespace

CUstream_st* stream_ref::owned_handle() const noexcept {
    return reinterpret_cast<CUstream_st*>(owner_->raw());
}

stream::stream(std::shared_ptr<core::stream> made) noexcept : impl_(std::move(made)) {}

stream::stream() : stream(stream_options{}) {}

stream::stream(const stream_options& options) {
    core::throw_if_failed(core::enter_driver(), "stream()");
    const core::stream_options wanted{options.device_id, options.nonblocking, options.priority};
    std::unique_ptr<core::stream> made;
    core::throw_if_failed(core::stream::create(wanted, made), "stream()");
    impl_ = std::move(made);
}

stream::~stream() {
    close_if_owner();
}
stream::stream(stream&&) noexcept = default;
stream& stream::operator=(stream&& other) noexcept {
    if (this == &other) return *this;
    close_if_owner();
    impl_ = std::move(other.impl_);
    return *this;
}

stream stream::from_handle(CUstream_st* handle) {
    return stream(std::make_shared<core::stream>(reinterpret_cast<abi::stream>(handle)));
}

CUstream_st* stream::handle() const noexcept {
    return reinterpret_cast<CUstream_st*>(impl_->raw());
}

int stream::device_id() const {
    int device = 0;
    use_object(*impl_, "stream", "stream::device_id",
               [&](core::stream& s) { return s.device(&device); });
    return device;
}

void stream::sync() {
    use_object(*impl_, "stream", "stream::sync", [](core::stream& s) {
        return core::routes::settle_after(core::blocking_by_default()
                                              ? core::sync_stream_asleep(s.target())
                                              : core::sync_stream(s.target()));
    });
}

bool stream::sync_for(std::chrono::duration<double> limit) {
    constexpr const char* attempted = "stream::sync_for";
    const auto deadline = core::wait_deadline(limit);
    bool done = false;
    std::unique_ptr<core::event> end;
    use_object(*impl_, "stream", attempted,
               [&](core::stream& s) { return core::record_end(s.target(), end); });
    core::throw_if_failed(settled(core::wait_until(*end, deadline, &done), done), attempted);
    return done;
}

event stream::record() {
    std::unique_ptr<core::event> made;
    use_object(*impl_, "stream", "stream::record",
               [&](core::stream& s) { return core::record_new_event(s.target(), made); });
    return event(std::move(made));
}

void stream::record(event& again) {
    if (again.impl_ == nullptr) {
        again = record();
        return;
    }
    use_object(*impl_, "stream", "stream::record", [&](core::stream& s) {
        const core::handle::use use(again.impl_->guard());
        return use ? core::record_event(s.target(), *again.impl_) : core::refuse_closed("event");
    });
}

void stream::wait(const event& e) {
    use_object(*impl_, "stream", "stream::wait", [&](core::stream& s) {
        if (e.impl_ == nullptr) return core::refuse_closed("event");
        const core::handle::use use(e.impl_->guard());
        return use ? core::wait_event(s.target(), *e.impl_) : core::refuse_closed("event");
    });
}

void stream::wait(stream_ref other) {
    use_object(*impl_, "stream", "stream::wait", [&](core::stream& s) {
        const use_of on(other, "other stream");
        return on.status().ok() ? core::wait_stream(s.target(), on.target()) : on.status();
    });
}

void stream::close_if_owner() noexcept {
    if (impl_ != nullptr) impl_->close();
}

void stream::close() noexcept {
    impl_->close();
}
bool stream::is_closed() const noexcept {
    return impl_->is_closed();
}

event::event(std::unique_ptr<core::event> made) noexcept : impl_(std::move(made)) {}
event::event() noexcept = default;
event::~event() = default;
event::event(event&&) noexcept = default;
event& event::operator=(event&&) noexcept = default;

CUevent_st* event::handle() const noexcept {
    return impl_ == nullptr ? nullptr : reinterpret_cast<CUevent_st*>(impl_->raw());
}

void event::sync() {
    use_object(owned(impl_, "event::sync"), "event", "event::sync",
               [](core::event& e) { return core::routes::settle_after(e.sync()); });
}

bool event::sync_for(std::chrono::duration<double> limit) {
    const auto deadline = core::wait_deadline(limit);
    bool done = false;
    use_object(owned(impl_, "event::sync_for"), "event", "event::sync_for",
               [&](core::event& e) { return settled(core::wait_until(e, deadline, &done), done); });
    return done;
}

bool event::is_done() const {
    bool done = false;
    use_object(owned(impl_, "event::is_done"), "event", "event::is_done",
               [&](core::event& e) { return e.query(&done); });
    return done;
}

void event::close() noexcept {
    if (impl_ != nullptr) impl_->close();
}
bool event::is_closed() const noexcept {
    return impl_ == nullptr || impl_->is_closed();
}

}  // namespace hostlaunch
