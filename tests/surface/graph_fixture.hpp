// SPDX-License-Identifier: Apache-2.0
// What the tests of graphs share that need the embedded driver's knobs.
#pragma once

#include "contract/library_graph_case.hpp"
#include "surface/fixture.hpp"

namespace hostlaunch::test {

class on_graphs : public with_graphs<on_embedded> {
  protected:
    void TearDown() override {
        hostlaunch_embedded_reset();  // before anything waits for work that a knob holds
        with_graphs<on_embedded>::TearDown();
    }
};

}  // namespace hostlaunch::test
