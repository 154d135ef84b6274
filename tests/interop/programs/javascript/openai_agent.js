// A hand-written loop around the OpenAI client, without telemetry. `--stream` takes the answers as streams.
import OpenAI from "openai";

import { getWeather } from "./weather.js";

const client = new OpenAI({ maxRetries: 0 });
const stream = process.argv.includes("--stream");
const tools = [{
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
}];
const messages = [
  { role: "system", content: "Answer about weather." },
  { role: "user", content: process.argv[2] },
];

async function ask() {
  const asked = { model: "gpt-5-mini", messages, tools };
  if (!stream) return (await client.chat.completions.create(asked)).choices[0].message;
  return client.chat.completions.stream({ ...asked, stream_options: { include_usage: true } }).finalMessage();
}

for (;;) {
  const message = await ask();
  messages.push(message);
  if (!message.tool_calls?.length) {
    console.log(message.content);
    break;
  }
  for (const call of message.tool_calls) {
    const content = getWeather(JSON.parse(call.function.arguments).city);
    messages.push({ role: "tool", tool_call_id: call.id, content });
  }
}
