// Koishi: sessions, of whatever platform its adapters speak.
import { channelName, codePoints, idOf, member, messageEvent, neverThrows } from "./events.mjs";

const MEDIA = { img: "image", image: "image", audio: "audio", video: "video", file: "file", face: "face", sticker: "sticker" };
const SAID = new Set(["message", "message-created"]);

/** Reads a session. */
export const eventOf = neverThrows("koishi", (session) => {
  if (!session.channelId) return null; // of a whole server
  const channel = channelOf(session);
  const { type, userId, messageId, timestamp } = session;
  const moved = (when) => ({ kind: "members", channel, members: [member(userId, nameOf(session), "", false, when)] });
  if (type === "message-deleted") return { kind: "recalled", channel, messageIds: [idOf(messageId)] };
  if (type === "guild-member-added") return moved({ joinedAtMs: BigInt(timestamp) });
  if (type === "guild-member-removed" || type === "guild-member-deleted") return moved({ leftAtMs: BigInt(timestamp) });
  const isEdit = type === "message-updated";
  if (!SAID.has(type) && !isEdit) return null;
  const found = { text: "", mentions: [], media: [], quoted: undefined };
  collect(session.elements ?? [], found, session);
  const quote = session.quote?.id ?? found.quoted;
  return messageEvent({
    channel,
    selfId: session.selfId,
    id: idOf(messageId),
    author: { id: userId || session.platform, name: nameOf(session), isBot: userId === session.selfId || Boolean(session.event.user?.isBot) },
    text: found.text,
    media: found.media,
    sentAtMs: timestamp,
    reply: quote ? { messageId: quote, userId: session.quote?.user?.id ?? "" } : undefined,
    mentions: found.mentions,
    isForBot: session.isDirect,
    isEdit,
    editedAtMs: timestamp,
  });
});

/** The bot's own answer to a session: `session.send` returns ids alone, and its event has no text on every platform. */
export const sentOf = neverThrows("koishi", (session, id, text, sentAtMs = Date.now()) =>
  messageEvent({
    channel: channelOf(session),
    selfId: session.selfId,
    id: idOf(id),
    author: { id: session.selfId, name: session.bot.user?.name, isBot: true },
    text,
    sentAtMs,
    reply: { messageId: session.messageId, userId: session.userId },
  }),
);

/** Names a chat: not every platform has ids of messages that are the same for all accounts. */
export const channelOf = ({ platform, selfId, channelId }) => channelName("koishi", platform, selfId, channelId);

const nameOf = ({ event }) => event.member?.nick || event.user?.nick || event.user?.name || "";

// The text of elements, with marks where somebody is named, and what is no text.
function collect(elements, found, session) {
  for (const { type, attrs, children } of elements) {
    if (type === "text") found.text += attrs.content;
    else if (type === "br") found.text += "\n";
    else if (type === "quote") found.quoted = attrs.id;
    else if (type === "at" && attrs.id) {
      const mark = `<@${attrs.id}>`;
      const name = attrs.name || (attrs.id === session.selfId ? session.bot.user?.name : "") || "";
      const start = codePoints(found.text, found.text.length);
      found.mentions.push({ userId: String(attrs.id), name, start, end: start + mark.length });
      found.text += mark;
    } else if (type === "at") found.text += `@${attrs.type ?? attrs.name ?? ""}`;
    else if (type in MEDIA)
      found.media.push({ kind: MEDIA[type], altText: attrs.title || attrs.alt || attrs.name || "", uri: attrs.src || attrs.url || "" });
    else {
      collect(children, found, session);
      if (type === "p") found.text += "\n";
    }
  }
}
