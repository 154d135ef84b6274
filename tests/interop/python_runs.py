"""Write runs with the Python implementation of the format: every recorder, an exception, guardrails, a loop, threads.

The data directory is that of the environment, `MAIDA_DATA_DIR`. What happens in a run is told by its name.
"""

import contextlib
import contextvars
import threading

import maida


def every_recorder():
    maida.record_llm_call("gpt-5", prompt="Where is my order?", response="On its way", provider="openai", temperature=0.5,
                          usage={"prompt_tokens": 12, "completion_tokens": 30, "total_tokens": 42}, stop_reason="stop",
                          meta={"team": "support", "try": 1})
    maida.record_llm_call("claude", prompt=[{"role": "user", "content": "Hi"}], response={"text": "Hello", "n": [1, 2]})
    maida.record_llm_call("local", prompt='{"looks": "like JSON"}', response=None, usage={"prompt_tokens": 3})
    maida.record_llm_call("failing", prompt="x", status="error", error=TimeoutError("no answer"))
    maida.record_tool_call("search", args={"query": "refunds", "limit": 3}, result=["a.md", "b.md"], meta={"cached": True})
    maida.record_tool_call("text", args="plain words", result="plain answer")
    maida.record_tool_call("nothing")
    maida.record_tool_call("number", args=7, result=None)
    maida.record_tool_call("broken", args={}, status="error", error="it broke")
    maida.record_tool_call("secret", args={"api_key": "sk-0123456789abcdef0123456789", "city": "Graz"}, result="ü" * 30_000)
    maida.record_state(state={"step": 1, "open": ["a"]}, diff={"step": [0, 1]})
    maida.record_state(state="a text")


@maida.trace("python: every recorder")
def recorders():
    every_recorder()


@maida.trace(name="python: an exception")
def exception():
    maida.record_tool_call("search", args={"query": "x"})
    raise ValueError("cannot go on")


def too_many_tool_calls():
    with maida.traced_run(name="python: too many tool calls", max_tool_calls=2):
        for number in range(5):
            maida.record_tool_call("search", args={"page": number})


def too_many_events():
    with maida.traced_run(name="python: too many events", max_events=3):
        every_recorder()


def loop():
    with maida.traced_run(name="python: a loop"):
        for _ in range(4):
            maida.record_tool_call("search", args={"query": "same"}, result=[])


def cycle_that_is_stopped():
    with maida.traced_run(name="python: a cycle that is stopped", stop_on_loop=True):
        for _ in range(5):
            maida.record_llm_call("gpt-5", prompt="and now?")
            maida.record_tool_call("look", args={"where": "here"})


def threads():
    with maida.traced_run(name="python: threads"):
        def work(number):
            for step in range(3):
                maida.record_tool_call(f"worker {number}", args={"step": step})

        contexts = [contextvars.copy_context() for _ in range(4)]
        workers = [threading.Thread(target=context.run, args=(work, number)) for number, context in enumerate(contexts)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()


def nested():
    with maida.traced_run(name="python: a run within a run"):
        maida.record_tool_call("outer")
        recorders()


def nothing():
    with maida.traced_run(name="python: nothing recorded"):
        pass


def main():
    for write in (recorders, nested, nothing, threads, loop):
        write()
    for stopped in (exception, too_many_tool_calls, too_many_events, cycle_that_is_stopped):
        with contextlib.suppress(ValueError, maida.GuardrailExceeded, maida.LoopAbort):
            stopped()


if __name__ == "__main__":
    main()
