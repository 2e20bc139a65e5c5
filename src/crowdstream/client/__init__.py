"""`Client` and `AsyncClient`: the verbs of `Stream`, on a server. Need the extra ``serve``."""

from crowdstream.client.asynchronous import AsyncClient
from crowdstream.client.synchronous import Client
from crowdstream.serve.wire import Settings

__all__ = ["AsyncClient", "Client", "Settings"]
