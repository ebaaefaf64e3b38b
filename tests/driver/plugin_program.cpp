// SPDX-License-Identifier: Apache-2.0
// Loads the plugin by the path in its argument, goes to another folder, and asks it for its driver.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
    void* plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    auto* tell = reinterpret_cast<int (*)()>(dlsym(plugin, "hostlaunch_test_tell"));
    return chdir("/") != 0 || tell == nullptr ? 1 : tell();
}
