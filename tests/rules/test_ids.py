"""Identifiers: their form, their order and what a forked process makes of them."""

import os

import time_machine

from app.core.ids import is_id, new_id


def test_ids_of_one_process_are_in_the_order_of_their_making() -> None:
    made = [new_id("evt") for _ in range(5_000)]
    assert made == sorted(set(made))
    assert all(is_id(made_id, "evt") for made_id in made)


def test_an_id_made_at_an_earlier_time_sorts_before() -> None:
    now = new_id("evt")
    with time_machine.travel(0, tick=False):
        assert new_id("evt") < now


def test_a_forked_process_makes_other_ids_in_the_same_millisecond() -> None:
    reading, writing = os.pipe()
    with time_machine.travel(0, tick=False):
        new_id("evt")
        child = os.fork()
        if child == 0:
            os.write(writing, new_id("evt").encode())
            os._exit(0)
        ours = new_id("evt")
    os.waitpid(child, 0)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    os.close(writing)
    assert is_id(theirs, "evt")
    # A copied state would go on from the same random part: these characters would be equal.
    assert theirs[-16:-10] != ours[-16:-10]
