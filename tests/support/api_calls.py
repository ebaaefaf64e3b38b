# SPDX-License-Identifier: Apache-2.0
"""Each call of the package that enters the driver, with arguments that are right."""

from hostlaunch import Buffer, GraphBuilder, Stream, host_launch, submit, work_done


def build(stream):
    """Build a graph of one host function: the builder and the node."""
    builder = stream.create_graph_builder().begin_building()
    node = builder.callback(int)
    return builder, node


class Scene:
    """The objects that the calls are made on."""

    def __init__(self):
        self.stream = Stream(0)
        self.borrowed = Stream.from_handle(self.stream.handle)
        self.event = self.stream.record()
        self.future = work_done(self.stream)
        self.source, self.target = Buffer(16), Buffer(16)
        self.idle = Stream(0).create_graph_builder()
        self.building, _ = build(Stream(0))
        self.capturing = self.building
        self.built, self.node = build(Stream(0))
        self.graph = self.built.end_building().complete()
        self.updated = self.built.complete()
        self.again, _ = build(Stream(0))
        self.again.end_building()

    def close(self):
        """Close what a test may have left open, builders first."""
        for thing in (self.idle, self.building, self.built, self.again, self.graph, self.updated):
            thing.close()
        for thing in (self.event, self.stream, self.source, self.target):
            thing.close()


CALLS = {
    "Buffer": lambda scene: Buffer(16),
    "Buffer.copy_from": lambda scene: scene.target.copy_from(scene.source, stream=scene.stream),
    "Buffer.copy_to": lambda scene: scene.source.copy_to(scene.target, stream=scene.stream),
    "Buffer.fill": lambda scene: scene.target.fill(0, stream=scene.stream),
    "Event.is_done": lambda scene: scene.event.is_done,
    "Event.sync": lambda scene: scene.event.sync(),
    "Graph.launch": lambda scene: scene.graph.launch(scene.stream),
    "Graph.update": lambda scene: scene.updated.update(scene.again),
    "Graph.update_callback": lambda scene: scene.graph.update_callback(scene.node, float),
    "Graph.upload": lambda scene: scene.graph.upload(scene.stream),
    "GraphBuilder.attach": lambda scene: GraphBuilder.attach(scene.capturing),
    "GraphBuilder.begin_building": lambda scene: scene.idle.begin_building(),
    "GraphBuilder.callback": lambda scene: scene.building.callback(int),
    "GraphBuilder.complete": lambda scene: scene.built.complete(),
    "GraphBuilder.end_building": lambda scene: scene.building.end_building(),
    "GraphBuilder.is_building": lambda scene: scene.building.is_building,
    "Stream": lambda scene: Stream(0),
    "Stream.create_graph_builder": lambda scene: scene.stream.create_graph_builder(),
    "Stream.device_id": lambda scene: scene.borrowed.device_id,
    "Stream.record": lambda scene: scene.stream.record(),
    "Stream.sync": lambda scene: scene.stream.sync(),
    "Stream.wait": lambda scene: scene.stream.wait(scene.event),
    "host_launch": lambda scene: host_launch(scene.stream, int),
    "submit": lambda scene: submit(scene.stream, int),
    "work_done": lambda scene: work_done(scene.stream),
}


def errors(scene, names):
    """Make the calls; map each name to the class of what it raised, None if nothing."""
    found = {}
    for name in names:
        try:
            CALLS[name](scene)
        except Exception as error:
            found[name] = type(error)
        else:
            found[name] = None
    return found


def refused(scene, names):
    """Check that each call is a plain RuntimeError."""
    assert errors(scene, names) == dict.fromkeys(names, RuntimeError)


def on_default_stream(scene):
    """Let the calls work on the default stream of the current context."""
    scene.stream = scene.borrowed = scene.capturing = Stream.from_handle(1)
    scene.idle = scene.stream.create_graph_builder()
