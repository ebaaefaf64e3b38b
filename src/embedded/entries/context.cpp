// SPDX-License-Identifier: Apache-2.0
// Entry points about contexts: primary ones, created ones, and which is current.
#include "embedded/engine/capture.hpp"
#include "embedded/engine/contexts.hpp"
#include "embedded/engine/limits.hpp"
#include "embedded/engine/thread.hpp"
#include "embedded/engine/user_objects.hpp"
#include "embedded/engine/waits.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr unsigned known_flags = 0xff;  // CUctx_flags: how to wait, and what matters to kernels

device_state* find_device(device dev) {
    auto& devices = the_driver().devices;
    const bool known = dev >= 0 && static_cast<std::size_t>(dev) < devices.size();
    return known ? &devices[static_cast<std::size_t>(dev)] : nullptr;
}

result retain_primary(context* out, device dev) {
    const lock held(the_driver().mutex);
    device_state* d = find_device(dev);
    if (out == nullptr || d == nullptr) {
        return out == nullptr ? error_invalid_value : error_invalid_device;
    }
    if (d->primary == nullptr) {
        d->primary = &create_context(dev, d->flags, true);
    }
    ++d->retained;
    *out = d->primary->handle;
    return success;
}

void end_primary(lock& held, device_state& d, object_list& due) {
    if (d.primary != nullptr && destroy_context(held, d.primary->handle, due)) {
        d.primary = nullptr;
    }
}

result release_primary(lock& held, device dev, object_list& due) {
    device_state* d = find_device(dev);
    if (d == nullptr) {
        return error_invalid_device;
    }
    if (d->retained == 0) {
        return error_invalid_context;
    }
    if (--d->retained == 0) {
        end_primary(held, *d, due);
    }
    return success;
}

result reset_primary(lock& held, device dev, object_list& due) {
    device_state* d = find_device(dev);
    if (d == nullptr) {
        return error_invalid_device;
    }
    end_primary(held, *d, due);
    return success;
}

result make_context(context* out, unsigned flags, device dev) {
    const lock held(the_driver().mutex);
    if (out == nullptr || find_device(dev) == nullptr) {
        return out == nullptr ? error_invalid_value : error_invalid_device;
    }
    auto& stack = this_thread().current;
    stack.reserve(stack.size() + 1);
    stack.push_back(create_context(dev, flags, false).handle);
    *out = stack.back();
    return success;
}

result end_context(lock& held, context handle, object_list& due) {
    result why;
    context_state* ctx = find_context(handle, why);
    if (ctx == nullptr || ctx->is_primary) {
        return ctx == nullptr && why == error_context_is_destroyed ? why : error_invalid_context;
    }
    if (!destroy_context(held, handle, due)) {
        return error_context_is_destroyed;
    }
    auto& stack = this_thread().current;
    if (!stack.empty() && stack.back() == handle) {
        stack.pop_back();
    }
    return success;
}

// Contexts that are gone may stay or become current; what uses them then says
// CONTEXT_IS_DESTROYED.
result check_context(context handle) {
    const lock held(the_driver().mutex);
    result why = success;
    find_context(handle, why);
    return why == error_invalid_handle ? error_invalid_context : success;
}

result synchronize(context_state* (*find)(context, result&), context handle) {
    lock held(the_driver().mutex);
    result why;
    context_state* ctx = find(handle, why);
    if (ctx == nullptr) {
        return why;
    }
    const result refused = refuse_context_wait(*ctx);
    return refused != success ? refused : wait_for_context(held, *ctx);
}

context_state* given_or_current(context handle, result& why) {
    return handle != nullptr ? find_context(handle, why) : current_context(why);
}

result device_of(device* out, context handle) {
    const lock held(the_driver().mutex);
    result why;
    const context_state* ctx = given_or_current(handle, why);
    if (ctx == nullptr || out == nullptr) {
        return ctx == nullptr ? why : error_invalid_value;
    }
    *out = ctx->dev;
    return success;
}

// Writes read(context_state&) of a context, or of the current one for null.
template <class Out, class Read>
result read_context(context handle, Out* out, Read read) {
    const lock held(the_driver().mutex);
    result why;
    const context_state* ctx = given_or_current(handle, why);
    if (ctx == nullptr || out == nullptr) {
        return ctx == nullptr ? why : error_invalid_value;
    }
    *out = read(*ctx);
    return success;
}

}  // namespace

namespace calls {

result cuDevicePrimaryCtxRetain(context* out, device dev) {
    return retain_primary(out, dev);
}

result cuDevicePrimaryCtxRelease_v2(device dev) {
    return end_after([&](lock& held, object_list& due) { return release_primary(held, dev, due); });
}

result cuDevicePrimaryCtxReset_v2(device dev) {
    return end_after([&](lock& held, object_list& due) { return reset_primary(held, dev, due); });
}

result cuDevicePrimaryCtxGetState(device dev, unsigned* flags, int* active) {
    const lock held(the_driver().mutex);
    const device_state* d = find_device(dev);
    if (d == nullptr || flags == nullptr || active == nullptr) {
        return d == nullptr ? error_invalid_device : error_invalid_value;
    }
    *flags = d->primary != nullptr ? d->primary->flags : d->flags;
    *active = d->primary != nullptr ? 1 : 0;
    return success;
}

result cuCtxCreate_v2(context* out, unsigned flags, device dev) {
    return make_context(out, flags, dev);
}

result cuCtxCreate_v4(context* out, void* params, unsigned flags, device dev) {
    return params != nullptr ? error_not_supported : make_context(out, flags, dev);
}

result cuCtxDestroy_v2(context ctx) {
    return end_after([&](lock& held, object_list& due) { return end_context(held, ctx, due); });
}

result cuCtxGetCurrent(context* out) {
    if (out == nullptr) {
        return error_invalid_value;
    }
    const auto& stack = this_thread().current;
    *out = stack.empty() ? nullptr : stack.back();
    return success;
}

result cuCtxSetCurrent(context ctx) {
    auto& stack = this_thread().current;
    if (ctx == nullptr) {
        if (!stack.empty()) {
            stack.pop_back();
        }
        return success;
    }
    const result checked = check_context(ctx);
    if (checked != success) {
        return checked;
    }
    if (stack.empty()) {
        stack.push_back(ctx);
    }
    stack.back() = ctx;
    return success;
}

result cuCtxPushCurrent_v2(context ctx) {
    const result checked = check_context(ctx);
    if (checked == success) {
        this_thread().current.push_back(ctx);
    }
    return checked;
}

result cuCtxPopCurrent_v2(context* out) {
    auto& stack = this_thread().current;
    if (stack.empty()) {
        return error_invalid_context;
    }
    if (out != nullptr) {
        *out = stack.back();
    }
    stack.pop_back();
    return success;
}

result cuCtxGetDevice(device* out) {
    return device_of(out, nullptr);
}

result cuCtxGetDevice_v2(device* out, context ctx) {
    return device_of(out, ctx);
}

result cuCtxGetApiVersion(context ctx, unsigned* version) {
    constexpr unsigned api_version = 3020;
    const lock held(the_driver().mutex);
    result why;
    if (given_or_current(ctx, why) == nullptr || version == nullptr) {
        return version == nullptr ? error_invalid_value : why;
    }
    *version = api_version;
    return success;
}

result cuCtxSynchronize() {
    return synchronize(given_or_current, nullptr);
}

result cuCtxSynchronize_v2(context ctx) {
    return synchronize(given_or_current, ctx);
}

result cuDevicePrimaryCtxSetFlags_v2(device dev, unsigned flags) {
    const lock held(the_driver().mutex);
    device_state* d = find_device(dev);
    if (d == nullptr) {
        return error_invalid_device;
    }
    if ((flags & ~known_flags) != 0) {
        return error_invalid_value;
    }
    d->flags = flags;
    if (d->primary != nullptr) {
        d->primary->flags = flags;
    }
    return success;
}

result cuCtxGetFlags(unsigned* flags) {
    return read_context(nullptr, flags, [](const context_state& ctx) { return ctx.flags; });
}

result cuCtxSetFlags(unsigned flags) {
    const lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr || (flags & ~known_flags) != 0) {
        return ctx == nullptr ? why : error_invalid_value;
    }
    ctx->flags = flags;
    return success;
}

result cuCtxGetId(context ctx, unsigned long long* id) {
    return read_context(ctx, id, [](const context_state& found) { return found.id; });
}

// Limits are of kernels: kept, and without effect.
result cuCtxGetLimit(std::size_t* value, int limit) {
    if (limit < 0 || limit >= context_limits) {
        return error_invalid_value;
    }
    return read_context(nullptr, value, [&](const context_state& ctx) {
        return ctx.limits[static_cast<std::size_t>(limit)];
    });
}

result cuCtxSetLimit(int limit, std::size_t value) {
    const lock held(the_driver().mutex);
    result why;
    context_state* ctx = current_context(why);
    if (ctx == nullptr || limit < 0 || limit >= context_limits) {
        return ctx == nullptr ? why : error_invalid_value;
    }
    ctx->limits[static_cast<std::size_t>(limit)] = value;
    return success;
}

result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    const lock held(the_driver().mutex);
    result why;
    if (current_context(why) == nullptr) {
        return why;
    }
    if (least != nullptr) {
        *least = least_priority;
    }
    if (greatest != nullptr) {
        *greatest = greatest_priority;
    }
    return success;
}

}  // namespace calls

}  // namespace hostlaunch::embedded
