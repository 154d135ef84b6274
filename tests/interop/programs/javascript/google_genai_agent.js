// A hand-written loop around Google's client of Gemini, without telemetry. `--stream` takes the answers as streams.
import { GoogleGenAI, Type } from "@google/genai";

import { getWeather } from "./weather.js";

const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const stream = process.argv.includes("--stream");
const declaration = {
  name: "get_weather",
  description: "The weather of a city.",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
};
const config = { systemInstruction: "Answer about weather.", tools: [{ functionDeclarations: [declaration] }] };
const contents = [{ role: "user", parts: [{ text: process.argv[2] }] }];

async function ask() {
  const asked = { model: "gemini-3-flash", contents, config };
  if (!stream) return (await client.models.generateContent(asked)).candidates[0].content.parts;
  const parts = [];
  for await (const chunk of await client.models.generateContentStream(asked)) parts.push(...chunk.candidates[0].content.parts);
  return parts;
}

for (;;) {
  const parts = await ask();
  contents.push({ role: "model", parts });
  const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  if (!calls.length) {
    console.log(parts.map((part) => part.text ?? "").join(""));
    break;
  }
  const results = calls.map((call) => ({
    functionResponse: { id: call.id, name: call.name, response: { result: getWeather(call.args.city) } },
  }));
  contents.push({ role: "user", parts: results });
}
