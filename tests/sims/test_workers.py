"""Calls on several processes."""

import os
import re
import signal
import subprocess
import sys
import time
from multiprocessing import resource_tracker

import joblib
import pytest

from sims.workers import in_order

CALLS = """
import os, signal, sys, time
import joblib
from sims.workers import in_order

def told(number):
    time.sleep(1)
    return number

results = in_order([joblib.delayed(told)(n) for n in range(100)], 2)
next(results)
os.kill(os.getpid(), getattr(signal, sys.argv[1]))
time.sleep(100)
"""


@pytest.mark.parametrize("sent", ["SIGKILL", "SIGTERM"])
def test_processes_end_with_the_one_that_started_them_however_it_ends(sent):
    """They hold its output open, so whoever reads that would wait for them."""
    found = subprocess.run([sys.executable, "-c", CALLS, sent], capture_output=True, timeout=60, check=False)
    assert found.returncode == -getattr(signal, sent)


STARTING = """
import sys, time
import joblib
from sims.workers import in_order

print("begun", flush=True)
try:
    list(in_order([joblib.delayed(time.sleep)(1) for _ in range(100)], 2))
except KeyboardInterrupt:
    sys.exit(130)
"""


# on a busy machine a thread of loky may tell of a call that was just taken from it
GONE = re.compile(rb"Exception in thread ExecutorManagerThread:\nTraceback.*?\nKeyError: \d+\n", re.DOTALL)


@pytest.mark.parametrize("later", [0.1, 0.4, 0.8, 1.6])
def test_an_interrupt_is_for_the_process_that_started_them(later):
    """A terminal sends it to all; workers that are only beginning must not tell of it, nor seem to be killed."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTING], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        time.sleep(later)
        os.killpg(running.pid, signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert (running.returncode, GONE.sub(b"", told)) == (130, b"")


def test_an_interrupt_before_the_processes_begin_is_one(monkeypatch):
    monkeypatch.setattr(resource_tracker, "ensure_running", interrupted)
    with pytest.raises(KeyboardInterrupt):
        next(in_order([joblib.delayed(time.sleep)(0)], 2))


def interrupted():
    raise KeyboardInterrupt


WAITING = """
import os, signal, threading, time
from sims.workers import _uninterrupted

threading.Thread(target=time.sleep, args=(5,), daemon=True).start()  # takes the signal, as a thread of numpy may
try:
    with _uninterrupted():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        print("done")
except KeyboardInterrupt:
    print("interrupted")
assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


def test_an_interrupt_waits_even_if_another_thread_takes_it():
    found = subprocess.run([sys.executable, "-c", WAITING], capture_output=True, timeout=60, check=True, text=True)
    assert found.stdout == "done\ninterrupted\n"
