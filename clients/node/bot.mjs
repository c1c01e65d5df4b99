// A whole bot: standard input is the chat platform, one event a line (clients/chat.jsonl).
// BACKSCROLL_ADDRESS=127.0.0.1:7171 node bot.mjs < chat.jsonl
import { createInterface } from "node:readline";
import { ChannelCredentials } from "@grpc/grpc-js";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import { AppendRefusal, BuildContextRequest, ContextServiceClient, HistoryServiceClient, Message } from "backscroll";

// Both calls are safe to repeat: what is stored already is a duplicate, and a build writes no history.
const serviceConfig = {
  methodConfig: [
    {
      name: [
        { service: "backscroll.v1.HistoryService", method: "AppendMessages" },
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
const transport = new GrpcTransport({
  host: process.env.BACKSCROLL_ADDRESS || "127.0.0.1:7171",
  channelCredentials: ChannelCredentials.createInsecure(),
  clientOptions: { "grpc.service_config": JSON.stringify(serviceConfig) },
  timeout: 10_000, // the deadline of each call
});
const history = new HistoryServiceClient(transport);
const context = new ContextServiceClient(transport);

async function hear(event) {
  const message = Message.create({
    id: event.id,
    author: { id: event.user_id, name: event.user_name },
    parts: [{ content: { oneofKind: "text", text: { text: event.text } } }],
    sentAtMs: BigInt(event.time_ms),
    reply: event.reply_to ? { messageId: event.reply_to } : undefined,
  });
  const { response: stored } = await history.appendMessages({ channel: event.channel, messages: [message], contextId: "" });
  for (const { refusal, field } of stored.results)
    if (refusal) console.error(`${event.id} was not stored: ${AppendRefusal[refusal]} ${field}`);
  if (!event.for_me) return;
  const asked = { channel: event.channel, triggerMessageId: event.id, selfIds: ["cat-bot"] };
  const { response: built } = await context.buildContext(BuildContextRequest.create(asked));
  console.log(built.text); // built.payloads[0].body is the request to post to a model
}

for await (const line of createInterface({ input: process.stdin })) await hear(JSON.parse(line)).catch(console.error);
transport.close();
