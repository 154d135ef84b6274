"""The tool of the programs on plain clients."""


def get_weather(city: str) -> str:
    """The weather of a city."""
    if city == "Rome":
        raise RuntimeError("the weather service is down")
    return f"{city}: 7 C"
