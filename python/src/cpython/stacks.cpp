// SPDX-License-Identifier: Apache-2.0
// Reads thread states, the kernel's view of a thread, and calls faulthandler.
#include "cpython/stacks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

namespace hostlaunch::python {
namespace {

// A signal that nobody is likely to use. It has its handler only in the copy.
int own_signal() noexcept {
    return SIGRTMAX - 5;
}

struct sigaction writes_stacks{};
std::atomic<bool> prepared{false};

// True for the thread whose turn it is to run Python.
bool holds_gil(PyThreadState* state) noexcept {
#if defined(Py_GIL_DISABLED)
    (void)state;
    return false;  // there is none: any number of threads may be attached
#elif PY_VERSION_HEX >= 0x030C0000
    return state->_status.active != 0;
#else
    return state == _PyThreadState_UncheckedGet();
#endif
}

PyThreadState* find_holder() noexcept {
    PyThreadState* state = PyInterpreterState_ThreadHead(PyInterpreterState_Main());
    for (int n = 0; state != nullptr && n < 100'000; ++n, state = PyThreadState_Next(state)) {
        if (holds_gil(state)) return state;
    }
    return nullptr;
}

// One line of a file of the kernel's, without its end; empty if there is none.
template <std::size_t size>
void read_line(char (&out)[size], unsigned long thread, const char* what) noexcept {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/task/%lu/%s", getppid(), thread, what);
    out[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t got = read(file, out, size - 1);
    close(file);
    out[got > 0 ? got : 0] = '\0';
    out[std::strcspn(out, "\n")] = '\0';
}

// What the kernel says of it: R runs, S sleeps, D waits for a device.
char run_state(unsigned long thread) noexcept {
    char line[256];
    read_line(line, thread, "stat");
    const char* name_end = std::strrchr(line, ')');
    return name_end != nullptr && name_end[1] != '\0' ? name_end[2] : '?';
}

void tell_holder(int file) noexcept {
    char text[640];
    int length = 0;
    if (!has_gil) return;
    if (PyThreadState* holder = find_holder(); holder != nullptr) {
        char name[32];
        char kernel[64];
        const unsigned long thread = holder->native_thread_id;
        read_line(name, thread, "comm");
        read_line(kernel, thread, "wchan");
        const char state = run_state(thread);
        const bool sleeps = state == 'S' || state == 'D';
        length = std::snprintf(
            text, sizeof text, "  The GIL is held by thread %lu (%s, 0x%016lx), which %s%s%s\n",
            thread, name, holder->thread_id, sleeps ? "sleeps while it holds it (kernel: " : "runs",
            sleeps ? kernel : ".",
            sleeps
                ? "): nobody else runs Python until the call that it is in returns. If that call "
                  "waits for a stream named above, neither can go on: docs/errors.md, \"The "
                  "deadlock rule\"."
                : "");
    } else {
        length = std::snprintf(text, sizeof text, "  Nobody holds the GIL at this moment.\n");
    }
    if (length > 0 && write(file, text, static_cast<std::size_t>(length)) < 0) return;
}

void tell_stacks(int file) noexcept {
    if (!prepared.load(std::memory_order_acquire)) return;
    const char head[] = "  Stacks of the Python threads, innermost call first:\n";
    if (write(file, head, sizeof head - 1) < 0) return;
    const int own = own_signal();
    sigaction(own, &writes_stacks, nullptr);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, own);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    syscall(SYS_tgkill, getpid(), static_cast<pid_t>(syscall(SYS_gettid)), own);
}

}  // namespace

bool prepare_stacks(int file) {
    struct sigaction former{};
    const int own = own_signal();
    sigaction(own, nullptr, &former);
    const owned faulthandler(PyImport_ImportModule("faulthandler"));
    if (!faulthandler) return false;
    const owned done(
        PyObject_CallMethod(faulthandler.get(), "register", "iiOO", own, file, Py_True, Py_False));
    if (!done) return false;
    prepared.store(false);
    sigaction(own, &former, &writes_stacks);
    prepared.store(true, std::memory_order_release);
    return true;
}

void tell_threads(int file) {
    tell_holder(file);
    tell_stacks(file);
}

}  // namespace hostlaunch::python
