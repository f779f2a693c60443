"""The control conversation under any interleaving: two peers, and a wire that loses, repeats and reorders."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from turnlog import ProtocolError
from turnlog.messages.base import Raw
from turnlog.messages.control.frames import (
    Cancelled,
    ControlCancelRequest,
    ControlMessage,
    ControlPeer,
    ControlRequest,
    ControlResponse,
    Event,
    Fault,
    FaultKind,
    Ignored,
    KeepAlive,
    Lost,
    Replied,
    Requested,
    Sender,
    TimedOut,
)
from turnlog.messages.control.requests import (
    CanUseToolRequest,
    HookCallbackRequest,
    InterruptRequest,
    McpMessageRequest,
    RequestBody,
    SetModelRequest,
)

HOST_REQUESTS: list[RequestBody] = [
    InterruptRequest(),
    SetModelRequest(model=None),
    McpMessageRequest(server_name="s", message=Raw(b"{}")),
]
CLI_REQUESTS: list[RequestBody] = [
    CanUseToolRequest(tool_name="Bash", input=Raw(b"{}")),
    HookCallbackRequest(callback_id="h", input=Raw(b"{}")),
    McpMessageRequest(server_name="s", message=Raw(b"{}")),
]
IDS = st.sampled_from(["a", "b", "c", "d"])
State = tuple[tuple[object, ...], tuple[object, ...]]


def state_of(peer: ControlPeer) -> State:
    return tuple(peer.sent.items()), tuple(peer.received.items())


class Conversation(RuleBasedStateMachine):
    """Both sides talk at random; what each must be able to rely on is checked all the time."""

    wire = Bundle("wire")

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.peers = {Sender.HOST: ControlPeer(Sender.HOST), Sender.CLI: ControlPeer(Sender.CLI)}
        self.open: dict[tuple[Sender, str], int] = {}

    @rule(
        target=wire,
        side=st.sampled_from([Sender.HOST, Sender.CLI]),
        i=st.integers(0, 2),
        request_id=IDS,
        timeout=st.sampled_from([None, 5.0]),
        foreign=st.booleans(),
    )
    def send_request(
        self, side: Sender, i: int, request_id: str, timeout: float | None, foreign: bool
    ) -> object:
        peer = self.peers[side]
        mine = HOST_REQUESTS if (side is Sender.HOST) != foreign else CLI_REQUESTS
        before = state_of(peer)
        allowed = request_id not in peer.sent and (not foreign or i == 2)
        try:
            frame = peer.request(mine[i], now=self.now, timeout=timeout, request_id=request_id)
        except ProtocolError:
            assert not allowed
            assert state_of(peer) == before
            return (side, KeepAlive())
        assert allowed
        self.open[side, request_id] = self.open.get((side, request_id), 0) + 1
        return (side, frame)

    @rule(target=wire, side=st.sampled_from([Sender.HOST, Sender.CLI]), request_id=IDS)
    def cancel(self, side: Sender, request_id: str) -> object:
        peer = self.peers[side]
        before = state_of(peer)
        try:
            frame = peer.cancel(request_id)
        except ProtocolError:
            assert request_id not in peer.sent
            assert state_of(peer) == before
            return (side, KeepAlive())
        self.ended(side, request_id)
        return (side, frame)

    @rule(target=wire, side=st.sampled_from([Sender.HOST, Sender.CLI]), request_id=IDS, ok=st.booleans())
    def answer(self, side: Sender, request_id: str, ok: bool) -> object:
        peer = self.peers[side]
        before = state_of(peer)
        try:
            frame = peer.reply(request_id, Raw(b'{"x":1}')) if ok else peer.fail(request_id, "no")
        except ProtocolError:
            assert request_id in dict(peer.received) or state_of(peer) == before
            return (side, KeepAlive())
        assert request_id not in peer.received
        return (side, frame)

    @rule(sent=consumes(wire))
    def deliver(self, sent: tuple[Sender, ControlMessage]) -> None:
        self.take(*sent)

    @rule(sent=wire)
    def deliver_a_copy(self, sent: tuple[Sender, ControlMessage]) -> None:
        self.take(*sent)

    @rule(sent=consumes(wire))
    def lose(self, sent: tuple[Sender, ControlMessage]) -> None:
        pass

    @rule(sent=wire)
    def reflect(self, sent: tuple[Sender, ControlMessage]) -> None:
        """Give a frame back to the side that sent it."""
        side, frame = sent
        self.take(Sender.CLI if side is Sender.HOST else Sender.HOST, frame)

    @rule(seconds=st.sampled_from([1.0, 3.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        for side, peer in self.peers.items():
            due = {
                key for key, one in peer.sent.items() if one.deadline is not None and one.deadline <= self.now
            }
            events = peer.expire(self.now)
            assert {event.request_id for event in events if isinstance(event, TimedOut)} == due
            for request_id in due:
                self.ended(side, request_id)
            deadline = peer.next_deadline()
            assert deadline is None or deadline > self.now

    def take(self, sender: Sender, frame: ControlMessage) -> None:
        receiver = Sender.CLI if sender is Sender.HOST else Sender.HOST
        peer = self.peers[receiver]
        before = state_of(peer)
        event = peer.receive(frame)
        match event:
            case Fault() | Ignored():
                assert state_of(peer) == before
            case Requested(request_id=request_id):
                assert request_id in peer.received
                assert request_id not in dict(before[1])  # type: ignore[arg-type]
            case Replied(request_id=request_id):
                self.ended(receiver, request_id)
            case Cancelled(request_id=request_id):
                assert request_id not in peer.received
            case TimedOut() | Lost():
                raise AssertionError("nothing received can do that")

    def ended(self, side: Sender, request_id: str) -> None:
        self.open[side, request_id] -= 1
        assert self.open[side, request_id] == 0, "a request ends once"

    @invariant()
    def what_is_open_is_what_was_sent_and_did_not_end(self) -> None:
        for side, peer in self.peers.items():
            still = {request_id for (who, request_id), count in self.open.items() if who is side and count}
            assert set(peer.sent) == still

    def teardown(self) -> None:
        for peer in self.peers.values():
            waiting = set(peer.sent)
            assert {event.request_id for event in peer.close() if isinstance(event, Lost)} == waiting
            assert state_of(peer) == ((), ())


TestConversation = Conversation.TestCase


@pytest.fixture
def host() -> ControlPeer:
    return ControlPeer(Sender.HOST)


def fault(event: Event) -> FaultKind:
    assert isinstance(event, Fault)
    assert event.reason
    return event.kind


def test_a_request_is_answered_with_its_own_reply(host: ControlPeer) -> None:
    cli = ControlPeer(Sender.CLI)
    frame = host.request(SetModelRequest(model="m"), now=0)
    asked = cli.receive(frame)
    assert isinstance(asked, Requested)
    answered = host.receive(cli.reply(asked.request_id))
    assert isinstance(answered, Replied)
    assert (answered.request, answered.error, answered.view()) == (SetModelRequest(model="m"), None, None)


def test_a_failure_says_why(host: ControlPeer) -> None:
    cli = ControlPeer(Sender.CLI)
    cli.receive(host.request(InterruptRequest(), now=0, request_id="a"))
    answered = host.receive(cli.fail("a", "nothing to interrupt"))
    assert isinstance(answered, Replied)
    assert answered.error == "nothing to interrupt"


def test_who_may_not_send_a_request_is_told_so(host: ControlPeer) -> None:
    with pytest.raises(ProtocolError, match="host may not send `can_use_tool`"):
        host.request(CLI_REQUESTS[0], now=0)
    event = host.receive(ControlRequest(request_id="x", request=InterruptRequest()))
    assert fault(event) is FaultKind.MISDIRECTED
    assert isinstance(event, Fault)
    assert isinstance(event.answer, ControlResponse)


def test_a_duplicate_request_leaves_the_first_one_open(host: ControlPeer) -> None:
    frame = ControlRequest(request_id="x", request=CLI_REQUESTS[0])
    host.receive(frame)
    assert fault(host.receive(frame)) is FaultKind.DUPLICATE
    host.reply("x")


def test_late_duplicate_and_unknown_replies_are_told_apart(host: ControlPeer) -> None:
    cli = ControlPeer(Sender.CLI)
    for request_id in ("answered", "cancelled", "expired"):
        cli.receive(host.request(InterruptRequest(), now=0, timeout=1, request_id=request_id))
    replies = {request_id: cli.reply(request_id) for request_id in list(cli.received)}
    host.receive(replies["answered"])
    host.cancel("cancelled")
    host.expire(2)
    assert fault(host.receive(replies["answered"])) is FaultKind.DUPLICATE
    assert fault(host.receive(replies["cancelled"])) is FaultKind.LATE
    assert fault(host.receive(replies["expired"])) is FaultKind.LATE
    stranger = ControlPeer(Sender.CLI)
    stranger.receive(ControlRequest(request_id="never", request=InterruptRequest()))
    assert fault(host.receive(stranger.reply("never"))) is FaultKind.UNKNOWN
    assert fault(host.receive(ControlCancelRequest(request_id="never"))) is FaultKind.UNKNOWN


def test_a_cancelled_request_needs_no_answer(host: ControlPeer) -> None:
    host.receive(ControlRequest(request_id="x", request=CLI_REQUESTS[0]))
    assert isinstance(host.receive(ControlCancelRequest(request_id="x")), Cancelled)
    with pytest.raises(ProtocolError, match="cancelled already"):
        host.reply("x")


def test_keep_alives_do_nothing(host: ControlPeer) -> None:
    assert host.receive(KeepAlive()) == Ignored()


def test_what_cannot_be_written_does_not_end_the_request(host: ControlPeer) -> None:
    host.receive(ControlRequest(request_id="x", request=CLI_REQUESTS[0]))
    with pytest.raises(Exception, match="cannot be written"):
        host.reply("x", SetModelRequest(model="\ud800"))
    assert "x" in host.received


def test_a_peer_is_one_side() -> None:
    with pytest.raises(ValueError, match="one side"):
        ControlPeer(Sender.BOTH)
