"""Parts of messages, in the contract's terms, for every format."""

from collections import OrderedDict
from hashlib import blake2b
from pathlib import PurePosixPath

from backscroll._encode import clean
from backscroll.v1 import message_pb2 as pb

HUMAN, BOT, SYSTEM = pb.AUTHOR_KIND_HUMAN, pb.AUTHOR_KIND_BOT, pb.AUTHOR_KIND_SYSTEM
KINDS = {
    "image": "jpg jpeg png gif webp heic heif bmp tif tiff svg avif",
    "video": "mp4 mov avi mkv webm 3gp m4v",
    "audio": "opus ogg mp3 m4a aac wav amr flac silk oga",
    "sticker": "tgs was webm_sticker",
    "contact": "vcf",
}
_KIND_OF = {ending: kind for kind, endings in KINDS.items() for ending in endings.split()}
_KNOWN_MOMENTS = 512


def draft(
    message_id: str,
    channel: str,
    author_id: str,
    name: str = "",
    kind: pb.AuthorKind = HUMAN,
    sent_at_ms: int = 0,
) -> pb.Message:
    """A message without content; what a bot wrote has the role of one."""
    role = pb.ROLE_ASSISTANT if kind == BOT else pb.ROLE_UNSPECIFIED
    message = pb.Message(
        id=clean(message_id), channel=clean(channel), role=role, sent_at_ms=sent_at_ms
    )
    message.author.id = clean(author_id)
    message.author.name = clean(name)
    message.author.kind = kind
    return message


def say(message: pb.Message, text: str) -> None:
    """Add a text, unless it is empty."""
    if text:
        message.parts.add().text.text = clean(text)


def show(message: pb.Message, kind: str, uri: str = "", alt: str = "", mime: str = "") -> None:
    """Add a picture, file or the like."""
    media = message.parts.add().media
    media.kind, media.uri, media.alt_text, media.mime = kind, clean(uri), clean(alt), clean(mime)


def answer(message: pb.Message, message_id: str, kind: pb.ReplyKind = pb.REPLY_KIND_QUOTE) -> None:
    """Make it a reply."""
    if message_id:
        message.reply.message_id, message.reply.kind = clean(message_id), kind


def kind_of(file_name: str, mime: str = "") -> str:
    """What a file is: image, video, audio, contact, sticker, file."""
    before = mime.partition("/")[0]
    if before in {"image", "video", "audio"}:
        return before
    return _KIND_OF.get(PurePosixPath(file_name).suffix.lower().lstrip("."), "file")


class Numbering:
    """Ids for platforms that give none: from time, author and text, and a count of equal ones.

    A longer export of the same chat gives the same ids. Equal ones are counted among the last `_KNOWN_MOMENTS` times:
    logs are in order.
    """

    def __init__(self) -> None:
        self._moments: OrderedDict[str, dict[bytes, int]] = OrderedDict()

    def of(self, moment: str, author: str, text: str) -> str:
        """The id of the next message that was sent then, by this author, with this text."""
        alike = self._moments.setdefault(moment, {})
        if len(self._moments) > _KNOWN_MOMENTS:
            self._moments.popitem(last=False)
        whole = f"{moment}\x1f{author}\x1f{text}".encode("utf-8", "replace")
        digest = blake2b(whole, digest_size=12)
        count = alike[digest.digest()] = alike.get(digest.digest(), 0) + 1
        return f"h{digest.hexdigest()}" + (f"-{count}" if count > 1 else "")


class TextBuilder:
    """A text put together piece by piece, with the mentions in it where they stand."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self.mentions: list[pb.Mention] = []

    def add(self, text: str) -> None:
        text = clean(text)
        self._pieces.append(text)
        self._length += len(text)

    def mention(self, user_id: str, name: str, before: str = "@") -> None:
        """Add a mention as people see it."""
        start = self._length
        self.add(before + (name or user_id))
        self.mentions.append(
            pb.Mention(
                user_id=clean(user_id), name=clean(name or user_id), start=start, end=self._length
            )
        )

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def write(self, message: pb.Message) -> None:
        """Add it to the message and begin anew. Positions hold for a text that comes first."""
        has_text = any(part.HasField("text") for part in message.parts)
        say(message, self.text)
        for one in self.mentions:
            if has_text:
                one.start = one.end = 0
            message.mentions.append(one)
        self._begin()
