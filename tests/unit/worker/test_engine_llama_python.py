"""What llama-cpp-python cannot do is left off and said, whatever the settings ask for."""

from __future__ import annotations

from worker.engine import EngineSettings
from worker.engine.llama_python import LlamaPython


def test_what_the_settings_ask_for_and_it_cannot_do_is_said() -> None:
    asked = EngineSettings(slots=2, slot_files=True, speculation="ngram-simple")
    notes = LlamaPython(asked).capabilities.notes
    assert [note.split(":")[0] for note in notes] == [
        "one slot",
        "slot files off",
        "speculation off",
    ]
    assert LlamaPython(EngineSettings()).capabilities.notes == ()
