"""A hand-written loop around Google's client of Gemini, without telemetry. `--stream` takes the answers as streams."""

import sys

from google import genai
from google.genai import types
from weather import get_weather

client = genai.Client()
DECLARATION = types.FunctionDeclaration(
    name="get_weather", description="The weather of a city.",
    parameters=types.Schema(type="OBJECT", properties={"city": types.Schema(type="STRING")}, required=["city"]))
CONFIG = types.GenerateContentConfig(
    system_instruction="Answer about weather.", tools=[types.Tool(function_declarations=[DECLARATION])],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True))


def ask(contents, stream):
    """One model call: the parts of the answer."""
    asked = {"model": "gemini-3-flash", "contents": contents, "config": CONFIG}
    if not stream:
        return client.models.generate_content(**asked).candidates[0].content.parts
    return [part for chunk in client.models.generate_content_stream(**asked) for part in chunk.candidates[0].content.parts]


def main():
    contents = [types.Content(role="user", parts=[types.Part(text=sys.argv[1])])]
    while True:
        parts = ask(contents, "--stream" in sys.argv)
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return print("".join(part.text for part in parts if part.text))
        results = [types.Part(function_response=types.FunctionResponse(
            id=call.id, name=call.name, response={"result": get_weather(**call.args)})) for call in calls]
        contents.append(types.Content(role="user", parts=results))


main()
