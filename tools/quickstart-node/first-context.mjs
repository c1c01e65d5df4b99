// A bot's first call from Node, with the protos alone: store a few lines, ask, print the context.
// Usage: node first-context.mjs HOST:PORT PROTO_DIR
import grpc from "@grpc/grpc-js";
import loader from "@grpc/proto-loader";

const [address, protos] = process.argv.slice(2);
const files = ["history", "context"].map((name) => `backscroll/v1/${name}.proto`);
const definition = loader.loadSync(files, { includeDirs: [protos], keepCase: true, longs: Number, enums: String });
const { backscroll } = grpc.loadPackageDefinition(definition);
const credentials = grpc.credentials.createInsecure();
const history = new backscroll.v1.HistoryService(address, credentials);
const context = new backscroll.v1.ContextService(address, credentials);

const call = (client, method, request) =>
  new Promise((resolve, reject) =>
    client[method](request, { deadline: Date.now() + 10_000 }, (error, answer) =>
      error ? reject(error) : resolve(answer),
    ),
  );

const said = [
  ["u1", "Ann", "who has the key of the shed?"],
  ["u2", "Ben", "钥匙在厨房里, second drawer"],
  ["u3", "Cem", "the train is late again"],
];
const messages = said.map(([id, name, text], n) => ({
  id: `n${n}`,
  author: { id, name },
  role: "ROLE_USER",
  parts: [{ text: { text } }],
  sent_at_ms: Date.now() - 60_000 + n * 1_000,
}));
const stored = await call(history, "AppendMessages", { channel: "node-group", messages });
if (stored.results.some((one) => one.refusal && one.refusal !== "APPEND_REFUSAL_UNSPECIFIED"))
  throw new Error(`not stored: ${JSON.stringify(stored.results)}`);
const built = await call(context, "BuildContext", {
  channel: "node-group",
  question: "Ann: and where was the key?",
  asker: { id: "u1", name: "Ann" },
  self_ids: ["cat-bot"],
});
if (built.items.length === 0) throw new Error(`nothing was picked: ${JSON.stringify(built)}`);
console.log(built.text || JSON.stringify(built.messages, null, 1));
history.close();
context.close();
