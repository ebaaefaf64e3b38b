// SPDX-License-Identifier: Apache-2.0
// Entry points about devices that reach each other's memory: all can, since it is one memory.
#include <algorithm>

#include "embedded/engine/contexts.hpp"
#include "embedded/entries/calls.hpp"

namespace hostlaunch::embedded {

namespace {

constexpr result error_peer_access_already_enabled = 704;
constexpr result error_peer_access_not_enabled = 705;

bool is_device(device dev) {
    return dev >= 0 && static_cast<std::size_t>(dev) < the_driver().devices.size();
}

// Calls body(context_state& current, context_state& peer) with two contexts of different devices.
template <class Body>
result with_peer(context peer, Body body) {
    const lock held(the_driver().mutex);
    result why;
    context_state* here = current_context(why);
    const context_state* there = here == nullptr ? nullptr : find_context(peer, why);
    if (there == nullptr) {
        return error_invalid_context;
    }
    return here->dev == there->dev ? error_invalid_device : body(*here, *there);
}

}  // namespace

namespace calls {

result cuDeviceCanAccessPeer(int* can, device dev, device peer) {
    if (can == nullptr) {
        return error_invalid_value;
    }
    if (!is_device(dev) || !is_device(peer)) {
        return error_invalid_device;
    }
    *can = dev != peer ? 1 : 0;
    return success;
}

result cuDeviceGetP2PAttribute(int* value, int attribute, device from, device to) {
    constexpr int access_supported = 2;
    constexpr int last = 5;
    if (value == nullptr || attribute < 1 || attribute > last) {
        return error_invalid_value;
    }
    if (!is_device(from) || !is_device(to) || from == to) {
        return error_invalid_device;
    }
    *value = attribute == access_supported ? 1 : 0;
    return success;
}

result cuCtxEnablePeerAccess(context peer, unsigned flags) {
    return with_peer(peer, [&](context_state& here, const context_state& there) {
        if (flags != 0) {
            return error_invalid_value;
        }
        if (std::find(here.peers.begin(), here.peers.end(), there.id) != here.peers.end()) {
            return error_peer_access_already_enabled;
        }
        here.peers.push_back(there.id);
        return success;
    });
}

result cuCtxDisablePeerAccess(context peer) {
    return with_peer(peer, [](context_state& here, const context_state& there) {
        return std::erase(here.peers, there.id) != 0 ? success : error_peer_access_not_enabled;
    });
}

}  // namespace calls

}  // namespace hostlaunch::embedded
