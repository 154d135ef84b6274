"""What the nightly programs share: questions, the tool's work, two conversations at once, an exporter."""

import os
import sys
import threading

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


def answer(ask):
    """Asks each question of the command line, all at once."""
    questions = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    answers = {}

    def one(question):
        try:
            answers[question] = str(ask(question))
        except Exception as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)

    threads = [threading.Thread(target=one, args=[question]) for question in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for question in questions:
        print(answers.get(question))
    if HAS_TELEMETRY:
        from opentelemetry import trace
        trace.get_tracer_provider().force_flush()
    sys.stdout.flush()
    os._exit(0 if len(answers) == len(questions) else 1)
