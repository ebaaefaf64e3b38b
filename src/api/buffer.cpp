// SPDX-License-Identifier: Apache-2.0
// hostlaunch::buffer over the core's object.
#include "hostlaunch/buffer.hpp"

#include <stdexcept>
#include <string>

#include "api/convert.hpp"
#include "core/objects/buffer.hpp"

namespace hostlaunch {
namespace {

// Enqueues a copy while the stream and both buffers are in use.
void enqueue_copy(core::buffer& destination, core::buffer& source, stream_ref stream,
                  const char* attempted) {
    if (destination.size() != source.size()) {
        throw std::invalid_argument(std::string(attempted) + ": buffers differ in size, " +
                                    std::to_string(source.size()) + " bytes into " +
                                    std::to_string(destination.size()));
    }
    use_object(destination, "destination buffer", attempted, [&](core::buffer& to) {
        const core::handle::use use(source.guard());
        if (!use) return core::refuse_closed("source buffer");
        const use_of on(stream);
        return on.status().ok() ? core::copy(on.target(), to, source) : on.status();
    });
}

}  // namespace

buffer::buffer(std::size_t nbytes, buffer_kind kind, int device_id) {
    if (nbytes == 0) throw std::invalid_argument("buffer(): nbytes must be positive");
    core::throw_if_failed(core::enter_driver(), "buffer()");
    const auto where =
        kind == buffer_kind::device ? core::buffer::kind::device : core::buffer::kind::pinned;
    core::throw_if_failed(core::buffer::create(nbytes, where, device_id, impl_), "buffer()");
}

buffer::~buffer() = default;
buffer::buffer(buffer&&) noexcept = default;
buffer& buffer::operator=(buffer&&) noexcept = default;

std::uintptr_t buffer::handle() const noexcept {
    return impl_->raw();
}
std::size_t buffer::nbytes() const noexcept {
    return impl_->size();
}

buffer_kind buffer::kind() const noexcept {
    return impl_->where() == core::buffer::kind::device ? buffer_kind::device : buffer_kind::pinned;
}

std::span<std::byte> buffer::bytes() const noexcept {
    if (kind() == buffer_kind::device || is_closed()) return {};
    return {static_cast<std::byte*>(impl_->host()), impl_->size()};
}

void buffer::copy_to(buffer& destination, stream_ref stream) {
    enqueue_copy(*destination.impl_, *impl_, stream, "buffer::copy_to");
}

void buffer::copy_from(buffer& source, stream_ref stream) {
    enqueue_copy(*impl_, *source.impl_, stream, "buffer::copy_from");
}

void buffer::fill(std::byte value, stream_ref stream) {
    use_object(*impl_, "buffer", "buffer::fill", [&](core::buffer& to) {
        const use_of on(stream);
        if (!on.status().ok()) return on.status();
        return core::fill(on.target(), to, std::to_integer<unsigned char>(value));
    });
}

void buffer::close() noexcept {
    impl_->close();
}
bool buffer::is_closed() const noexcept {
    return impl_->is_closed();
}

}  // namespace hostlaunch
