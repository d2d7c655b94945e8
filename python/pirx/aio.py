# SPDX-License-Identifier: Apache-2.0
"""Look-ups in asyncio.

    async with pirx.aio.Client(deployment) as client:
        record = await client.get("bash")

Each look-up is one of pirx.Client, in a thread of its own that waits for servers and computes while the event loop goes on.
Threads are not shared: a look-up's messages would wait until another one is decoded, and tell servers how long that took.
"""
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from types import TracebackType
from typing import Any, Iterable, Optional, Set, Tuple, Type, Union

from ._client import Answer, Believe, Client as BlockingClient, Deployment, Wish, as_array, listed
from ._errors import InvalidArgument, ResourceExhausted

_Outcome = Tuple[Optional[Answer], Optional[BaseException]]


class Client:
    """Looks up for any event loop. `of` is a deployment, or a pirx.Client whose protocol and options are used. It stays open."""

    def __init__(self, of: Union[Deployment, BlockingClient]) -> None:
        if not isinstance(of, (Deployment, BlockingClient)):
            raise TypeError(f"give a pirx.Deployment or a pirx.Client, not {type(of).__name__}")
        self._of = of
        self._closed = False
        self._stops: Set[threading.Event] = set()  # of the look-ups under way

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is under way, within about 0.1 s. Waits for nothing."""
        self._closed = True
        for stop in list(self._stops):
            stop.set()

    async def get(self, wish: Wish) -> Optional[bytes]:
        """As pirx.Client.get()."""
        return (await self.look_up([wish])).records[0].data

    async def get_many(self, wishes: Iterable[Wish], *, dtype: Any = None) -> Any:
        """As pirx.Client.get_many()."""
        wanted = listed(wishes)
        found = (await self.look_up(wanted)).data if wanted else []
        return found if dtype is None else as_array(found, dtype)

    async def look_up(self, wishes: Iterable[Wish], *, believe: Optional[Believe] = None) -> Answer:
        """As pirx.Client.look_up(), with `believe` called in another thread. Look-ups of one client may run at the same time.
        ResourceExhausted: no thread can be started."""
        if self._closed:
            raise InvalidArgument("this client is closed")
        loop, wanted, stop = asyncio.get_running_loop(), listed(wishes), threading.Event()
        found: asyncio.Future[_Outcome] = loop.create_future()

        def run() -> None:
            outcome: _Outcome
            try:
                client = self._of if isinstance(self._of, BlockingClient) else self._of.client()
                outcome = client._look_up(wanted, believe, lambda: stop.is_set() or loop.is_closed()), None
            except BaseException as error:
                outcome = None, error
            with contextlib.suppress(RuntimeError):  # The event loop was closed.
                loop.call_soon_threadsafe(_settle, found, outcome)

        try:
            threading.Thread(target=contextvars.copy_context().run, args=(run,), name="pirx-look-up").start()
        except RuntimeError as error:
            raise ResourceExhausted(f"no thread for the look-up: {error}") from None
        self._stops.add(stop)
        try:
            answer, raised = await found
        finally:  # The look-up has ended, or nobody waits for it any more.
            stop.set()
            self._stops.discard(stop)
        if answer is None:
            assert raised is not None
            raise raised
        return answer


def _settle(found: asyncio.Future[_Outcome], outcome: _Outcome) -> None:
    if not found.done():
        found.set_result(outcome)
