"""Agents that ask for tools in the words of their prompts: the tools they want next, and how each has its model say it.

`dspy.ReAct` gets one tool a step, in fields; a code agent (smolagents' `CodeAgent`) writes Python that calls them.
"""

import re

FIELD = "[[ ## {} ## ]]\n{}\n\n"


def answer(instructions, question, results, cities):
    """The text that such a model answers with, and the calls that it asks for; `None` where tools are declared as APIs do."""
    if "[[ ## next_tool_name ## ]]" in instructions:
        return react_step(question, cities)
    if "[[ ## reasoning ## ]]" in instructions:
        return fields(reasoning="The tools said it.", answer=said(observations(question)[:len(cities)])), []
    if "<code>" in instructions:
        return code_step(results, cities)
    return None


def react_step(question, cities):
    left = cities[len(observations(question)):]
    name, arguments = ("get_weather", {"city": left[0]}) if left else ("finish", {})
    text = fields(next_thought="One tool after the other.", next_tool_name=name, next_tool_args=str(arguments).replace("'", '"'))
    return text, [{"name": name, "arguments": arguments}] if left else []


def code_step(results, cities):
    if results or not cities:
        return f"Thought: I know it.\n<code>\nfinal_answer({said(results)!r})\n</code>", []
    calls = [{"name": "get_weather", "arguments": {"city": city}} for city in cities]
    lines = "\n".join(f"print(get_weather(city={city!r}))" for city in cities)
    return f"Thought: I look it up.\n<code>\n{lines}\n</code>", calls


def observations(text):
    return re.findall(r"\[\[ ## observation_\d+ ## \]\]\n(.*)", text)


def said(results):
    return "It is: " + "; ".join(results)


def fields(**values):
    return "".join(FIELD.format(name, value) for name, value in values.items()) + "[[ ## completed ## ]]"
