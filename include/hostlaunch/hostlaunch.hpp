// SPDX-License-Identifier: Apache-2.0
// Host functions in CUDA stream order: everything that the library offers but future.hpp, which
// includes <future>.
#pragma once

#include "hostlaunch/buffer.hpp"
#include "hostlaunch/driver.hpp"
#include "hostlaunch/error.hpp"
#include "hostlaunch/event.hpp"
#include "hostlaunch/graph.hpp"
#include "hostlaunch/launch.hpp"
#include "hostlaunch/named.hpp"
#include "hostlaunch/stats.hpp"
#include "hostlaunch/stream.hpp"
#include "hostlaunch/version.hpp"
#include "hostlaunch/work_done.hpp"
