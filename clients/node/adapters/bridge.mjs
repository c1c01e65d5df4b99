// Between a platform and the server: stores what happens, and says what is to be answered.
import { ChannelCredentials } from "@grpc/grpc-js";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import { AppendOutcome, BuildContextRequest, ContextServiceClient, HistoryServiceClient, SystemPrompt } from "../dist/index.js";

const REMEMBERED = 10_000; // most people, and most deletions of unknown messages
const RETRIED = ["AppendMessages", "EditMessage", "RecallMessage", "UpsertMembers"];
const serviceConfig = {
  methodConfig: [
    {
      name: [
        ...RETRIED.map((method) => ({ service: "backscroll.v1.HistoryService", method })),
        { service: "backscroll.v1.ContextService", method: "BuildContext" },
      ],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: "0.1s",
        maxBackoff: "1s",
        backoffMultiplier: 3,
        retryableStatusCodes: ["UNAVAILABLE"],
      },
    },
  ],
};
const reason = (error) => Buffer.from(error.meta?.["grpc-status-details-bin"] ?? "", "base64").toString("latin1");
const isUnknown = (error) => error.code === "NOT_FOUND";
const isGone = (error) => reason(error).includes("MESSAGE_GONE");

/** Stores what a platform tells. `token` is sent with each call; give `credentials` where the server speaks TLS. */
export class Bridge {
  #told = new Set();
  #deleted = new Set();

  constructor(host = "127.0.0.1:7171", { token, credentials = ChannelCredentials.createInsecure() } = {}) {
    this.transport = new GrpcTransport({
      host,
      channelCredentials: credentials,
      clientOptions: { "grpc.service_config": JSON.stringify(serviceConfig) },
      timeout: 10_000,
      meta: token ? { authorization: `Bearer ${token}` } : {},
    });
    this.history = new HistoryServiceClient(this.transport);
    this.contexts = new ContextServiceClient(this.transport);
  }

  /** Stores an event. Returned is the event itself if the bot should answer it, else null. `answers` is the context of a reply. */
  async take(event, { answers } = {}) {
    if (!event) return null;
    const { channel } = event;
    switch (event.kind) {
      case "said":
        await this.#tell(channel, event.members ?? []);
        return (await this.#store(channel, event.message, answers?.contextId)) && event.isForBot ? event : null;
      case "edited":
        await this.#edit(channel, event);
        break;
      case "recalled":
        for (const id of event.messageIds) await this.#recall(channel, id);
        break;
      case "members":
        await this.history.upsertMembers({ channel, members: event.members });
    }
    return null;
  }

  /** Builds the context of a question that was taken; options are fields of BuildContextRequest, `system` may be a text. */
  async context(asked, { system, ...options } = {}) {
    const request = BuildContextRequest.create({
      channel: asked.channel,
      triggerMessageId: asked.message.id,
      selfIds: [asked.selfId],
      system: typeof system === "string" ? SystemPrompt.create({ text: system }) : system,
      ...options,
    });
    const { response } = await this.contexts.buildContext(request);
    const [payload] = response.payloads;
    return Object.assign(response, { payload: payload && JSON.parse(Buffer.from(payload.body).toString()) });
  }

  close() {
    this.transport.close();
  }

  async #tell(channel, members) {
    const fresh = members.filter((one) => !this.#told.has(key(channel, one)));
    if (!fresh.length) return;
    await this.history.upsertMembers({ channel, members: fresh });
    if (this.#told.size > REMEMBERED) this.#told.clear();
    for (const one of fresh) this.#told.add(key(channel, one));
  }

  async #store(channel, message, contextId = "") {
    const { response } = await this.history.appendMessages({ channel, messages: [message], contextId });
    const [{ outcome, field }] = response.results;
    if (outcome === AppendOutcome.CONFLICT || outcome === AppendOutcome.REFUSED)
      console.warn(`backscroll: ${message.id} of ${channel} was not stored: ${AppendOutcome[outcome]} ${field}`);
    if (this.#deleted.has(`${channel}\n${message.id}`)) {
      await this.history.recallMessage({ channel, messageId: message.id }); // deleted before it was stored
      return false;
    }
    return outcome === AppendOutcome.STORED;
  }

  async #edit(channel, { message, editedAtMs }) {
    const { id, parts, mentions } = message;
    try {
      await this.history.editMessage({ channel, messageId: id, parts, mentions, editedAtMs });
    } catch (error) {
      if (isUnknown(error)) await this.#store(channel, message); // sent before the bot was there
      else if (!isGone(error)) throw error;
    }
  }

  async #recall(channel, messageId) {
    try {
      await this.history.recallMessage({ channel, messageId });
    } catch (error) {
      if (isUnknown(error)) {
        this.#deleted.add(`${channel}\n${messageId}`);
        if (this.#deleted.size > REMEMBERED) this.#deleted.delete(this.#deleted.values().next().value);
      } else if (!isGone(error)) throw error;
    }
  }
}

const key = (channel, { userId, name, aliases }) => [channel, userId, name, ...aliases].join("\n");
