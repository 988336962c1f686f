"""Messages (.eml, .msg): headers, body, zones; attachments become documents of their own.

A message is one page: its header lines as a reader would see them, a blank line, the body, and the
names of its attachments. Where a body comes as text and as HTML the text is taken, and the HTML is
looked through for what it hides.
"""

from __future__ import annotations

import email
import email.policy
import io
import re
from dataclasses import dataclass, field
from email.header import decode_header, make_header
from email.message import Message

from rag.loaders import mail_zones, markup
from rag.loaders.archive import printable
from rag.loaders.hidden import without_unseen
from rag.loaders.options import LoadOptions
from rag.loaders.parts import Draft, PageDraft, Part, Unread
from rag.loaders.textual import as_stated, decode, unix_lines
from rag.paged import PlaceKind

_SHOWN = ("From", "Sender", "Reply-To", "To", "Cc", "Bcc", "Date", "Subject")
_MOST_PARTS = 5_000
_NO_BYTES = (
    "a message or object inside an Outlook message, or a link to a file: "
    "save it as a file of its own"
)
_MANGLED = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u20ac\u201a-\u2122]")
_WORDS = re.compile(r"\w+")


@dataclass(kw_only=True)
class _Mail:
    headers: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    markup: str = ""
    attached: list[tuple[str, bytes]] = field(default_factory=list)
    unread: list[tuple[str, str]] = field(default_factory=list)
    """Attachments whose bytes cannot be had, and why."""
    warnings: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    left: int = 0
    """Parts that were not looked into."""
    bodies: list[str] = field(default_factory=list)
    """Parts of the body in plain text, before they are joined."""

    def warn(self, words: str) -> None:
        """Adds a warning once."""
        self.warnings[words] = None


def read_eml(data: bytes, name: str, options: LoadOptions) -> Draft:
    """A message in Internet format, also one that was stored as UTF-16."""
    mail = _Mail()
    message = email.message_from_bytes(_bytes(data, mail), policy=email.policy.compat32)
    for key in _SHOWN:
        for value in message.get_all(key, []):
            mail.headers.append((key, _header(value)))
    _walk(message, mail, 0)
    mail.text = "\n\n".join(filter(None, mail.bodies))
    if not mail.headers and not mail.text and not mail.markup and not mail.attached:
        raise Unread("the file has a message's suffix but neither headers nor a body")
    return _draft("eml", mail)


def _bytes(data: bytes, mail: _Mail) -> bytes:
    """The message as the parser needs it: plain bytes, no mark, header first."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) or data[:200].count(0) > 20:
        decoded = decode(data)
        if decoded is None:
            raise Unread("the message is stored in an encoding that is not known here")
        mail.warn(f"the message was stored as {decoded.encoding.upper()}")
        # Its parts state an encoding that the file no longer has: all text is UTF-8 now.
        text = re.sub(r"(?i)(charset\s*=\s*\"?)[\w-]+", r"\1utf-8", decoded.text)
        return text.lstrip("\ufeff").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")


def _header(value: object) -> str:
    """A header's value, decoded; one that cannot be decoded stays as it stands."""
    text = str(value)
    try:
        if isinstance(value, str):
            text = str(make_header(decode_header(value)))
        else:  # raw bytes outside ASCII come as an object of the parser's own
            raw = str(value).encode("ascii", "surrogateescape")
            found = decode(raw)
            text = found.text if found else raw.decode("latin-1")
    except (LookupError, UnicodeError, ValueError):
        pass
    raw_bytes = text.encode("utf-8", "surrogateescape")
    if "\udc80" <= max(text, default="") <= "\udcff" and (found := decode(raw_bytes)):
        text = found.text
    return " ".join(text.split())


def _walk(message: Message, mail: _Mail, depth: int) -> None:
    if len(mail.attached) >= _MOST_PARTS or depth > 30:
        mail.left += 1
        return
    kind = message.get_content_type()
    if kind == "message/rfc822":
        inner = message.get_payload()
        wrapped = inner[0] if isinstance(inner, list) and inner else None
        try:
            data = wrapped.as_bytes() if isinstance(wrapped, Message) else _payload(message)
        except RecursionError:
            mail.unread.append(("message.eml", "messages lie inside each other too deeply"))
            return
        subject = _header(wrapped.get("Subject") or "") if isinstance(wrapped, Message) else ""
        mail.attached.append((_file_name(message) or f"{subject or 'message'}.eml", data))
        return
    if message.is_multipart():
        for inner in message.get_payload():
            if isinstance(inner, Message):
                _walk(inner, mail, depth + 1)
        return
    name = _file_name(message)
    away = message.get_content_disposition() == "attachment"
    if kind == "text/plain" and not away and not name:
        mail.bodies.append(_text(message, mail).strip("\n"))
    elif kind == "text/html" and not away and not name:
        mail.markup += _text(message, mail)
    else:
        mail.attached.append(
            (name or f"part {len(mail.attached) + 1}.{_suffix(kind)}", _payload(message))
        )


def _suffix(kind: str) -> str:
    return {"text/plain": "txt", "text/html": "html", "text/calendar": "ics"}.get(
        kind, kind.rsplit("/", 1)[-1][:12]
    )


def _file_name(message: Message) -> str:
    try:
        return _header(message.get_filename() or "")
    except (LookupError, UnicodeError, ValueError, TypeError):
        return ""


def _payload(message: Message) -> bytes:
    try:
        data = message.get_payload(decode=True)
    except (LookupError, UnicodeError, ValueError, AssertionError):
        return b""
    return data if isinstance(data, bytes) else b""


def _text(message: Message, mail: _Mail) -> str:
    data = _payload(message)
    stated = message.get_content_charset()
    if stated:
        text = as_stated(data, stated)
        if text is not None:
            return unix_lines(_mended(data, text, mail))
        mail.warn("the encoding a part states does not fit its bytes")
    found = decode(data)
    if found is None:
        mail.warn("a part could not be decoded; broken characters show as \ufffd")
        return unix_lines(data.decode("utf-8", "replace"))
    if found.warning:
        mail.warn(found.warning)
    return unix_lines(found.text)


def _mended(data: bytes, text: str, mail: _Mail) -> str:
    """``text``, unless it is UTF-8 read through a Western code page that the part states."""
    if _MANGLED.search(text):
        try:
            mended = data.decode("utf-8")
        except UnicodeDecodeError:
            return text
        mail.warn("a part states a Western encoding but is UTF-8; read as UTF-8")
        return mended
    return text


def read_msg(data: bytes, name: str, options: LoadOptions) -> Draft:
    """An Outlook message. Raises `Unread` when the container is damaged."""
    from oxmsg import Message as Outlook

    mail = _Mail()
    try:
        message = Outlook.load(io.BytesIO(data))
        mail.headers = _outlook_headers(message)
        mail.text = unix_lines(message.body or "")
        mail.markup = message.html_body or ""
        for at, attached in enumerate(message.attachments, 1):
            name = attached.file_name or f"attachment {at}"
            try:
                content = attached.file_bytes
            except Exception:  # a message inside a message has no bytes of its own
                content = None
            if content is None:
                mail.unread.append((name, _NO_BYTES))
            else:
                mail.attached.append((name, content))
    except Exception as error:
        raise Unread(f"the Outlook message is damaged ({type(error).__name__})") from error
    if not mail.text.strip() and not mail.markup.strip():
        mail.warn("the message's body is empty, or stored as RTF only and not read")
    if not any(key == "Date" for key, _ in mail.headers):
        mail.warn("the message states no date on which it was sent")
    if not mail.headers and not mail.text and not mail.markup:
        raise Unread("the Outlook message holds neither headers nor a body")
    return _draft("msg", mail)


def _outlook_headers(message: object) -> list[tuple[str, str]]:
    """Headers of the transport where it kept them, else the message's own properties."""
    said = {str(key).title(): _header(value) for key, value in message.message_headers.items()}  # type: ignore[attr-defined]
    sent = message.sent_date  # type: ignore[attr-defined]
    people = ", ".join(
        f"{person.name} <{person.email_address}>" if person.name else person.email_address or ""
        for person in message.recipients  # type: ignore[attr-defined]
    )
    own = {
        "From": message.sender or "",  # type: ignore[attr-defined]
        "To": people,
        "Date": sent.strftime("%a, %d %b %Y %H:%M:%S %z") if sent else "",
        "Subject": message.subject or "",  # type: ignore[attr-defined]
    }
    out = [(key, said.get(key) or own.get(key, "")) for key in _SHOWN]
    return [(key, value) for key, value in out if value]


def _draft(kind: str, mail: _Mail) -> Draft:
    page = PageDraft()
    draft = Draft(kind=kind, pages=[page])
    for key, value in mail.headers:
        page.add(f"{key}: {without_unseen(value, page, len(page.text) + len(key) + 3)}")
    if page.text:
        page.place(PlaceKind.MAIL_PART, 0, len(page.text), "header")
        page.text += "\n\n"
    start = len(page.text)
    body = mail.text.replace("\f", "\n").strip("\n")
    if mail.markup.strip():
        body = _with_markup(body, mail, page, start)
    else:
        body = without_unseen(body, page, start)
    page.text += body
    mail_zones.mark(page, start)
    if mail.attached or mail.unread:
        page.text = page.text.rstrip("\n") + "\n"
        for name, data in mail.attached:
            at = page.add(f"[Attachment: {printable(name)}]", PlaceKind.MAIL_PART, "attachment")
            draft.parts.append(Part(name=name, data=data, parent_at=at))
        for name, problem in mail.unread:
            at = page.add(f"[Attachment: {printable(name)}]", PlaceKind.MAIL_PART, "attachment")
            draft.parts.append(Part(name=name, data=b"", parent_at=at, problem=problem))
    subject = next((value for key, value in mail.headers if key == "Subject"), "")
    draft.title = subject
    draft.unread_parts = mail.left
    for warning in mail.warnings:
        draft.warn(warning)
    return draft


def _with_markup(body: str, mail: _Mail, page: PageDraft, start: int) -> str:
    """The body of a message that (also) has an HTML form; what the HTML hides is noted."""
    try:
        shown, _ = markup.page_of(mail.markup)
    except Unread:
        return without_unseen(body, page, start)
    if not body.strip():
        for found in shown.findings:
            page.find(found.kind, start + found.start, found.reason, found.text)
        return shown.text
    for found in shown.findings:
        page.find(found.kind, start, f"in the HTML form of the message: {found.reason}", found.text)
    words, others = set(_WORDS.findall(body.lower())), set(_WORDS.findall(shown.text.lower()))
    if len(others - words) > max(5, len(others) // 5):
        mail.warn("the text and the HTML form of this message differ; the text was read")
    return without_unseen(body, page, start)
