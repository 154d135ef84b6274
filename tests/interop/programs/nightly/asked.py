"""What the nightly programs share: questions, the tool's work, two conversations at once, an exporter."""

import asyncio
import functools
import inspect
import os
import sys

IS_STREAMED = "--stream" in sys.argv
HAS_TELEMETRY = "--telemetry" in sys.argv


def weather(city):
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"


def provider():
    """OpenTelemetry as a program sets it up for any back end."""
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    return made


async def at_once(ask, questions):
    """The answers or failures: in threads, or, of a coroutine, in one loop."""
    asking = ask if inspect.iscoroutinefunction(ask) else functools.partial(asyncio.to_thread, ask)
    return await asyncio.gather(*map(asking, questions), return_exceptions=True)


def answer(ask):
    """Asks each question of the command line, all at once."""
    answers = asyncio.run(at_once(ask, [argument for argument in sys.argv[1:] if not argument.startswith("--")]))
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    for failure in failures:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
    for answer in answers:
        print(None if answer in failures else answer)
    if HAS_TELEMETRY:
        from opentelemetry import trace
        trace.get_tracer_provider().force_flush()
    sys.stdout.flush()
    os._exit(1 if failures else 0)
