"""Calls on several processes."""

import signal
import subprocess
import sys

import pytest

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
