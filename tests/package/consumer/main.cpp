// SPDX-License-Identifier: Apache-2.0
// A user's program: exit code 0 if a launch of each kind has run, in order.
#include <cstdio>
#include <hostlaunch/hostlaunch.hpp>
#include <memory>
#include <vector>

namespace {

std::vector<int> order;

void note_number(void* number) {
    order.push_back(*static_cast<int*>(number));
}

}  // namespace

int main() {
    hostlaunch::stream stream;
    hostlaunch::host_launch(stream, [one = std::make_unique<int>(1)] { order.push_back(*one); });
    int two = 2;
    hostlaunch::host_launch(stream, &note_number, &two);
    const int three = 3;
    hostlaunch::host_launch(stream, &note_number, std::as_bytes(std::span(&three, 1)));
    auto four = [] { order.push_back(4); };
    hostlaunch::host_launch(stream, std::ref(four));
    stream.sync();

    const hostlaunch::driver_info driver = hostlaunch::driver();
    std::printf("%zu functions ran on the %s driver, %s\n", order.size(), driver.name.c_str(),
                driver.path.c_str());
    return order == std::vector{1, 2, 3, 4} ? 0 : 1;
}
