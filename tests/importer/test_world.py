"""What an import takes from outside: by default the real things, and in a test others."""

from __future__ import annotations

import time

from importer.durable import Files
from importer.world import World
from tests.support.worlds import Clock, Telling


def test_by_default_it_is_the_real_world() -> None:
    world = World()
    assert type(world.files) is Files
    assert (world.now, world.tick, world.sleep) == (time.time, time.monotonic, time.sleep)
    first, second = world.token(16), world.token(16)
    assert len(first) == len(second) == 16
    assert first != second


def test_everything_can_be_given() -> None:
    clock, files = Clock(7.9), Telling()
    world = World(
        files, now=clock.look, tick=clock.look, sleep=clock.sleep, token=lambda size: b"\7" * size
    )
    assert world.files is files
    assert world.seconds() == 7
    world.sleep(2)
    assert world.tick() == 9.9
    assert world.token(3) == b"\7\7\7"
