"""An agent written with the Python implementation, to be gated. It answers well, or worse with the argument `worse`."""

import sys

import maida


def main():
    with maida.traced_run(name="python agent"):
        maida.record_tool_call("search", args={"query": "refund"}, result=["refunds.md"])
        if sys.argv[1:] == ["worse"]:
            maida.record_tool_call("delete_account", args={"id": 7}, result="done")
        maida.record_llm_call("gpt-5", prompt="Answer", response="On its way", provider="openai",
                              usage={"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42})


main()
