# SPDX-License-Identifier: Apache-2.0
"""Private look-ups: fetch records of a database, by position or by key, from servers that learn nothing about which ones.

    import pirx

    with pirx.Deployment.load("packages.json") as deployment:
        print(deployment.get("bash"))

`Deployment` reads a deployment file, `Client` asks its servers, and `pirx.aio` does so in asyncio. `Database.build` makes
a database and `serve` starts servers on this machine, for tests and notebooks. docs/python.md is the manual.
"""
from . import aio
from ._client import (Action, Answer, Certainty, Client, Deployment, Message, Record, Retrieval, Server, ServerStatus)
from ._database import Database
from ._errors import (DataLoss, Error, Internal, InvalidArgument, OutOfRange, ResourceExhausted, StaleEpoch,
                      Unauthenticated, Unavailable, Undecodable)
from ._library import library as _library
from ._serve import Servers, serve

__version__: str = _library.pirx_version().decode()

__all__ = [
    "Action", "Answer", "Certainty", "Client", "DataLoss", "Database", "Deployment", "Error", "Internal",
    "InvalidArgument", "Message", "OutOfRange", "Record", "ResourceExhausted", "Retrieval", "Server", "ServerStatus",
    "Servers", "StaleEpoch", "Unauthenticated", "Unavailable", "Undecodable", "aio", "serve",
]

for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "pirx"  # where people find it
