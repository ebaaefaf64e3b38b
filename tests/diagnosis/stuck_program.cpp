// SPDX-License-Identifier: Apache-2.0
// Stands still for a while: stuck_program SECONDS.
#include <chrono>
#include <cstdlib>
#include <hostlaunch/hostlaunch.hpp>
#include <thread>

namespace {

void save_results(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
    hostlaunch::stream stream;
    hostlaunch::host_launch(stream, hostlaunch::named("checkpoint", [seconds] {
                                std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
                            }));
    hostlaunch::host_launch(stream, &save_results, 0.0);
    hostlaunch::host_launch(stream, hostlaunch::named("behind", [] {}));
    stream.sync();
    return 0;
}
