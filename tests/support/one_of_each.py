# SPDX-License-Identifier: Apache-2.0
"""One of each object that owns something of the driver's."""

import hostlaunch
import waiting


class OneOfEach:
    """A stream, an event, memory of both kinds, a builder that captures, and a graph."""

    def __init__(self):
        self.stream = hostlaunch.Stream(0)
        self.event = self.stream.record()
        self.device = hostlaunch.Buffer(64)
        self.pinned = hostlaunch.Buffer(64, kind="pinned")
        self.builder = self._build()
        self.graph = self._build().end_building().complete()

    def _build(self):
        builder = hostlaunch.Stream(0).create_graph_builder().begin_building()
        builder.callback(int)
        return builder

    def close(self):
        """Close them all."""
        for thing in vars(self).values():
            thing.close()
            assert thing.is_closed

    def use(self):
        """Let each do its work."""
        hostlaunch.host_launch(self.stream, int)
        self.device.copy_to(self.pinned, stream=self.stream)
        self.graph.launch(self.stream)
        self.builder.end_building().complete().launch(self.stream)
        waiting.sync(self.stream)
        self.event.sync()
