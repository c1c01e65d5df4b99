// What a user of OpenAI's client for Node does, but for base URL and headers. Prints what it got as JSON.
import OpenAI from "openai";

const [baseURL, channel] = process.argv.slice(2);
const headers = { "X-Backscroll-Channel": channel, "X-Backscroll-Asker": "u1" };
const client = new OpenAI({ baseURL, apiKey: "any", maxRetries: 0 });
const asked = [{ role: "user", content: "where is the key of the bicycle cellar?" }];

let streamed = "";
for await (const chunk of await client.chat.completions.create(
  { model: "m", messages: asked, stream: true }, { headers })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
}

const tools = [{ type: "function", function: { name: "clock", parameters: { type: "object", properties: {} } } }];
const loop = [{ role: "user", content: "when is dinner?" }];
const first = await client.chat.completions.create({ model: "m", messages: loop, tools }, { headers });
const calls = first.choices[0].message.tool_calls;
loop.push(first.choices[0].message, { role: "tool", tool_call_id: calls[0].id, content: "five o'clock" });
const second = await client.chat.completions.create({ model: "m", messages: loop, tools }, { headers });

const { data, response } = await client.chat.completions
  .create({ model: "m", messages: asked }, { headers: { "X-Session-Id": "never-heard" } })
  .withResponse();

let refused = 0;
try {
  await client.chat.completions.create({ model: "m", messages: asked }, { headers: { "X-Backscroll-Channel": "b64_*" } });
} catch (error) {
  refused = error instanceof OpenAI.BadRequestError ? error.status : -1;
}

console.log(JSON.stringify({
  streamed,
  call: calls[0].function.name,
  said: second.choices[0].message.content,
  untouched: [data.choices[0].message.content, response.headers.get("x-backscroll-context")],
  refused,
}));
