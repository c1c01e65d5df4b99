// What a platform tells, the same for all platforms: an event has a `kind`, a `channel`, and
//   said      { message, selfId, isForBot, members }  somebody said something, the bot included
//   edited    { message, editedAtMs }                 it has new content; its time is that of the first sending
//   recalled  { messageIds }                          messages were deleted
//   members   { members }                             people came or went
import { AuthorKind, MediaPart, Member, Mention, Message, Reply, ReplyKind, Role } from "../dist/index.js";

/** A message of plain fields: id, author, name, isBot, isOwn, text, media, sentAtMs, reply, mentions, threadId. */
export function message({ id, author, name, isBot, isOwn, text, media = [], sentAtMs, reply, mentions = [], threadId }) {
  const words = text ? [{ content: { oneofKind: "text", text: { text } } }] : [];
  return Message.create({
    id,
    author: { id: author, name: name ?? "", kind: isBot ? AuthorKind.BOT : AuthorKind.HUMAN },
    role: isOwn ? Role.ASSISTANT : Role.USER,
    parts: [...words, ...media.map((one) => ({ content: { oneofKind: "media", media: MediaPart.create(one) } }))],
    sentAtMs: BigInt(sentAtMs),
    reply: reply ? Reply.create({ kind: ReplyKind.QUOTE, ...reply }) : undefined,
    mentions: mentions.map((one) => Mention.create(one)),
    threadId,
  });
}

/** A person or bot of whom the platform tells more than an id. */
export const member = (userId, name, alias, isBot, when = {}) =>
  Member.create({
    userId,
    name: name ?? "",
    aliases: alias ? [alias] : [],
    kind: isBot ? AuthorKind.BOT : AuthorKind.HUMAN,
    ...when,
  });

/** The event of a message; null of one without any content. */
export function saidOrEdited(said, editedAtMs, isEdit) {
  if (!said.message.parts.length) return null;
  if (!isEdit) return { kind: "said", ...said };
  return { kind: "edited", channel: said.channel, message: said.message, editedAtMs };
}

/** Offset in code points of one in UTF-16 units, as JavaScript counts. */
export const codePoints = (text, offset) => [...text.slice(0, offset)].length;
