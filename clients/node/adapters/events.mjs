// What a platform tells, the same for all platforms: an event has a `kind`, a `channel`, and
//   said      { message, selfId, isForBot, members }  somebody said something, the bot included
//   edited    { message, editedAtMs }                 it has new content; its time is that of the first sending
//   recalled  { messageIds }                          messages were deleted
//   members   { members }                             people came or went
import { AuthorKind, EditMessageRequest, MediaPart, Member, Mention, Message, Reply, ReplyKind, Role } from "../dist/index.js";

/** An adapter's `eventOf`: what it cannot read is logged and is null, so that nothing is thrown into the framework. */
export const neverThrows =
  (platform, read) =>
  (...given) => {
    try {
      return read(...given);
    } catch (error) {
      console.warn(`backscroll: an event of ${platform} could not be read:`, error);
      return null;
    }
  };

/**
 * The event of a message; null of one without any content. `author` has id, name and isBot. A message that names the bot or
 * replies to it is for the bot as well; one of a bot never is.
 */
export function messageEvent({ channel, selfId, isForBot = false, members = [], isEdit = false, editedAtMs, ...told }) {
  const { author, text, media = [], reply, mentions = [] } = told;
  const words = text ? [{ content: { oneofKind: "text", text: { text } } }] : [];
  const files = media.map((one) => ({ content: { oneofKind: "media", media: MediaPart.create(one) } }));
  if (!words.length && !files.length) return null;
  const message = checked(Message, {
    id: told.id,
    author: { id: author.id, name: author.name ?? "", kind: author.isBot ? AuthorKind.BOT : AuthorKind.HUMAN },
    role: author.id === selfId ? Role.ASSISTANT : Role.USER,
    parts: [...words, ...files],
    sentAtMs: BigInt(told.sentAtMs),
    reply: reply ? Reply.create({ kind: ReplyKind.QUOTE, ...reply }) : undefined,
    mentions: mentions.map((one) => Mention.create(one)),
    threadId: told.threadId,
  });
  if (isEdit) {
    const at = editedAtMs ? BigInt(editedAtMs) : undefined;
    checked(EditMessageRequest, { editedAtMs: at });
    return { kind: "edited", channel, message, editedAtMs: at };
  }
  const isCalled = isForBot || reply?.userId === selfId || mentions.some((one) => one.userId === selfId);
  return { kind: "said", channel, message, selfId, isForBot: Boolean(isCalled && !author.isBot), members };
}

/** A person or bot of whom the platform tells more than an id. */
export const member = (userId, name, alias, isBot, when = {}) =>
  checked(Member, {
    userId,
    name: name ?? "",
    aliases: alias ? [alias] : [],
    kind: isBot ? AuthorKind.BOT : AuthorKind.HUMAN,
    ...when,
  });

/** An id as text, a number on some platforms; one that is missing would make messages the same. */
export function idOf(value) {
  const isId = (typeof value === "string" && value) || Number.isSafeInteger(value);
  if (!isId) throw new TypeError(`an id must be text or a number, not ${typeof value}`);
  return String(value);
}

/** The name of a chat, by ids; the platform's name first. */
export const channelName = (...parts) => parts.map(idOf).join(":");

/** Offset in code points of one in UTF-16 units, as JavaScript counts. */
export const codePoints = (text, offset) => [...text.slice(0, offset)].length;

// What a call can hold: JavaScript would let an object pass for a text, and a number be too large for its field.
function checked(type, fields) {
  const made = type.create(fields);
  if (!type.is(made)) throw new TypeError(`no ${type.typeName}`);
  type.toBinary(made);
  return made;
}
