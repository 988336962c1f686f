"""``python -m bot``: hands over to the command line."""

from __future__ import annotations

from bot.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="secondchair")
