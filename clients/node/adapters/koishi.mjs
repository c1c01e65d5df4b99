// Koishi: sessions, of whatever platform its adapters speak.
import { codePoints, member, message, saidOrEdited } from "./events.mjs";

const MEDIA = { img: "image", image: "image", audio: "audio", video: "video", file: "file", face: "face", sticker: "sticker" };
const SAID = new Set(["message", "message-created"]);

/** Reads a session. */
export function eventOf(session) {
  const channel = channelOf(session);
  const { userId, messageId, timestamp } = session;
  switch (session.type) {
    case "message-deleted":
      return { kind: "recalled", channel, messageIds: [messageId] };
    case "guild-member-added":
      return { kind: "members", channel, members: [member(userId, nameOf(session), "", false, { joinedAtMs: BigInt(timestamp) })] };
    case "guild-member-removed":
    case "guild-member-deleted":
      return { kind: "members", channel, members: [member(userId, nameOf(session), "", false, { leftAtMs: BigInt(timestamp) })] };
  }
  const isEdit = session.type === "message-updated";
  if (!SAID.has(session.type) && !isEdit) return null;
  const isOwn = userId === session.selfId;
  const found = { text: "", mentions: [], media: [], quoted: undefined };
  collect(session.elements ?? [], found, session);
  const quote = session.quote?.id ?? found.quoted;
  const answered = session.quote?.user?.id ?? "";
  const isBot = isOwn || Boolean(session.event.user?.isBot);
  const said = {
    channel,
    message: message({
      id: messageId,
      author: userId,
      name: nameOf(session),
      isBot,
      isOwn,
      text: found.text,
      media: found.media,
      sentAtMs: timestamp,
      reply: quote ? { messageId: quote, userId: answered } : undefined,
      mentions: found.mentions,
    }),
    selfId: session.selfId,
    isForBot:
      !isBot && (session.isDirect || found.mentions.some((one) => one.userId === session.selfId) || answered === session.selfId),
    members: [],
  };
  return saidOrEdited(said, BigInt(timestamp), isEdit);
}

/** The bot's own answer to a session: `session.send` returns ids alone, and its event has no text on every platform. */
export function sentOf(session, id, text, sentAtMs = Date.now()) {
  const { selfId, messageId } = session;
  const name = session.bot.user?.name;
  const reply = { messageId, userId: session.userId };
  const sent = message({ id, author: selfId, name, isBot: true, isOwn: true, text, sentAtMs, reply });
  return { kind: "said", channel: channelOf(session), message: sent, selfId, isForBot: false, members: [] };
}

/** Names a chat: not every platform has ids of messages that are the same for all accounts. */
export const channelOf = ({ platform, selfId, channelId }) => `koishi:${platform}:${selfId}:${channelId}`;

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
