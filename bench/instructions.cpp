// SPDX-License-Identifier: Apache-2.0
// The program whose instructions scripts/instruction_check.py counts: instructions KIND ROUNDS.
//
// Each round launches 500 functions while the embedded driver holds them back, then lets them run,
// so that records are reused and no launch meets a callback. KIND is lambda, or bare for the calls
// that a launch cannot do without.
#include <cstdio>
#include <cstdlib>
#include <hostlaunch/hostlaunch.hpp>
#include <string_view>

#include "bare.h"

namespace {

constexpr int launches = 500;
std::size_t ran = 0;

[[gnu::noinline]] bool launch_ours(hostlaunch::stream& on) {
    std::size_t* count = &ran;
    for (int i = 0; i < launches; ++i)
        hostlaunch::host_launch(on, [count] { ++*count; });
    return true;
}

[[gnu::noinline]] bool launch_bare(hostlaunch::stream& on) {
    return bare_enqueue(on.handle(), launches, 1) >= 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3 || bare_load(hostlaunch::driver().path.c_str()) != 0) return 2;
    const bool ours = std::string_view(argv[1]) == "lambda";
    auto* set_manual =
        reinterpret_cast<void (*)(int)>(bare_symbol("hostlaunch_embedded_set_manual"));
    if (set_manual == nullptr) {
        std::fprintf(stderr, "set HOSTLAUNCH_DRIVER=embedded\n");
        return 2;
    }
    hostlaunch::stream on;
    for (int round = std::atoi(argv[2]); round > 0; --round) {
        set_manual(1);
        if (!(ours ? launch_ours(on) : launch_bare(on))) return 1;
        set_manual(0);
        on.sync();
    }
    return 0;
}
