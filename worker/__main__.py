"""``secondchair-worker``: everything on the box. Hands over to `worker.cli`."""

from __future__ import annotations


def main() -> None:
    """Runs the command line."""
    from worker.cli import run

    run()


if __name__ == "__main__":
    main()
