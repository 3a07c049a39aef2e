"""Runs Celery's `worker` command without the rest of Celery's command line, whose shell and plug-ins workers never use.

`python -m cogitate.workers.processes.celery_worker worker …` takes the options of `celery -A cogitate worker …` and
starts sooner: Celery's own command first loads every other command, including Flower's. It refuses `--detach`: Celery
would start another process without this app, and the supervisor would start one worker after another.
"""

from __future__ import annotations

import click
from celery import maybe_patch_concurrency

APP = "cogitate.workers"  # found by name, as Celery's `-A` finds it


@click.group("celery")
@click.pass_context
def command(context: click.Context) -> None:
    """Load the app, which reads the settings."""
    from celery.app.utils import find_app
    from celery.bin.base import CLIContext

    context.obj = CLIContext(app=find_app(APP), no_color=None, workdir=None)


def _refuse_detach(context: click.Context, option: click.Parameter, given: bool) -> bool:
    if given:
        raise click.UsageError(
            "a worker that is restarted when it dies cannot detach: run `cogitate worker` under systemd or in a "
            "container, or start a worker without restarts: celery -A cogitate worker --detach"
        )
    return given


def main() -> None:
    """Run a worker with the options of the command line."""
    maybe_patch_concurrency()  # before other imports, as green-thread pools require
    from celery.bin.worker import worker

    detach = next(option for option in worker.params if option.name == "detach")
    detach.callback, detach.hidden = _refuse_detach, True
    command.add_command(worker)
    command(prog_name="celery")


if __name__ == "__main__":
    main()
