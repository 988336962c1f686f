"""The windows of a reviewer: the list to go through before an approval, the note of a return."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult  # noqa: TID251 - the terminal's door
from textual.binding import Binding, BindingType  # noqa: TID251 - the terminal's door
from textual.containers import Vertical, VerticalScroll  # noqa: TID251 - the terminal's door
from textual.content import Content  # noqa: TID251 - the terminal's door
from textual.screen import ModalScreen  # noqa: TID251 - the terminal's door
from textual.widgets import Input, Static  # noqa: TID251 - the terminal's door

from bot.blocks import lay_out
from bot.findings import reason_question
from bot.look import Look
from bot.render import counts, counts_line, line_of
from bot.terminal.panes import to_acknowledge
from bot.visible import one_line
from protocol.answers import Answer


class Checklist(ModalScreen[dict[str, str] | None]):
    """Every item that is not green, each with a line for the reason to accept it.

    It gives the reasons by the question that the approval asks (`reason_question`), or None when
    the person went back.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", show=False),
        Binding("ctrl+s", "approve", show=False, priority=True),
        Binding("down,tab", "app.focus_next", show=False, priority=True),
        Binding("up,shift+tab", "app.focus_previous", show=False, priority=True),
    ]

    def __init__(self, answer: Answer, look: Look) -> None:
        super().__init__()
        self._look = look
        self._answer = answer
        self._items = to_acknowledge(answer)

    def compose(self) -> ComposeResult:
        """The window."""
        words = self._look.words
        counted = lay_out([counts_line(self._answer, self._look)], 1_000)
        said = "\n".join("".join(piece.text for piece in line).strip() for line in counted)
        with Vertical(classes="window"):
            yield Static(Content(words("app.approve_title", job=self._answer.job)), classes="head")
            asked = self._look.line(line_of(self._answer))
            yield Static(Content(asked), classes="asked")
            yield Static(Content(said))
            with VerticalScroll(can_focus=False):
                for item in self._items:
                    question = reason_question(item, self._look)
                    yield Static(Content(question), classes="question")
                    yield Input(id=f"reason-{item.number}")
            yield Static(Content(words(self._keys())), classes="keys", id="window-keys")

    def _keys(self) -> str:
        """The key of the last line: what is asked for, or why nothing is."""
        if self._items:
            return "app.approve_keys"
        _, amber, red = counts(self._answer)
        return "app.approve_keys_report" if amber or red else "app.approve_keys_green"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes on to the next item; at the last one, approves."""
        if self._items and event.input.id == f"reason-{self._items[-1].number}":
            self.action_approve()
        else:
            self.focus_next()

    def action_approve(self) -> None:
        """Approves once every item has a reason; else goes to the first without one."""
        reasons = {}
        for item in self._items:
            field = self.query_one(f"#reason-{item.number}", Input)
            if not field.value.strip():
                keys = self.query_one("#window-keys", Static)
                keys.update(Content(self._look.words("app.reason_missing", number=item.number)))
                keys.add_class("missing")
                field.focus()
                return
            reasons[reason_question(item, self._look)] = one_line(field.value)
        self.dismiss(reasons)

    def action_back(self) -> None:
        """Leaves without a decision."""
        self.dismiss(None)


class Question(ModalScreen[str | None]):
    """One question with one line for the answer; None when the person went back."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "back", show=False)]

    def __init__(self, question: str, keys: str) -> None:
        super().__init__()
        self._question = question
        self._keys = keys

    def compose(self) -> ComposeResult:
        """The window."""
        with Vertical(classes="window"):
            yield Static(Content(self._question), classes="question")
            yield Input(id="answer")
            yield Static(Content(self._keys), classes="keys")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Gives the answer."""
        self.dismiss(one_line(event.value))

    def action_back(self) -> None:
        """Gives none."""
        self.dismiss(None)
