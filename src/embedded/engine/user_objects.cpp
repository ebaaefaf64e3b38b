// SPDX-License-Identifier: Apache-2.0
// Counts the references of user objects and runs their destructors.
#include "embedded/engine/user_objects.hpp"

#include <pthread.h>

#include <memory>

#include "embedded/engine/process.hpp"
#include "embedded/engine/thread.hpp"

namespace hostlaunch::embedded {

namespace {

void append(object_list& list, user_object_state& object) {
    (list.tail == nullptr ? list.head : list.tail->next) = &object;
    list.tail = &object;
}

// requires: the list is not empty
std::unique_ptr<user_object_state> take_first(object_list& list) {
    std::unique_ptr<user_object_state> first(list.head);
    list.head = first->next;
    list.tail = list.head == nullptr ? nullptr : list.tail;
    return first;
}

void call_destructor(const user_object_state& object) {
    object.destroy(object.value);
}

void count_ended(driver& d) {
    --d.user_objects;
    ++d.destructors_run;
    if (d.progress_waiters > 0) {
        d.progress.notify_all();
    }
}

void destroy_next(lock& held, driver& d) {
    const auto object = take_first(d.dying);
    held.unlock();
    call_destructor(*object);
    if (in_forked_child()) {
        pthread_exit(nullptr);  // the parent's objects are none of the child's business
    }
    held.lock();
    count_ended(d);
}

void* destroyer_thread(void*) {
    set_inside_host_function(true);
    pthread_setname_np(pthread_self(), "hostlaunch-free");
    driver& d = the_driver();
    lock held(d.mutex);
    for (;;) {
        if (d.dying.head == nullptr || d.exiting.load(std::memory_order_relaxed)) {
            d.destroyer_wakes.wait(held);
        } else {
            destroy_next(held, d);
        }
    }
}

}  // namespace

user_object_state* create_user_object(void* value, host_fn destroy, unsigned references) {
    driver& d = the_driver();
    auto made = std::make_unique<user_object_state>();
    made->id = d.next_id++;
    made->value = value;
    made->destroy = destroy;
    made->references = references;
    made->owned = references;
    d.destroyer_started = d.destroyer_started || start_thread(destroyer_thread, nullptr, 0);
    if (!d.destroyer_started) {
        return nullptr;
    }
    made->handle = make_handle<user_object>(d.handles.add(handle_kind::user_object, made.get()));
    ++d.user_objects;
    return made.release();
}

user_object_state* find_user_object(user_object handle) {
    result why;
    return static_cast<user_object_state*>(
        the_driver().handles.find(handle_kind::user_object, handle_bits(handle), why));
}

void drop_references(user_object_state& object, std::uint64_t count, object_list& due) {
    object.references -= count;
    if (object.references > 0) {
        return;
    }
    driver& d = the_driver();
    d.handles.remove(handle_bits(object.handle));
    append(due, object);
    if (&due == &d.dying) {
        d.destroyer_wakes.notify_one();
    }
}

void end_here(object_list& due) {
    if (due.head == nullptr) {
        return;
    }
    driver& d = the_driver();
    const bool inside = inside_host_function();
    set_inside_host_function(true);  // a destructor may call what a host function may
    while (due.head != nullptr) {
        call_destructor(*take_first(due));
        if (in_forked_child()) {
            break;  // the parent's objects are none of the child's business
        }
        const lock held(d.mutex);
        count_ended(d);
    }
    set_inside_host_function(inside);
}

bool destructors_are_done(const driver& d) {
    return d.user_objects == d.handles.live(handle_kind::user_object);
}

}  // namespace hostlaunch::embedded
