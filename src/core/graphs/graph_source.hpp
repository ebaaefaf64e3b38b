// SPDX-License-Identifier: Apache-2.0
// A graph that was built, with its host nodes: shared by its builder and what was made from it.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "core/graphs/graph_task.hpp"
#include "core/objects/handle.hpp"
#include "driver/driver.hpp"

namespace hostlaunch::core {

inline constexpr object_type graph_type{[](std::uint64_t value) noexcept {
    return driver_library::api().graph_destroy(reinterpret_cast<abi::graph>(value));
}};

// A host node for which a host function was added: the source it is of, and its place there.
// source 0: unknown, since the driver did not tell the node.
struct graph_node_token {
    std::uint64_t source = 0;
    std::size_t place = 0;
};

struct graph_source {
    struct entry {
        abi::graph_node node = nullptr;
        abi::user_object object = nullptr;  // the graph holds it; null: kept to process end
        host_call call;                     // what the node is given
    };

    graph_source() noexcept = default;
    ~graph_source() {
        if (graph != nullptr) {
            destroy_object(graph_type, reinterpret_cast<std::uint64_t>(graph));
        }
    }
    graph_source(const graph_source&) = delete;
    graph_source& operator=(const graph_source&) = delete;

    std::uint64_t id = 0;
    std::mutex mutex;            // serialises use of the graph; guards entries
    abi::graph graph = nullptr;  // null while it is the capture's
    std::vector<entry> entries;
};

}  // namespace hostlaunch::core
