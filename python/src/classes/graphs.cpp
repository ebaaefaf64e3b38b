// SPDX-License-Identifier: Apache-2.0
// GraphBuilder, Graph and GraphNode as Python classes over the core's objects.
#include "classes/graphs.hpp"

#include "arguments/own_objects.hpp"
#include "classes/class_docs.hpp"
#include "classes/graph_docs.hpp"
#include "classes/holder.hpp"
#include "classes/stream.hpp"
#include "core/graphs/graph.hpp"
#include "core/task/release.hpp"
#include "tasks/payload.hpp"
#include "tasks/release.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace hostlaunch::python {
namespace {

struct py_builder {
    holder<core::graph_builder> core;
    PyObject* stream;  // the object that was given; owned

    py_builder(std::unique_ptr<core::graph_builder> made, nb::handle of) noexcept
        : core(std::move(made)), stream(Py_NewRef(of.ptr())) {}
    py_builder(py_builder&& other) noexcept
        : core(std::move(other.core)), stream(std::exchange(other.stream, nullptr)) {}
    ~py_builder() { Py_XDECREF(stream); }
};

using py_graph = holder<core::executable_graph>;

// Calls f() detached; throws what fails. The objects themselves keep what is in use.
template <class F>
void call_core(const char* attempted, F&& f) {
    enter(attempted);
    throw_status(without_gil([&]() -> core::status { return f(); }), attempted);
}

// As Stream and Buffer do, but refused once exit has begun: nothing would run any more.
void enter_to_launch(const char* attempted) {
    enter(attempted);
    if (core::exiting()) throw_status(core::refuse(misuse::exiting), attempted);
}

core::host_call call_of(const function_argument& function) {
    if (function.kind != function_kind::compiled) return {};
    return {function.code, function.user_data, false};
}

// Checks the function, fills a record with it and gives both to add(record, call).
template <class Add>
void add_function(nb::handle fn, nb::handle user_data, const char* attempted, Add&& add) {
    function_argument function;
    if (!check_function(fn.ptr(), user_data.ptr(), function)) throw nb::python_error();
    enter_to_launch(attempted);
    core::record* r = core::record_pool::instance().acquire();
    if (r == nullptr) throw std::bad_alloc();
    const core::host_call call = call_of(function);
    fill_payload(*r, type_in_graph(function.kind), fn.ptr(), function);
    const core::added made = without_gil([&] { return add(*r, call); });
    core::discard(*r, made);
    throw_status(made.status, attempted);
    release_ended();
}

core::graph_node_token builder_callback(py_builder& self, nb::handle fn, nb::handle user_data) {
    core::graph_node_token token;
    core::graph_builder& builder = *self.core.object;
    add_function(
        fn, user_data, "GraphBuilder.callback",
        [&](core::record& r, const core::host_call& call) { return builder.add(r, call, &token); });
    return token;
}

void update_callback(py_graph& self, nb::handle node_object, nb::handle fn, nb::handle user_data) {
    const auto& node = instance_of<core::graph_node_token>(node_object, "node");
    core::executable_graph& graph = *self.object;
    add_function(fn, user_data, "Graph.update_callback",
                 [&](core::record& r, const core::host_call& call) {
                     return graph.update_callback(node, r, call);
                 });
}

py_builder attach_builder(nb::handle stream) {
    constexpr const char* attempted = "GraphBuilder.attach";
    const stream_argument argument = stream_from(stream, attempted);
    std::shared_ptr<core::stream> owner;
    if (argument.own != nullptr) owner = argument.own->shared_from_this();
    std::unique_ptr<core::graph_builder> made;
    call_core(attempted, [&] { return core::graph_builder::attach(argument.target, owner, made); });
    return {std::move(made), stream};
}

abi::capture_mode mode_argument(nb::handle mode) {
    require_str(mode, "mode");
    const auto is = [mode](const char* name) {
        return PyUnicode_CompareWithASCIIString(mode.ptr(), name) == 0;
    };
    if (is("relaxed")) return abi::capture_mode::relaxed;
    if (is("global")) return abi::capture_mode::global;
    if (is("thread_local")) return abi::capture_mode::thread_local_mode;
    refuse_value(PyExc_ValueError, "mode must be 'relaxed', 'global' or 'thread_local'", mode);
}

nb::object begin_building(nb::object self, nb::handle mode) {
    core::graph_builder& builder = *instance_of<py_builder>(self, "self").core.object;
    const abi::capture_mode wanted = mode_argument(mode);
    call_core("GraphBuilder.begin_building", [&] { return builder.begin(wanted); });
    return self;
}

nb::object end_building(nb::object self) {
    core::graph_builder& builder = *instance_of<py_builder>(self, "self").core.object;
    call_core("GraphBuilder.end_building", [&] { return builder.end(); });
    return self;
}

py_graph complete(py_builder& self) {
    std::unique_ptr<core::executable_graph> made;
    call_core("GraphBuilder.complete", [&] { return self.core.object->complete(made); });
    return py_graph(std::move(made));
}

bool is_building(py_builder& self) {
    constexpr const char* attempted = "GraphBuilder.is_building";
    enter(attempted);
    bool building = false;
    const core::status s = without_gil([&] { return self.core.object->is_building(&building); });
    if (!self.core.object->is_closed()) throw_status(s, attempted);
    return building && !self.core.object->is_closed();
}

template <class Object>
void close_and_release(holder<Object>& self) {
    close_object(self);
    release_ended();
}

nb::str builder_repr(py_builder& self) {
    const auto stream = reinterpret_cast<std::uintptr_t>(self.core.object->raw_stream());
    return repr_of("GraphBuilder of stream", stream, self.core.object->is_closed());
}

nb::str node_repr(core::graph_node_token& self) {
    char text[96];
    std::snprintf(text, sizeof text, "<hostlaunch.GraphNode %zu of graph %llu>", self.place,
                  static_cast<unsigned long long>(self.source));
    return nb::str(text);
}

std::uint64_t graph_handle(py_graph& self) {
    if (self.object->is_closed()) throw_status(core::refuse_closed("graph"), "Graph.handle");
    return self.object->value();
}

void graph_upload(py_graph& self, nb::handle stream) {
    constexpr const char* attempted = "Graph.upload";
    const stream_argument on = stream_from(stream, attempted);
    throw_status(without_gil([&] {
                     const core::stream_use in_use = on.use();
                     return in_use.status().ok() ? self.object->upload(in_use.target())
                                                 : in_use.status();
                 }),
                 attempted);
}

void graph_launch(py_graph& self, nb::handle stream) {
    constexpr const char* attempted = "Graph.launch";
    const stream_argument on = stream_from(stream, attempted);
    enter_to_launch(attempted);
    throw_status(without_gil([&] {
                     const core::stream_use in_use = on.use();
                     return in_use.status().ok() ? self.object->launch(in_use.target())
                                                 : in_use.status();
                 }),
                 attempted);
    release_ended();
}

// A builder that still builds is a wrong value, as in cuda.core; for one that never began, or that
// others build, the core's refusal says it.
void graph_update(py_graph& self, nb::handle builder) {
    auto& given = instance_of<py_builder>(builder, "builder");
    core::graph_builder& from = *given.core.object;
    constexpr const char* attempted = "Graph.update";
    enter(attempted);
    const core::status s = without_gil([&]() -> core::status { return self.object->update(from); });
    if (s.code == static_cast<int>(misuse::not_built) && is_building(given)) {
        throw nb::value_error(
            "Graph.update: the builder is still building; call end_building first");
    }
    throw_status(s, attempted);
}

// The stream object may refer to the builder, so the collector has to see it.
int traverse_builder(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<py_builder>(self)->stream);
    return 0;
}

int clear_builder(PyObject* self) {
    if (nb::inst_ready(self)) Py_CLEAR(nb::inst_ptr<py_builder>(self)->stream);
    return 0;
}

PyType_Slot builder_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(&traverse_builder)},
    {Py_tp_clear, reinterpret_cast<void*>(&clear_builder)},
    {0, nullptr},
};

nb::tuple stream_protocol(py_builder& self) {
    if (self.core.object->is_closed()) {
        throw_status(core::refuse_closed("graph builder"), "GraphBuilder.__cuda_stream__");
    }
    return nb::make_tuple(0, reinterpret_cast<std::uintptr_t>(self.core.object->raw_stream()));
}

nb::object stream_captured(py_builder& self) {
    return self.stream == nullptr ? nb::none() : nb::borrow(self.stream);
}

core::graph_builder* builder_inside(PyObject* object) noexcept {
    return nb::inst_ready(object) ? nb::inst_ptr<py_builder>(object)->core.object.get() : nullptr;
}

void bind_builder(nb::module_& m) {
    nb::class_<py_builder> cls(m, "GraphBuilder", docs::graph_builder, nb::is_weak_referenceable(),
                               nb::type_slots(builder_slots));
    refuse_calls(cls,
                 "a GraphBuilder is made by Stream.create_graph_builder(), or by "
                 "GraphBuilder.attach(stream) for a capture that others began");
    cls.def_static("attach", &attach_builder, "stream"_a.none(), docs::attach,
                   nb::sig("def attach(stream: StreamLike) -> GraphBuilder"))
        .def("begin_building", &begin_building, "mode"_a.none() = "relaxed", docs::begin_building,
             nb::sig(docs::begin_building_sig))
        .def("end_building", &end_building, docs::end_building,
             nb::sig("def end_building(self) -> Self"))
        .def("callback", method(&builder_callback), "fn"_a.none(), nb::kw_only(),
             "user_data"_a = nb::none(), docs::callback,
             nb::sig("def callback(self, fn: HostFunction, *, user_data: SupportsIndex | BytesLike "
                     "| None = "
                     "None) -> GraphNode"))
        .def("complete", method(&complete), docs::complete, nb::sig("def complete(self) -> Graph"))
        .def("close", method(+[](py_builder& self) { close_and_release(self.core); }),
             docs::builder_close, nb::sig("def close(self) -> None"))
        .def("__cuda_stream__", method(&stream_protocol), docs::cuda_stream,
             nb::sig("def __cuda_stream__(self) -> tuple[int, int]"))
        .def("__repr__", method(&builder_repr))
        .def_prop_ro("stream", method(&stream_captured), docs::builder_stream,
                     nb::for_getter(nb::sig("def stream(self) -> StreamLike")))
        .def_prop_ro("is_building", method(&is_building), docs::is_building)
        .def_prop_ro("is_closed",
                     method(+[](py_builder& self) { return self.core.object->is_closed(); }),
                     docs::is_closed);
    own_builders = {reinterpret_cast<PyTypeObject*>(cls.ptr()), &builder_inside};
    cls.attr("__module__") = "hostlaunch";
}

}  // namespace

nb::object create_graph_builder(nb::handle stream) {
    constexpr const char* attempted = "Stream.create_graph_builder";
    const stream_argument on = stream_of(instance_of<py_stream>(stream, "self"), attempted);
    std::unique_ptr<core::graph_builder> made;
    call_core(attempted,
              [&] { return core::graph_builder::create(on.own->shared_from_this(), made); });
    return nb::cast(py_builder(std::move(made), stream));
}

void bind_graphs(nb::module_& m) {
    nb::class_<core::graph_node_token> node(m, "GraphNode", docs::graph_node);
    refuse_calls(node, "a GraphNode is made by GraphBuilder.callback()");
    node.def("__repr__", method(&node_repr));
    node.attr("__module__") = "hostlaunch";
    bind_builder(m);
    nb::class_<py_graph> cls(m, "Graph", docs::graph, nb::is_weak_referenceable());
    refuse_calls(cls, "a Graph is made by GraphBuilder.complete()");
    cls.def("upload", method(&graph_upload), "stream"_a.none(), docs::graph_upload,
            nb::sig("def upload(self, stream: StreamLike) -> None"))
        .def("launch", method(&graph_launch), "stream"_a.none(), docs::graph_launch,
             nb::sig("def launch(self, stream: StreamLike) -> None"))
        .def("update", method(&graph_update), "builder"_a.none(), docs::graph_update,
             nb::sig("def update(self, builder: GraphBuilder) -> None"))
        .def("update_callback", method(&update_callback), "node"_a.none(), "fn"_a.none(),
             nb::kw_only(), "user_data"_a = nb::none(), docs::update_callback,
             nb::sig("def update_callback(self, node: GraphNode, fn: HostFunction, *, user_data: "
                     "SupportsIndex | BytesLike | None = None) -> None"))
        .def("close", method(&close_and_release<core::executable_graph>), docs::graph_close,
             nb::sig("def close(self) -> None"))
        .def("__repr__", method(+[](py_graph& self) {
                 return repr_of("Graph", self.object->value(), self.object->is_closed());
             }))
        .def_prop_ro("handle", method(&graph_handle), docs::graph_handle)
        .def_prop_ro("is_closed", method(+[](py_graph& self) { return self.object->is_closed(); }),
                     docs::is_closed);
    cls.attr("__module__") = "hostlaunch";
}

}  // namespace hostlaunch::python
