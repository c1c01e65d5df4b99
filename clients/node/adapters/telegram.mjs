// Telegram: updates of the Bot API, as grammY or any other library hands them over.
import { channelName, codePoints, idOf, member, messageEvent, neverThrows } from "./events.mjs";

const NEW = ["message", "channel_post", "business_message"];
const EDITED = ["edited_message", "edited_channel_post", "edited_business_message"];
// Kinds of media, and which of their fields says something of the content.
const MEDIA = { animation: "file_name", audio: "title", document: "file_name", sticker: "emoji", video: "file_name", video_note: "", voice: "" };
// What is no file, and the fields that say what it is.
const WORDS = {
  contact: ["first_name", "last_name", "phone_number"],
  dice: ["emoji", "value"],
  location: ["latitude", "longitude"],
  poll: ["question"],
  venue: ["title", "address"],
};

/** Reads an update, or a message that the bot has sent. `bot` is what getMe says: id, username, first_name. */
export const eventOf = neverThrows("telegram", (update, bot) => {
  if ("message_id" in update) return read(update, bot, false);
  for (const name of [...NEW, ...EDITED]) if (name in update) return read(update[name], bot, EDITED.includes(name));
  const deleted = update.deleted_business_messages;
  if (!deleted) return null;
  return { kind: "recalled", channel: channelOf(deleted, bot), messageIds: deleted.message_ids.map(idOf) };
});

/** Names a chat. Ids of messages are the chat's own in supergroups and channels, elsewhere the account's. */
export function channelOf({ chat, business_connection_id: business }, bot) {
  if (business) return channelName("telegram", business, chat.id);
  const isShared = ["supergroup", "channel"].includes(chat.type);
  return channelName("telegram", ...(isShared ? [] : [bot.id]), chat.id);
}

function read(told, bot, isEdit) {
  const channel = channelOf(told, bot);
  const moved = movedIn(told);
  if (moved.length) return { kind: "members", channel, members: moved };
  const author = authorOf(told);
  const text = told.text || told.caption || "";
  const { mentions, isBotCalled } = callsOf(told, text, bot);
  const me = String(bot.id);
  const isPrivate = told.chat.type === "private" && author.id === String(told.chat.id); // not its owner's lines
  const members = [member(me, bot.first_name, bot.username, true)];
  if (author.id !== me && author.id === String(told.from?.id))
    members.push(member(author.id, author.name, told.from.username, author.isBot));
  return messageEvent({
    channel,
    selfId: me,
    id: idOf(told.message_id),
    author,
    text,
    media: mediaOf(told),
    sentAtMs: told.date * 1000,
    reply: replyOf(told),
    mentions,
    threadId: told.is_topic_message ? idOf(told.message_thread_id) : undefined,
    isForBot: isPrivate || isBotCalled,
    members: members.filter((one) => one.aliases.length),
    isEdit,
    editedAtMs: told.edit_date && told.edit_date * 1000,
  });
}

// Who is named in a text. A name with @ has no id: the server knows it by the member's alias.
function callsOf(told, text, bot) {
  const me = `@${bot.username}`.toLowerCase();
  const mentions = [];
  let isBotCalled = false;
  for (const { type, offset, length, user } of told.entities ?? told.caption_entities ?? []) {
    const word = text.slice(offset, offset + length).toLowerCase();
    if (type === "text_mention") {
      const [start, end] = [codePoints(text, offset), codePoints(text, offset + length)];
      mentions.push({ userId: idOf(user.id), name: nameOf(user), start, end });
    } else if (type === "mention") isBotCalled ||= word === me;
    else if (type === "bot_command") isBotCalled ||= !word.includes("@") || word.endsWith(me);
  }
  return { mentions, isBotCalled };
}

// A person, a bot, or a chat that speaks as itself: a channel, an anonymous administrator.
function authorOf({ from, sender_chat: as, chat }) {
  const speaker = as ?? from ?? chat;
  return { id: idOf(speaker.id), name: nameOf(speaker), isBot: Boolean(speaker.is_bot) };
}

const nameOf = (user) => [user.first_name, user.last_name].filter(Boolean).join(" ") || user.title || user.username || "";

function movedIn({ date, new_chat_members, left_chat_member: left }) {
  const [when, came] = [BigInt(date * 1000), new_chat_members ?? []];
  const members = came.map((one) => member(idOf(one.id), nameOf(one), "", one.is_bot, { joinedAtMs: when }));
  return left ? [...members, member(idOf(left.id), nameOf(left), "", false, { leftAtMs: when })] : members;
}

// What it answers; in a forum's topic every message answers the line that made the topic.
function replyOf({ reply_to_message: answered }) {
  if (!answered || "forum_topic_created" in answered) return undefined;
  return { messageId: idOf(answered.message_id), userId: authorOf(answered).id };
}

function mediaOf(told) {
  const media = [];
  if (told.photo?.length) media.push({ kind: "image", uri: `telegram:${told.photo.at(-1).file_id}` }); // the largest is last
  for (const [kind, words] of Object.entries(MEDIA)) {
    const file = told[kind];
    if (!file || (kind === "document" && told.animation)) continue;
    media.push({ kind, altText: file[words] ?? "", uri: `telegram:${file.file_id}`, mime: file.mime_type ?? "" });
  }
  for (const [kind, fields] of Object.entries(WORDS)) {
    const thing = told[kind];
    if (!thing || (kind === "location" && told.venue)) continue;
    media.push({ kind, altText: fields.map((name) => thing[name]).filter(Boolean).join(" ") });
  }
  return media;
}
