// Prints what a table of cases becomes in Node, as plain data: node tables.mjs ADAPTER TABLE BOT
import { readFileSync } from "node:fs";

const [adapter, table, bot] = process.argv.slice(2);
const { AuthorKind, ReplyKind, Role } = await import("backscroll");
const { eventOf } = await import(`backscroll/adapters/${adapter}.mjs`);
const rows = JSON.parse(readFileSync(table, "utf8"));
console.log(JSON.stringify(rows.map(({ given }) => plain(eventOf(given, JSON.parse(bot))))));

function plain(event) {
  if (!event) return null;
  const { kind, channel } = event;
  if (kind === "said")
    return without({
      said: message(event.message),
      channel,
      self: event.selfId,
      is_for_bot: event.isForBot,
      members: event.members.map(member),
    });
  if (kind === "edited") return without({ edited: message(event.message), channel, edited_at: Number(event.editedAtMs) });
  if (kind === "recalled") return { recalled: event.messageIds, channel };
  return { members: event.members.map(member), channel };
}

function message({ id, author, role, parts, sentAtMs, reply, mentions, threadId }) {
  const media = parts.filter((one) => one.content.oneofKind === "media").map((one) => one.content.media);
  return without({
    id,
    author: author.id,
    name: author.name,
    kind: author.kind === AuthorKind.BOT ? "bot" : "",
    text: parts.find((one) => one.content.oneofKind === "text")?.content.text.text,
    media: media.map(({ kind, altText: alt, uri, mime }) => without({ kind, alt, uri, mime })),
    sent_at: Number(sentAtMs),
    reply: reply && { to: reply.messageId, kind: ReplyKind[reply.kind].toLowerCase(), user: reply.userId },
    mentions: mentions.map((one) => [one.userId, one.name, one.start, one.end]),
    role: role === Role.ASSISTANT ? "assistant" : "",
    thread: threadId,
  });
}

function member({ userId: id, name, aliases, kind, joinedAtMs, leftAtMs }) {
  const when = { joined_at: joinedAtMs && Number(joinedAtMs), left_at: leftAtMs && Number(leftAtMs) };
  return without({ id, name, aliases, kind: kind === AuthorKind.BOT ? "bot" : "", ...when });
}

function without(given) {
  const says = ([, value]) => value && !(Array.isArray(value) && !value.length);
  return Object.fromEntries(Object.entries(given).filter(says));
}
