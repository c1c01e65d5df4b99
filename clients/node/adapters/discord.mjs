// Discord: messages of discord.js.
import { channelName, codePoints, idOf, member, messageEvent, neverThrows } from "./events.mjs";

const SPOKEN = new Set([0, 19, 20, 23]); // said, reply, slash command, menu command: all others are lines of the platform
const REPLY = 19;

/** Reads a Message, the bot's own included; with `isEdit` the new one of messageUpdate. `me` is `client.user`. */
export const eventOf = neverThrows("discord", (told, me, { isEdit = false } = {}) => {
  if (!SPOKEN.has(told.type)) return null;
  if (isEdit && !told.editedTimestamp) return null; // a link got its preview
  const text = told.content || told.messageSnapshots?.map((one) => one.content).filter(Boolean).join("\n") || "";
  const mentions = [...text.matchAll(/<@!?(\d+)>/g)]
    .filter(([, id]) => told.mentions.users.has(id))
    .map((mark) => ({
      userId: mark[1],
      name: told.mentions.members?.get(mark[1])?.displayName ?? told.mentions.users.get(mark[1]).displayName,
      start: codePoints(text, mark.index),
      end: codePoints(text, mark.index + mark[0].length),
    }));
  const { author } = told;
  const name = told.member?.displayName ?? author.displayName;
  const reply = told.type === REPLY && told.reference?.messageId;
  const answered = told.mentions.repliedUser?.id ?? "";
  const role = told.guild?.roles.botRoleFor?.(me);
  return messageEvent({
    channel: channelName("discord", told.channelId),
    selfId: me.id,
    id: told.id,
    author: { id: author.id, name, isBot: author.bot },
    text,
    media: mediaOf(told),
    sentAtMs: told.createdTimestamp,
    reply: reply ? { messageId: reply, userId: answered } : undefined,
    mentions,
    isForBot: !told.guildId || (role && told.mentions.roles.has(role.id)),
    members: [member(author.id, name, author.username, author.bot)],
    isEdit,
    editedAtMs: told.editedTimestamp,
  });
});

/** Reads what messageDelete and messageDeleteBulk tell: a message, or a collection of them. */
export const deletionOf = neverThrows("discord", (told) => {
  const messages = typeof told.values === "function" ? [...told.values()] : [told];
  if (!messages.length) return null;
  return { kind: "recalled", channel: channelName("discord", messages[0].channelId), messageIds: messages.map((one) => idOf(one.id)) };
});

function mediaOf(told) {
  const media = [];
  for (const file of told.attachments.values()) {
    const mime = file.contentType ?? "";
    const [kind] = mime.split("/");
    media.push({
      kind: ["image", "audio", "video"].includes(kind) ? kind : "file",
      altText: file.description || file.name || "",
      uri: file.url,
      mime,
    });
  }
  for (const sticker of told.stickers.values()) media.push({ kind: "sticker", altText: sticker.name, uri: sticker.url });
  if (told.poll) media.push({ kind: "poll", altText: told.poll.question.text ?? "" });
  if (told.author.bot) // a person's are previews of links
    for (const { title, description, url } of told.embeds)
      if (title || description) media.push({ kind: "embed", altText: [title, description].filter(Boolean).join(" "), uri: url ?? "" });
  return media;
}
