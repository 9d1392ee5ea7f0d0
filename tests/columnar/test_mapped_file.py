"""A rebuild of an index that takes seconds is logged."""

import logging
import time

import pytest

from shiyi.columnar import mapped_file


def test_slow_rebuild_is_logged_with_reason_and_time(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped_file, "_SHORT", 0.01)
    monkeypatch.setattr(mapped_file, "_EVERY", 0.01)
    with mapped_file.log_rebuild("the index of claims", "made for another release"):
        until = time.monotonic() + 10
        while len(caplog.records) < 2 and time.monotonic() < until:
            time.sleep(0.005)
    first, second, *_, last = (record.getMessage() for record in caplog.records)
    assert "the index of claims" in first
    assert "made for another release" in first
    assert "so far" in second
    assert "shiyi index" in last


def test_what_is_made_at_once_not_worth_word(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), mapped_file.log_rebuild("the index of texts"):
        pass
    assert not caplog.records


def test_error_of_rebuild_reaches_caller(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError), mapped_file.log_rebuild("the index of texts"):
        raise KeyError("x")
    assert not caplog.records
