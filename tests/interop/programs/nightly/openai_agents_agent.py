import asyncio

from agents import Agent, Runner, function_tool

import asked

if asked.HAS_TELEMETRY:
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
    OpenAIAgentsInstrumentor().instrument(tracer_provider=asked.provider())


@function_tool(failure_error_function=None)
def get_weather(city: str) -> str:
    """The weather of a city."""
    return asked.weather(city)


async def ask(question):
    agent = Agent(name="weather", instructions="Answer about weather.", model="gpt-5-mini", tools=[get_weather])
    if "Hand over" in question:
        agent = Agent(name="triage", instructions="Find who answers.", model="gpt-5-mini", handoffs=[agent])
    if not asked.IS_STREAMED:
        return (await Runner.run(agent, question)).final_output
    run = Runner.run_streamed(agent, question)
    async for _ in run.stream_events():
        pass
    return run.final_output

asked.answer(lambda question: asyncio.run(ask(question)))
