"""The `fltheory` command: one module a topic. Imports are local to each command, so that help comes at once."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import NoReturn

import typer

from analysis.cli import claims, data, experiments, falsify, figures, plan, report, results, trace, verify, weights
from analysis.cli.sentences import in_our_form
from analysis.cli.shared import BAD_INPUT, CLOSED_PIPE, INTERRUPTED, UNWRITABLE, UsageError

# What a place does to files, and no mistake in the code can.
NOT_OURS = {
    errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EISDIR, errno.ENAMETOOLONG, errno.ENOSPC, errno.ENOTDIR,
    errno.EPERM, errno.EROFS,
}  # fmt: skip

app = typer.Typer(
    name="fltheory",
    help="Does federated-learning theory agree with itself, with exact computation, and with practice?",
    epilog="Exit code 0: done; 1: a check failed or something differs, as each command says; 2: bad input.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for topic in (claims, verify, falsify, weights, plan, experiments, figures, report):  # the order of `fltheory --help`
    app.add_typer(topic.commands)
app.add_typer(results.commands, name="results")
app.add_typer(data.commands, name="data")
app.add_typer(trace.commands, name="trace")


def main() -> None:
    """Run the command; bad input, and output that cannot be written, is one line on stderr."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the caller: as if it were /dev/null
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
    _one_thread_a_process()
    try:
        code = _run()
        sys.stdout.flush()
    except BrokenPipeError:
        _leave(CLOSED_PIPE)
    except OSError as error:
        if not _takes_a_line():
            _complain(f"standard output must be something that can be written ({error.strerror})")
            _leave(UNWRITABLE)
        if error.errno not in NOT_OURS:
            raise
        about = "" if error.filename is None else f"; got {error.filename!r}"
        _complain(f"files must be in a place where they can be read and written ({error.strerror}){about}")
        code = BAD_INPUT
    except SystemExit as end:
        if end.code == 1 and type(sys.stdout).__name__ == "PacifyFlushWrapper":  # so typer takes a closed pipe
            _leave(CLOSED_PIPE)
        raise
    sys.exit(code)


def _run() -> int | None:
    """Run the command; its exit code."""
    code: int | None = BAD_INPUT
    try:
        code = app(standalone_mode=False)
    except UsageError as error:
        message = error.format_message()  # type: ignore[attr-defined]
        if message.startswith("Usage: "):  # nothing was asked
            print(message, file=sys.stderr)
        else:
            _complain(in_our_form(message, sys.argv))
    except typer.Abort:
        code = INTERRUPTED
    except ValueError as error:
        from fltheory.errors import InputError

        if not isinstance(error, InputError):
            raise
        _complain(str(error))
    if code == INTERRUPTED:
        _complain("interrupted; simulate, train, sweep and verify --depth deep go on from here when they run again")
    return code


def _complain(message: str) -> None:
    with suppress(OSError):  # there may be nowhere to say it; the exit code says it too
        print(f"fltheory: {message}", file=sys.stderr)


def _takes_a_line() -> bool:
    """Whether standard output can be written: an error that is none of its own is followed by a traceback anyway."""
    try:
        print(flush=True)
    except OSError:
        return False
    return True


def _leave(code: int) -> NoReturn:
    """Exit although stdout cannot be written: what is still buffered goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os._exit(code)


def _one_thread_a_process() -> None:
    """Before numpy is imported: two spinning thread pools on two cores are far slower than one thread."""
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
