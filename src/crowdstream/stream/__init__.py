"""Labels in one at a time, decisions out at once: the stream, its tasks and its loop."""

from crowdstream.stream.stream import Stream, UncertainTask, load

__all__ = ["Stream", "UncertainTask", "load"]
