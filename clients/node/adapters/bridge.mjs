// Between a platform and the server: stores what happens, and says what is to be answered.
import { ChannelCredentials } from "@grpc/grpc-js";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import {
  AppendOutcome,
  BuildContextRequest,
  ContextServiceClient,
  EndReason,
  HistoryServiceClient,
  ModelCall,
  StreamChatRequest,
  SystemPrompt,
} from "../dist/index.js";

const REMEMBERED = 10_000; // most people, and most deletions of unknown messages
const CHAT_TIMEOUT_MS = 120_000;
const MOST_RESULT_BYTES = 65_536;
const RETRIED = ["AliasMessage", "AppendMessages", "EditMessage", "RecallMessage", "UpsertMembers"];
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
const isConflict = (error) => reason(error).includes("CONFLICT");
// What the server will never take, however often it is sent.
const isInvalid = ({ code, message }) =>
  code === "INVALID_ARGUMENT" || code === "OUT_OF_RANGE" || (code === "RESOURCE_EXHAUSTED" && message.includes("larger than max"));
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

  /**
   * Stores an event. Returned is the event itself if the bot should answer it, else null. With the bot's own message, `answers`
   * is the context it was made of, or the answer of `chat`, which the server has stored and now learns the platform's id of.
   */
  async take(event, { answers } = {}) {
    if (!event) return null;
    const { channel } = event;
    switch (event.kind) {
      case "said":
        await this.#tell(channel, event.members);
        if (answers?.end?.replyMessageId) {
          await this.#alias(channel, answers.end.replyMessageId, event.message.id);
          return null;
        }
        return (await this.#store(channel, event.message, answers?.contextId)) && event.isForBot ? event : null;
      case "edited":
        await this.#edit(channel, event);
        break;
      case "recalled":
        for (const id of event.messageIds) await this.#recall(channel, id);
        break;
      case "members":
        await this.#tell(channel, event.members);
    }
    return null;
  }

  /** Builds the context of a question that was taken; options are fields of BuildContextRequest, `system` may be a text. */
  async context(asked, options = {}) {
    return withPayload((await this.contexts.buildContext(contextOf(asked, options))).response);
  }

  /**
   * Lets the server's model answer it. Options are those of `context`, and `modelCall` and `questionMessageId` of
   * StreamChatRequest. `tools` are functions by name of what `toolsJson` describes: they are called as the model asks, with an
   * object of arguments, and the chat goes on until there is an answer. Returned is the text, the `end` with its reason, the
   * context, the error if something went wrong, and every tool call.
   */
  async chat(asked, { modelCall, questionMessageId, tools, ...options } = {}) {
    let turn = StreamChatRequest.create({
      context: contextOf(asked, options),
      modelCall: ModelCall.create({ enableTools: tools ? true : undefined, ...modelCall }),
      questionMessageId,
    });
    const toolCalls = [];
    let context;
    for (;;) {
      const { response } = await this.contexts.chat({ turn }, { timeout: CHAT_TIMEOUT_MS });
      if (response.context) context ??= withPayload(response.context);
      toolCalls.push(...response.toolCalls);
      const { text, end, error } = response;
      if (!tools || end.reason !== EndReason.TOOL_CALLS || !end.turnId) return { text, end, context, error, toolCalls };
      const toolResults = await Promise.all(response.toolCalls.map((call) => resultOf(tools, call)));
      turn = StreamChatRequest.create({ turnId: end.turnId, toolResults });
    }
  }

  close() {
    this.transport.close();
  }

  async #tell(channel, members = []) {
    const fresh = members.filter((one) => !this.#told.has(key(channel, one)));
    if (!fresh.length) return;
    await heeded(channel, this.history.upsertMembers({ channel, members: fresh }));
    if (this.#told.size > REMEMBERED) this.#told.clear();
    for (const one of fresh) this.#told.add(key(channel, one));
  }

  async #store(channel, message, contextId = "") {
    const stored = await heeded(channel, this.history.appendMessages({ channel, messages: [message], contextId }));
    const { outcome, field } = stored?.response.results[0] ?? {};
    if (outcome === AppendOutcome.CONFLICT || outcome === AppendOutcome.REFUSED)
      console.warn(`backscroll: a message of ${channel} was not stored: ${message.id} ${AppendOutcome[outcome]} ${field}`);
    if (this.#deleted.has(`${channel}\n${message.id}`)) {
      await this.#recall(channel, message.id); // its deletion was told before it was stored
      return false;
    }
    return outcome === AppendOutcome.STORED;
  }

  async #alias(channel, messageId, aliasId) {
    try {
      await this.history.aliasMessage({ channel, messageId, aliasId });
    } catch (error) {
      if (!isConflict(error)) throw error;
      await this.history.recallMessage({ channel, messageId: aliasId }); // the platform told of it first: stored as any other
    }
  }

  async #edit(channel, { message, editedAtMs }) {
    const { id, parts, mentions } = message;
    try {
      await heeded(channel, this.history.editMessage({ channel, messageId: id, parts, mentions, editedAtMs }));
    } catch (error) {
      if (isGone(error)) return;
      if (!isUnknown(error)) throw error;
      await this.#store(channel, message); // sent before the bot was there
    }
  }

  async #recall(channel, messageId) {
    try {
      await heeded(channel, this.history.recallMessage({ channel, messageId }));
    } catch (error) {
      if (isGone(error)) return;
      if (!isUnknown(error)) throw error;
      this.#deleted.add(`${channel}\n${messageId}`);
      if (this.#deleted.size > REMEMBERED) this.#deleted.delete(this.#deleted.values().next().value);
    }
  }
}

// What the server will never take is logged: an event that is no good must not stop the bot.
async function heeded(channel, call) {
  try {
    return await call;
  } catch (error) {
    if (!isInvalid(error)) throw error;
    console.warn(`backscroll: an event of ${channel} was not stored: ${error.message}`);
    return null;
  }
}

const contextOf = (asked, { system, ...options }) =>
  BuildContextRequest.create({
    channel: asked.channel,
    triggerMessageId: asked.message.id,
    selfIds: [asked.selfId],
    system: typeof system === "string" ? SystemPrompt.create({ text: system }) : system,
    ...options,
  });

function withPayload(context) {
  const [payload] = context.payloads;
  return Object.assign(context, { payload: payload && JSON.parse(Buffer.from(payload.body).toString()) });
}

// What a tool answers, as text or JSON; of one that fails the model learns no more than that.
async function resultOf(tools, { id: callId, name, argumentsJson }) {
  try {
    const value = await tools[name](JSON.parse(argumentsJson || "{}"));
    const text = Buffer.from(typeof value === "string" ? value : (JSON.stringify(value) ?? "null"));
    return { callId, text: text.subarray(0, MOST_RESULT_BYTES).toString().replace(/\ufffd$/, ""), isError: false };
  } catch (error) {
    console.warn(`backscroll: the tool ${name} failed:`, error);
    return { callId, text: "the tool failed", isError: true };
  }
}

const key = (channel, one) => JSON.stringify([channel, one], (_, value) => (typeof value === "bigint" ? String(value) : value));
