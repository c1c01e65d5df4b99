// What a table of cases becomes in Node, as plain data: node tables.mjs ADAPTER TABLE. With --spoilt behind it: how many events
// there are of all cases with each field left out or of another kind; what an adapter throws ends it.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const [adapter, table, spoil] = process.argv.slice(2);
const { AuthorKind, ReplyKind, Role } = await import("backscroll");
const { eventOf, deletionOf, sentOf } = await import(`backscroll/adapters/${adapter}.mjs`);
const READERS = { telegram, discord, koishi };
const read = READERS[adapter]();
const rows = JSON.parse(readFileSync(table, "utf8"));
if (spoil) {
  console.warn = () => {};
  let count = 0;
  for (const { given } of rows) for (const told of spoilt(given)) count += check(read(told));
  console.log(count);
} else console.log(JSON.stringify(rows.map(({ given }) => plain(read(given)))));
process.exit(0); // the frameworks have timers

function telegram() {
  return (given) => eventOf(given, { id: 900, username: "catbot", first_name: "Cat" });
}

// Packets of the gateway, which discord.js itself makes messages of.
function discord() {
  const { Client, Events, IntentsBitField, Partials, Status } = require("discord.js");
  const cat = { id: "900", username: "catbot", global_name: "Cat", discriminator: "0", bot: true };
  const guild = {
    id: "10",
    members: [{ user: cat, roles: ["11"], joined_at: null, flags: 0 }],
    roles: [
      { id: "10", name: "@everyone", permissions: "0" },
      { id: "11", name: "Cat", permissions: "0", tags: { bot_id: "900" } },
    ],
    channels: [{ id: "20", type: 0, name: "cats" }],
  };
  return ({ t, d, own }) => {
    const client = new Client({ intents: new IntentsBitField(), partials: [Partials.Channel, Partials.Message] });
    client.user = client.users._add(cat);
    client.guilds._add(structuredClone(guild));
    client.ws.status = Status.Ready;
    let event = null;
    let thrown;
    const on = (name, read) =>
      client.on(name, (...given) => {
        try {
          event = read(...given);
        } catch (error) {
          thrown = error;
        }
      });
    on(Events.MessageCreate, (message) => eventOf(message, client.user));
    on(Events.MessageUpdate, (_, message) => eventOf(message, client.user, { isEdit: true }));
    on(Events.MessageDelete, deletionOf);
    on(Events.MessageBulkDelete, deletionOf);
    try {
      client.ws.handlePacket({ t, d });
    } catch (error) {
      if (!spoil) throw error; // discord.js itself does not take everything
    }
    client.destroy();
    if (thrown) throw thrown;
    return event;
  };
}

// Events of Satori, which Koishi's adapters make sessions of. `sent` is the answer that a bot gave to one.
function koishi() {
  const { App } = require("koishi");
  const { Session } = require("@satorijs/core"); // koishi's own
  const ctx = new App();
  const bot = { ctx, selfId: "900", platform: "onebot", user: { id: "900", name: "Cat" } };
  return ({ content, sent, ...told }) => {
    const session = new Session(bot, structuredClone(told));
    try {
      if (content !== undefined) session.content = content;
    } catch (error) {
      if (!spoil) throw error; // nor does Koishi
    }
    return sent ? sentOf(session, sent.id, sent.text, sent.at) : eventOf(session);
  };
}

function check(event) {
  if (event && /undefined|null|object|NaN/.test(event.channel)) throw new Error(`a channel is called ${event.channel}`);
  return event ? 1 : 0;
}

// A case once for each of its fields without it, and once for each strange value in its place.
function* spoilt(given) {
  const strange = [null, "", "\ud83d\0", "9".repeat(5_000), -1, 1e40, 1.5, true, [], {}, [null], [[]], { id: {} }];
  for (const path of paths(given))
    for (const value of [undefined, ...strange]) {
      const made = structuredClone(given);
      const last = path.at(-1);
      const at = path.slice(0, -1).reduce((inside, name) => inside[name], made);
      if (value !== undefined) at[last] = structuredClone(value);
      else if (Array.isArray(at)) at.splice(last, 1);
      else delete at[last];
      yield made;
    }
}

function* paths(given, before = []) {
  if (typeof given !== "object" || given === null) return;
  for (const [name, value] of Object.entries(given)) {
    yield [...before, name];
    yield* paths(value, [...before, name]);
  }
}

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
