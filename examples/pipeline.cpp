// SPDX-License-Identifier: Apache-2.0
// Streams a file through a CUDA device and hashes what comes back: the twin of pipeline.py.
//
// Host functions do the reading, the hashing and the writing, in stream order with the device's
// copies. The printed SHA-256 is that of `sha256sum FILE`, so every byte made the round trip.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <hostlaunch/hostlaunch.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "sha256.hpp"

namespace {

constexpr double mib = 1 << 20;
constexpr std::size_t sample_bytes = 64 << 20;
constexpr std::string_view sample_sha256 =
    "53fbd451b5955120b4f45516728649564325ec249fddd21d42a168acbf8926db";

[[noreturn]] void fail(const std::string& name) {
    throw std::system_error(errno, std::generic_category(), name);
}

// A file, unbuffered: the pinned memory is the buffer.
class file {
  public:
    file(std::string name, int flags) : name_(std::move(name)) {
        fd_ = open(name_.c_str(), flags | O_CLOEXEC, 0666);
        if (fd_ < 0) fail(name_);
    }
    // A file of pseudo-random bytes, the same ones each time, that is gone with the object.
    file() : name_("sample") {
        std::string path = std::string(temporary_folder()) + "/hostlaunch-XXXXXX";
        fd_ = mkstemp(path.data());
        if (fd_ < 0) fail(path);
        unlink(path.c_str());
        std::mt19937 numbers(0);  // seeded with a constant: the same sample each time
        std::vector<std::uint32_t> words(1 << 16);
        for (std::size_t left = sample_bytes; left > 0; left -= words.size() * 4) {
            for (std::uint32_t& word : words) {
                word = static_cast<std::uint32_t>(numbers());
            }
            write(std::as_bytes(std::span(words)));
        }
        lseek(fd_, 0, SEEK_SET);
    }
    ~file() { close(fd_); }
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    const std::string& name() const { return name_; }

    struct stat status() const {
        struct stat now{};
        if (fstat(fd_, &now) != 0) fail(name_);
        return now;
    }

    // How many bytes were read: 0 at the end of the file.
    std::size_t read(std::span<std::byte> into) const {
        const ssize_t n = ::read(fd_, into.data(), into.size());
        if (n < 0) fail(name_);
        return static_cast<std::size_t>(n);
    }
    void write(std::span<const std::byte> data) const {
        while (!data.empty()) {
            const ssize_t n = ::write(fd_, data.data(), data.size());
            if (n < 0) fail(name_);
            data = data.subspan(static_cast<std::size_t>(n));
        }
    }

  private:
    static const char* temporary_folder() {
        const char* named = std::getenv("TMPDIR");
        return named != nullptr ? named : "/tmp";
    }

    std::string name_;
    int fd_ = -1;
};

// The buffers of one chunk on its way, and the stream that all its work is enqueued on.
struct slot {
    explicit slot(std::size_t nbytes)
        : incoming(nbytes, hostlaunch::buffer_kind::pinned),
          device(nbytes),
          outgoing(nbytes, hostlaunch::buffer_kind::pinned) {}

    hostlaunch::stream stream;
    hostlaunch::buffer incoming;
    hostlaunch::buffer device;
    hostlaunch::buffer outgoing;
    std::size_t valid = 0;  // how many bytes of the buffers belong to the file
    std::optional<hostlaunch::event> read_done, hash_done, all_done;
};

// Records behind the work so far, in the same event each time.
void mark(hostlaunch::stream& stream, std::optional<hostlaunch::event>& point) {
    if (point) {
        stream.record(*point);
    } else {
        point = stream.record();
    }
}

// One file on its way. The driver runs read() and hash_and_write() on a thread of its own, one at a
// time, in the order that enqueue() asks for. They must not call CUDA, nor wait for somebody else.
class pipeline {
  public:
    pipeline(const file& source, const file* sink) : source_(source), sink_(sink) {}

    std::string digest() { return digest_.hex(); }
    std::size_t nbytes() const { return nbytes_; }

    // Enqueues chunks until a read finds the end of the file, then waits for what is left: the
    // functions use the files and the buffers, so all have ended when this returns or throws.
    void run(std::vector<slot>& slots) {
        std::exception_ptr failure;
        try {
            enqueue_all(slots);
        } catch (...) {
            stopped_ = true;  // the device failed: what is enqueued does nothing
            failure = std::current_exception();
        }
        for (slot& s : slots) {
            try {
                s.stream.sync();
            } catch (...) {
                if (!failure) failure = std::current_exception();
            }
        }
        if (error_) failure = error_;
        if (failure) std::rethrow_exception(failure);
    }

  private:
    // At most one chunk per slot is outstanding: a slot's last chunk ends before its next begins.
    void enqueue_all(std::vector<slot>& slots) {
        slot* before = nullptr;
        for (std::size_t i = 0;; i = (i + 1) % slots.size()) {
            slot& s = slots[i];
            if (s.all_done) s.all_done->sync();
            if (at_end_ || stopped_) return;
            enqueue(s, before);
            before = &s;
        }
    }

    // Stream order alone protects the buffers, for all that touches them is on the slot's stream.
    // Events are needed for what spans streams: chunks have to be read, and hashed, in file order.
    void enqueue(slot& s, slot* before) {
        if (before != nullptr) s.stream.wait(*before->read_done);
        hostlaunch::host_launch(s.stream, [this, &s] { guarded(&pipeline::read, s); });
        mark(s.stream, s.read_done);

        // Always whole buffers: how much of them is valid is known only once the read has run.
        s.device.copy_from(s.incoming, s.stream);
        s.device.copy_to(s.outgoing, s.stream);

        if (before != nullptr) s.stream.wait(*before->hash_done);
        hostlaunch::host_launch(s.stream, [this, &s] { guarded(&pipeline::hash_and_write, s); });
        mark(s.stream, s.hash_done);
        mark(s.stream, s.all_done);
    }

    // Runs one step. If it fails, keeps the error for main and lets later steps do nothing: an
    // exception that left the host function would go to the handler, and the stream would go on.
    void guarded(void (pipeline::*step)(slot&), slot& s) {
        if (stopped_) return;
        try {
            (this->*step)(s);
        } catch (...) {
            error_ = std::current_exception();
            stopped_ = true;
        }
    }

    void read(slot& s) {
        s.valid = at_end_ ? 0 : source_.read(s.incoming.bytes());
        at_end_ = s.valid == 0;
    }

    void hash_and_write(slot& s) {
        const auto chunk = s.outgoing.bytes().first(s.valid);
        digest_.update(chunk);
        if (sink_ != nullptr) sink_->write(chunk);
        nbytes_ += s.valid;
    }

    const file& source_;
    const file* sink_;
    sha256 digest_;
    std::size_t nbytes_ = 0;
    std::atomic<bool> at_end_{false};
    std::atomic<bool> stopped_{false};
    std::exception_ptr error_;
};

struct arguments {
    std::optional<std::string> input;
    std::optional<std::string> output;
    std::size_t chunk_size = 4 << 20;
    std::size_t buffers = 2;
};

// All host functions of a context share one thread, so one that waits for the writer of a pipe
// would hold up every stream: the input has to be a regular file, the output no pipe.
void check_files(const file& source, const std::string& output) {
    struct stat existing{};
    if (stat(output.c_str(), &existing) != 0) return;  // made when it is opened
    const struct stat read_from = source.status();
    if (existing.st_dev == read_from.st_dev && existing.st_ino == read_from.st_ino) {
        throw std::runtime_error(output + ": is the input file");
    }
    if (S_ISFIFO(existing.st_mode)) throw std::runtime_error(output + ": is a pipe");
}

void run(const arguments& args) {
    std::optional<file> source, sink;
    if (args.input) {
        struct stat existing{};
        if (stat(args.input->c_str(), &existing) != 0) fail(*args.input);
        if (!S_ISREG(existing.st_mode)) {
            throw std::runtime_error(*args.input + ": not a regular file");
        }
        source.emplace(*args.input, O_RDONLY);
    } else {
        source.emplace();
    }
    if (args.output) {
        check_files(*source, *args.output);
        sink.emplace(*args.output, O_WRONLY | O_CREAT | O_TRUNC);
    }
    pipeline p(*source, sink ? &*sink : nullptr);
    std::vector<slot> slots;
    for (std::size_t i = 0; i < args.buffers; ++i) {
        slots.emplace_back(args.chunk_size);
    }
    const auto start = std::chrono::steady_clock::now();
    p.run(slots);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

    const std::string digest = p.digest();
    const hostlaunch::driver_info driver = hostlaunch::driver();
    const double amount = static_cast<double>(p.nbytes()) / mib;
    std::printf("%s  %s\n%.1f MiB there and back in %.3f s: %.1f MiB/s\n", digest.c_str(),
                source->name().c_str(), amount, seconds.count(), amount / seconds.count());
    std::printf("%llu host functions ran on the %s driver (CUDA %d.%d, %s)\n",
                static_cast<unsigned long long>(hostlaunch::stats().ran), driver.name.c_str(),
                driver.version / 1000, driver.version % 1000 / 10, driver.path.c_str());
    if (!args.input) {
        if (digest != sample_sha256)
            throw std::runtime_error("what came back is not what was sent");
        std::puts("This is the known SHA-256 of the sample: OK");
    }
    if (std::fflush(stdout) != 0) fail("stdout");
}

bool parse_positive(const char* text, std::size_t& number) {
    const std::string_view all = text == nullptr ? "" : text;
    const auto [end, code] = std::from_chars(all.data(), all.data() + all.size(), number);
    return code == std::errc() && end == all.data() + all.size() && number > 0;
}

bool parse(char** words, arguments& args) {
    for (; *words != nullptr; ++words) {
        const std::string_view word = *words;
        if (word == "--output" && words[1] != nullptr) {
            args.output = *++words;
        } else if (word == "--chunk-size") {
            if (!parse_positive(words[1], args.chunk_size)) return false;
            ++words;
        } else if (word == "--buffers") {
            if (!parse_positive(words[1], args.buffers)) return false;
            ++words;
        } else if (!args.input && !word.starts_with("--")) {
            args.input = word;
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int, char** argv) {
    arguments args;
    if (!parse(argv + 1, args)) {
        std::fputs("usage: pipeline [FILE] [--output OUT] [--chunk-size BYTES] [--buffers N]\n",
                   stderr);
        return 2;
    }
    try {
        run(args);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "pipeline: %s\n", e.what());
        return 1;
    }
    return 0;
}
