"""The command line: one file per command."""

from __future__ import annotations

import atexit
import inspect
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import typer
from rich.markup import escape

from neuraltrees.cli import (
    bench,
    decompose,
    demo,
    doctor,
    export,
    htree,
    infer,
    predict,
    prepare,
    reproduce,
    serve,
    train,
    tune,
    view,
)
from neuraltrees.cli.flags import PlainCommand, PlainGroup
from neuraltrees.cli.terminal import Volume, errors, warnings_in_one_line
from neuraltrees.cli.volume import with_volume
from neuraltrees.cli.wording import error_in_words, usage_in_words
from neuraltrees.errors import LostProcessError, NeuralTreesError

STOPPED = 130
AFTER_FIRST = 5.0  # seconds that other processes wait before they report an error

app = typer.Typer(
    name="neuraltrees",
    cls=PlainGroup,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Learn on graphs through their H-trees: train, tune and apply networks, build H-trees, run exact inference.",
    epilog="Start with: neuraltrees demo. Help and examples for a command: neuraltrees COMMAND --help. Completion in "
    "your shell: neuraltrees --install-completion. What is installed and what is missing: neuraltrees doctor.",
)


def _in_paragraphs(text: str | None) -> str:
    """A docstring with its paragraphs on one line each, for the terminal to wrap."""
    paragraphs = inspect.cleandoc(text or "").split("\n\n")
    return "\n\n".join(" ".join(each.split()) for each in paragraphs)


COMMANDS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "train": train.train,
    "tune": tune.tune_command,
    "prepare": prepare.prepare_command,
    "predict": predict.predict,
    "view": view.view,
    "serve": serve.serve,
    "export": export.export,
    "reproduce": reproduce.reproduce,
    "decompose": decompose.decompose_file,
    "htree": htree.htree_of_file,
    "infer": infer.infer,
    "bench": bench.bench,
    "doctor": doctor.doctor,
}
for _name, _command in COMMANDS.items():
    app.command(_name, cls=PlainCommand, help=_in_paragraphs(_command.__doc__))(with_volume(_command))


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        from neuraltrees import __version__

        typer.echo(f"neuraltrees {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main(arguments: list[str] | None = None) -> None:
    """Runs a command; bad input ends with one line on standard error and exit code 2."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # so that --dataset mine:load finds mine.py, as `python -m` would
    given = sys.argv[1:] if arguments is None else arguments
    try:
        with warnings_in_one_line():
            code = app(given, standalone_mode=False, prog_name="neuraltrees")
    except typer.TyperException as error:
        code = _fail(usage_in_words(error, given, COMMANDS))
    except NeuralTreesError as error:
        if not isinstance(error, LostProcessError):
            _wait_for_first()
        name = next((each for each in given if not each.startswith("-")), "")
        code = _fail(error_in_words(error, name, COMMANDS.get(name)))
    except OSError as error:
        code = _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}")
    except (KeyboardInterrupt, typer.Abort):
        code = STOPPED
    if code == STOPPED:  # typer has caught an interrupt itself
        errors.print("Stopped.")
        if arguments is None:
            _leave(STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


def _leave(code: int) -> None:
    """Ends the process at once: the shutdown of the interpreter and its libraries may take more than a second."""
    atexit._run_exitfuncs()  # those of multiprocessing end its workers
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _wait_for_first() -> None:
    """Lets the first of several processes report an error that all of them have; torchrun then ends the others."""
    if os.environ.get("RANK", "0") != "0":
        time.sleep(AFTER_FIRST)


def _fail(message: str) -> int:
    if Volume.verbose:
        errors.print_exception()
    line = " ".join(message.split())
    errors.print(f"[bold red]Error:[/] {escape(line)}", soft_wrap=True, highlight=False)
    return 2
