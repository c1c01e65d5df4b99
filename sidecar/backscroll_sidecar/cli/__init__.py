"""The `backscroll` command. Each subcommand is a module; what is heavy is imported when a command needs it."""

import sys

from backscroll_sidecar.cli.console import INTERRUPTED, CommandError, print_error

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 called wrongly, 130 ended by Ctrl-C."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        from backscroll_sidecar.cli.commands import app

        app(args=arguments, prog_name="backscroll")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else int(bool(done.code))
    except CommandError as error:
        print_error(error, as_json="--json" in arguments)
        return error.exit_code
    except ModuleNotFoundError as error:
        missing = error.name or "a package"
        if missing.startswith("backscroll"):
            raise
        advice = 'in the source tree: pip install ".[server]"'
        print_error(
            CommandError(f"this command needs {missing}, which is missing", advice), as_json=False
        )
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return 0
