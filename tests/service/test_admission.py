import threading
import time

import pytest

from cosyvoice_web.errors import ServiceBusy, ShuttingDown
from cosyvoice_web.service.admission import WaitingRoom
from cosyvoice_web.service.utterance import Part, Utterance
from cosyvoice_web.speech import Manner
from cosyvoice_web.text.sentences import Run, Sentence
from tests.service.fakes import VOICES, ScriptedEngine


def utterance(text: str = "好", *, deadline_in: float = 100.0) -> Utterance:
    sentence = Sentence(text, 0, len(text), "zh", (Run(text, "zh"),))
    deadline = time.monotonic() + deadline_in
    return Utterance([Part.of_sentence(sentence)], Manner(VOICES[0]), speed=1.0, seed=0, deadline=deadline)


def test_first_come_first_served() -> None:
    room = WaitingRoom(max_waiting=3)
    guests = [utterance() for _ in range(3)]
    for guest in guests:
        room.admit(guest)
    for left, guest in enumerate(guests):
        assert room.take() is guest
        assert room.waiting_count == 2 - left
        assert room.finish(guest)
    assert room.is_empty


@pytest.mark.parametrize("max_waiting", [0, 1, 3])
def test_as_many_may_wait_as_the_setting_says_beside_the_one_who_speaks(max_waiting: int) -> None:
    room = WaitingRoom(max_waiting)
    first = utterance()
    room.admit(first)
    room.take()
    for _ in range(max_waiting):
        room.admit(utterance())
    with pytest.raises(ServiceBusy):
        room.admit(utterance())
    room.finish(first)
    if max_waiting:
        room.take()
    room.admit(utterance())


def test_who_leaves_while_waiting_gives_the_place_to_another() -> None:
    room = WaitingRoom(max_waiting=1)
    first, second, third = utterance(), utterance(), utterance()
    room.admit(first)
    room.take()
    room.admit(second)
    room.leave(second)
    room.leave(second)
    room.admit(third)
    room.finish(first)
    assert room.take() is third


def test_leaving_does_not_end_the_turn_of_the_one_who_speaks() -> None:
    room = WaitingRoom(max_waiting=0)
    first = utterance()
    room.admit(first)
    room.take()
    room.leave(first)
    with pytest.raises(ServiceBusy):
        room.admit(utterance())


def test_the_wait_told_to_a_refused_guest_is_what_was_measured() -> None:
    room = WaitingRoom(max_waiting=0)
    measured = utterance("好" * 10)
    room.admit(measured)
    room.take()
    measured.units_done, measured.seconds_done = 10, 20.0  # two seconds a syllable
    room.finish(measured)
    assert room.retry_after_seconds() == 1
    room.admit(utterance("好" * 30))
    room.take()
    with pytest.raises(ServiceBusy) as refusal:
        room.admit(utterance())
    assert refusal.value.retry_after_seconds == 60
    assert "60 s" in str(refusal.value)


def test_the_pace_follows_the_machine_but_not_a_single_measurement() -> None:
    room = WaitingRoom(max_waiting=0)
    for seconds in (10.0, 100.0):
        done = utterance("好" * 10)
        room.admit(done)
        room.take()
        done.units_done, done.seconds_done = 10, seconds
        room.finish(done)
    room.admit(utterance("好" * 100))
    room.take()
    assert 100 < room.retry_after_seconds() < 1000


def test_an_utterance_that_ran_counts_its_own_units_and_seconds() -> None:
    done = utterance("你好世界")
    done.run(ScriptedEngine())
    assert (done.units_done, done.units_left) == (4, 0)
    assert 0 < done.seconds_done <= done.synthesis_seconds


def test_only_an_overdue_turn_is_given_up_and_its_end_is_told() -> None:
    room = WaitingRoom(max_waiting=1)
    slow, hopeless = utterance(), utterance(deadline_in=-5.0)
    room.admit(slow)
    room.take()
    assert not room.give_up_stuck(0.0)
    assert room.finish(slow)
    room.admit(hopeless)
    room.take()
    assert not room.give_up_stuck(60.0)
    assert room.give_up_stuck(1.0)
    assert not room.give_up_stuck(1.0)
    assert not room.finish(hopeless)


def test_a_cancelled_turn_is_overdue_long_before_its_deadline() -> None:
    room = WaitingRoom(max_waiting=0)
    left_alone = utterance()
    room.admit(left_alone)
    room.take()
    left_alone.cancel()
    assert not room.give_up_stuck(60.0)
    assert room.give_up_stuck(0.0)


def test_a_closed_room_serves_those_inside_and_then_lets_the_speaker_go() -> None:
    room = WaitingRoom(max_waiting=2)
    inside = utterance()
    room.admit(inside)
    room.close()
    with pytest.raises(ShuttingDown):
        room.admit(utterance())
    assert room.take() is inside
    room.finish(inside)
    assert room.take() is None


def test_a_waiting_speaker_wakes_for_a_guest_and_for_the_end() -> None:
    room = WaitingRoom(max_waiting=0)
    taken: list[Utterance | None] = []
    guest = utterance()

    def speak() -> None:
        taken.append(room.take())
        room.finish(guest)
        taken.append(room.take())

    speaker = threading.Thread(target=speak)
    speaker.start()
    room.admit(guest)
    room.close()
    speaker.join(20)
    assert taken == [guest, None]
