"""``secondchair-worker documents mark``: says of papers what their files do not.

Class, exhibit label, custodian, designation and privilege stand in the matter, by name or by
pattern, so that files which come in later carry them, too.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase

import click
import msgspec

from protocol.errors import BadRequest
from protocol.ids import UserName
from protocol.record import DocumentClass
from rag.matters import Manifest, OpenMatter
from rag.record import apply_manifest
from worker.audit import Journal
from worker.cli import settings_of
from worker.cli.matters import reviewer_of
from worker.clock import utc_now
from worker.paths import audit_folder, matters_folder

_RULES = {
    "document_class": "classes",
    "exhibit": "exhibits",
    "custodian": "custodians",
    "designation": "designations",
}


@click.command(
    "mark",
    epilog=(
        "\b\nExamples:\n"
        '  secondchair-worker documents mark M-7F3K "kim/*" --custodian "Kim Minjun" --by lee\n'
        "  secondchair-worker documents mark M-7F3K Memo.docx --class work_product --by lee --json"
    ),
)
@click.argument("matter")
@click.argument("file")
@click.option("--by", "name", required=True, help="The reviewer who orders it.")
@click.option(
    "--class",
    "document_class",
    type=click.Choice([one.value for one in DocumentClass]),
    help="What the paper may be used for; only evidence and pleadings support facts.",
)
@click.option("--custodian", help="Whose files they are; empty takes the mark away.")
@click.option("--exhibit", help='The label as filed, such as "Ex. A"; empty takes it away.')
@click.option("--designation", help='Such as "AEO" (protective order); empty takes it away.')
@click.option("--privileged", is_flag=True, help="Marks it as privileged.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_context
def mark(
    ctx: click.Context,
    matter: str,
    file: str,
    name: str,
    document_class: str | None,
    custodian: str | None,
    exhibit: str | None,
    designation: str | None,
    privileged: bool,
    as_json: bool,
) -> None:
    """Say of FILE (a name, or a pattern with * and ?) of MATTER what it is and whose it is.

    What is said by hand wins over what the name or the text suggests.
    """
    said = {
        "document_class": document_class,
        "custodian": custodian,
        "exhibit": exhibit,
        "designation": designation,
    }
    given = {key: value.strip() for key, value in said.items() if value is not None}
    if not given and not privileged:
        raise BadRequest(
            "nothing was said of the file",
            next_step="name --class, --custodian, --exhibit, --designation or --privileged",
        )
    settings = settings_of(ctx)
    _, code = reviewer_of(settings, matter, name)
    with OpenMatter(matters_folder(settings) / code) as held:
        held.set_manifest(_with(held.manifest, file, given, privileged=privileged))
        apply_manifest(held)
        fitting = _fitting(held, file)
    Journal(audit_folder(settings), code).seal(
        "document.marked",
        by=UserName(name),
        now=utc_now(),
        details={"rules": str(len(given) + privileged), "documents": str(fitting)},
    )
    if as_json:
        click.echo(json.dumps({"matter": code, "documents": fitting}))
        return
    click.echo(f"{fitting} {'document carries' if fitting == 1 else 'documents carry'} it")
    if not fitting:
        click.echo("files of that name will carry it when they come in", err=True)


def _with(manifest: Manifest, file: str, given: dict[str, str], *, privileged: bool) -> Manifest:
    """The manifest with what was said of one name or pattern; empty words take a mark away."""
    changes: dict[str, object] = {}
    for key, value in given.items():
        rules = dict(getattr(manifest, _RULES[key]))
        rules.pop(file, None)
        if value:
            rules[file] = DocumentClass(value) if key == "document_class" else value
        changes[_RULES[key]] = rules
    if privileged:
        changes["privileged"] = tuple(dict.fromkeys([*manifest.privileged, file]))
    return msgspec.structs.replace(manifest, **changes)


def _fitting(held: OpenMatter, file: str) -> int:
    """Documents whose name, or whose file's name, fits."""
    rows = held.store.rows(
        "SELECT d.name AS name, (SELECT min(f.name) FROM files f"
        " WHERE f.document IN (d.id, d.parent)) AS file_name FROM documents d"
    )
    names = [{row["name"], row["file_name"]} - {None} for row in rows]
    return sum(any(one == file or fnmatchcase(one, file) for one in known) for known in names)
