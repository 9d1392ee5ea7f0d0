"""The main loop of the server waits for a thread that sends."""

import threading
from types import SimpleNamespace

from shiyi.server.http.channel import Channel


def test_remaining_output_is_sent_after_thread_ends() -> None:
    channel, sent = Channel.__new__(Channel), list[bool]()
    channel.outbuf_lock, channel.total_outbufs_len = threading.Condition(), 0
    channel.adj = SimpleNamespace(outbuf_high_watermark=1)
    channel._flush_some = lambda do_close: sent.append(do_close)
    loop = threading.Thread(target=channel._flush_some_if_lockable)
    with channel.outbuf_lock:
        loop.start()
        loop.join(0.05)
        assert not sent
    loop.join(30)
    assert sent == [True]
