// The conformance driver for Node: clients/conformance/README.md says what it reads and writes.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { ChannelCredentials, credentials, Metadata } from "@grpc/grpc-js";
import { GrpcTransport } from "@protobuf-ts/grpc-transport";
import { RpcError } from "@protobuf-ts/runtime-rpc";
import { ContextServiceClient, HistoryServiceClient } from "./dist/index.js";
import { ErrorInfo, Status } from "./dist/generated/google/rpc/status.js";
import { HealthClient } from "./dist/generated/grpc/health/v1/health.client.js";
import { ServerReflectionClient } from "./dist/generated/grpc/reflection/v1alpha/reflection.client.js";

const env = process.env;
const CLIENTS = {
  "backscroll.v1.HistoryService": HistoryServiceClient,
  "backscroll.v1.ContextService": ContextServiceClient,
  "grpc.health.v1.Health": HealthClient,
  "grpc.reflection.v1alpha.ServerReflection": ServerReflectionClient,
};

function open(target) {
  const names = { plain: "", retry: "RETRY_", silent: "SILENT_", tls: "TLS_", token_tls: "TLS_" };
  let channelCredentials = ChannelCredentials.createInsecure();
  if (target.endsWith("tls")) channelCredentials = ChannelCredentials.createSsl(readFileSync(env.BACKSCROLL_TLS_CA));
  if (target === "token_tls") {
    const token = new Metadata();
    token.set("authorization", `Bearer ${env.BACKSCROLL_TOKEN}`);
    const call = credentials.createFromMetadataGenerator((_, callback) => callback(null, token));
    channelCredentials = credentials.combineChannelCredentials(channelCredentials, call);
  }
  const host = env[`BACKSCROLL_${names[target]}ADDRESS`];
  const clientOptions = { "grpc.service_config": env.BACKSCROLL_SERVICE_CONFIG };
  return new GrpcTransport({ host, channelCredentials, clientOptions });
}

// Each response as it comes, whatever the shape of the call; what is sent is closed before the first is read.
async function* responses(client, method, requests, options) {
  const begin = client[method.localName].bind(client);
  const call = method.clientStreaming ? begin(options) : begin(requests[0], options);
  if (method.clientStreaming) {
    for (const request of requests) await call.requests.send(request);
    await call.requests.complete();
  }
  if (method.serverStreaming) yield* call.responses;
  else yield await call.response;
  await call.status;
}

function infoOf(error) {
  const details = Status.fromBinary(Buffer.from(error.meta["grpc-status-details-bin"] ?? "", "base64")).details;
  const found = details.find((detail) => detail.typeUrl.endsWith("/google.rpc.ErrorInfo"));
  return found ? ErrorInfo.fromBinary(found.value) : ErrorInfo.create();
}

async function answer(step, transport) {
  const [service, name] = step.call.split("/");
  const client = new CLIENTS[service](transport);
  const method = client.methods.find((one) => one.name === name);
  const requests = step.requests.map((one) => method.I.fromJson(one));
  const leaving = new AbortController();
  const told = { step: step.step, status: "OK", reason: "", field: "", responses: [] };
  try {
    const options = { timeout: step.deadline_ms, abort: leaving.signal };
    for await (const response of responses(client, method, requests, options)) {
      if (leaving.signal.aborted) continue;
      told.responses.push(method.O.toJson(response));
      if (told.responses.length === step.cancel_after) leaving.abort();
    }
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    const info = infoOf(error);
    Object.assign(told, { status: error.code, reason: info.reason, field: info.metadata.field ?? "" });
  }
  return told;
}

const transports = {};
for await (const line of createInterface({ input: process.stdin })) {
  const step = JSON.parse(line);
  transports[step.target] ??= open(step.target);
  console.log(JSON.stringify(await answer(step, transports[step.target])));
}
for (const transport of Object.values(transports)) transport.close();
