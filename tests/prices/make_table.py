"""Makes the price table that the SDK embeds, and costs to test it with, from the public package genai-prices.

    python3 tests/prices/make_table.py           writes tracer-sdk/src/prices/table.jsonl and tests/data/prices/costs.jsonl
    python3 tests/prices/make_table.py --check   fails when one of them is not what this would write

The package at the version of requirements.txt must be installed. The first line of the table names the package, its
version and the day on which the table was made; then each provider is a line, followed by a line for each of its models.
`tracer-sdk/src/prices/table.rs` reads it and describes the clauses.
"""

import datetime
import json
import pathlib
import re
import sys
from decimal import Decimal
from re import _constants as sre
from re import _parser as parser

import genai_prices
from genai_prices import Usage, calc_price
from genai_prices.data import providers
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ConditionalPrice,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tracer-sdk/src/prices/table.jsonl"
COSTS = ROOT / "tests/data/prices/costs.jsonl"

# The prices that a record can be charged with: those of tokens, of a request, of a search. What else a model has (pages,
# pixels, hours) is not in a record's usage.
RATES = {
    "input_mtok": "input",
    "output_mtok": "output",
    "cache_read_mtok": "cache_read",
    "cache_write_mtok": "cache_write",
    "output_reasoning_mtok": "reasoning",
    "requests_kcount": "requests",
}
MEDIA = {
    f"{direction}_{medium}_mtok": f"{direction}_{medium}"
    for direction in ("input", "output")
    for medium in ("audio", "image", "video")
}
# What few models have, and few calls.
OTHERS = {
    "cache_write_1h_mtok": "cache_write_1h",
    "cache_audio_read_mtok": "cache_read_audio",
    "web_searches_kcount": "web_searches",
}


def compact(value):
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    # The texts are read without a copy.
    assert "\\" not in text, text
    return text


# ---- clauses


def is_plain(text):
    return bool(text) and "#" not in text


def fixed(operator, text):
    assert is_plain(text), text
    return operator + text.lower()


def any_of(clauses):
    flat = []
    for clause in clauses:
        flat.extend(clause if isinstance(clause, list) else [clause])
    return flat[0] if len(flat) == 1 else flat


def alternatives(pattern):
    """The texts that a part of a regular expression stands for, with # for a digit; a part that has others is refused."""
    texts = [""]
    for kind, value in pattern:
        if kind is sre.LITERAL:
            assert chr(value) != "#"
            new = [chr(value)]
        elif kind is sre.IN and value == [(sre.CATEGORY, sre.CATEGORY_DIGIT)]:
            new = ["#"]
        elif kind is sre.IN and all(item is sre.LITERAL for item, _ in value):
            new = [chr(code) for _, code in value]
        elif kind is sre.MAX_REPEAT:
            low, high, repeated = value
            once = alternatives(repeated)
            assert (low, high) == (0, 1) or (low == high and len(once) == 1), value
            new = ["", *once] if low == 0 else [once[0] * low]
        elif kind is sre.SUBPATTERN:
            new = alternatives(value[3])
        elif kind is sre.BRANCH:
            new = [text for branch in value[1] for text in alternatives(branch)]
        else:
            raise ValueError(f"{kind} {value}")
        texts = [text + more for text in texts for more in new]
    return texts


# Expressions that look ahead, each said in other clauses. A name holds no line break, and is in lower case.
SAID_OTHERWISE = {
    r"^(?!.*-[tT][tT][sS](?:$|-))": {"not": ["$-tts", "~-tts-"]},
}


def regex(expression):
    if expression in SAID_OTHERWISE:
        return SAID_OTHERWISE[expression]
    # No slash behind a first character, which none of the names that follow begins with.
    no_slash = "^(?![^/]+/)"
    if expression.startswith(no_slash):
        rest = regex("^" + expression.removeprefix(no_slash))
        starts = rest if isinstance(rest, list) else [rest]
        assert all(clause[0] in "^%" and clause[1] != "/" for clause in starts)
        return {"all": [{"not": ["~/"]}, any_of([rest])]}
    parts = list(parser.parse(expression))
    assert parts[0] == (sre.AT, sre.AT_BEGINNING), expression
    whole = parts[-1] == (sre.AT, sre.AT_END)
    texts = alternatives(parts[1:-1] if whole else parts[1:])
    assert all(text == text.lower() and text for text in texts), expression
    digits = "#" if whole else "%"
    plain = "=" if whole else "^"
    return any_of([(digits if "#" in text else plain) + text for text in texts])


def clause(match):
    match match:
        case ClauseEquals(equals=text):
            return fixed("=", text)
        case ClauseStartsWith(starts_with=text):
            return fixed("^", text)
        case ClauseEndsWith(ends_with=text):
            return fixed("$", text)
        case ClauseContains(contains=text):
            return fixed("~", text)
        case ClauseRegex(regex=expression):
            return regex(expression)
        case ClauseOr(or_=clauses):
            return any_of([clause(inner) for inner in clauses])
        case ClauseAnd(and_=clauses):
            return {"all": [clause(inner) for inner in clauses]}
    raise ValueError(match)


# ---- prices


def decimal(number):
    assert number.is_finite() and number >= 0
    text = format(number, "f")
    assert len(text.partition(".")[2]) <= 18, text
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(price):
    if isinstance(price, TieredPrices):
        tiers = [[tier.start, decimal(tier.price)] for tier in price.tiers]
        return [decimal(price.base), *tiers]
    return decimal(price)


def rates(prices):
    given = {key: value for key, value in prices.__dict__.items() if value is not None}
    known = RATES | MEDIA | OTHERS
    return {known[key]: rate(given[key]) for key in known if key in given}


def conditional(model):
    return model.prices if isinstance(model.prices, list) else [ConditionalPrice(prices=model.prices)]


def period(price):
    value = rates(price.prices)
    match price.constraint:
        case StartDateConstraint(start_date=date):
            value["from"] = date.isoformat()
        case TimeOfDateConstraint(start_time=start, end_time=end):
            for time in (start, end):
                assert time.second == 0 and time.tzinfo in (None, datetime.timezone.utc)
            value["hours"] = [start.strftime("%H:%M"), end.strftime("%H:%M")]
        case None:
            pass
        case _:
            raise ValueError(price.constraint)
    return value


def made_on():
    """The day that the table says; a new one where the package is another."""
    if TABLE.exists():
        head = json.loads(TABLE.read_text(encoding="utf-8").splitlines()[0])
        if head["version"] == genai_prices.__version__:
            return head["made"]
    return datetime.date.today().isoformat()


def table():
    yield {"package": "genai-prices", "version": genai_prices.__version__, "made": made_on()}
    for provider in providers:
        line = {"provider": provider.id}
        if provider.provider_match:
            line["called"] = clause(provider.provider_match)
        if provider.model_match:
            line["models"] = clause(provider.model_match)
        if provider.fallback_model_providers:
            line["fallback"] = provider.fallback_model_providers
        yield line
        for model in provider.models:
            yield {"model": model.id, "is": clause(model.match), "prices": [period(one) for one in conditional(model)]}


# ---- costs

# The twenty most used models of four providers.
MODELS = {
    "openai": ["gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-5", "gpt-5-mini", "gpt-5.2", "gpt-5.5", "o3", "o4-mini"],
    "anthropic": ["claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-5", "claude-3-5-sonnet-20241022"],
    "google": ["gemini-2.5-pro", "gemini-2.5-flash", "gemini-3.8-flash"],
    "deepseek": ["deepseek-chat", "deepseek-reasoner"],
}
# input, output, read from the cache, written to the cache, reasoning; None where a provider does not say.
USAGES = [
    (1_000, 500, None, None, None),
    (0, 0, None, None, None),
    (1, 1, 0, 0, 0),
    (12_345, 678, 10_000, None, None),
    (12_345, 678, 10_000, 2_000, 600),
    (128_000, 4_096, 64_000, 32_000, 4_096),
    (200_000, 10, 0, 0, 0),
    (200_001, 10, 0, 0, 0),
    (272_001, 9_999, 272_001, 0, 9_999),
    (1_000_000, 65_536, 900_000, 99_999, 1),
    (9_007_199_254_740_991, 9_007_199_254_740_991, 1, 1, 1),
]
# Contradictory: more is cached, or reasoned, than there is.
IMPOSSIBLE = [(10, 10, 8, 3, None), (10, 10, None, None, 11), (10, 10, 11, None, None)]
TIMES = ["2025-01-15T12:00:00Z", "2025-08-05T03:00:00Z", "2026-06-30T00:29:59Z", "2026-11-23T08:30:00Z", "2027-01-01T00:00:00Z"]
DEFAULT_TIME = "2026-11-23T12:00:00Z"


def has_rates(prices, usage):
    """Whether the package knows what these tokens cost: where it has no price it adds nothing."""
    given = rates(prices)
    if not given.keys() & {"input", "output", "requests"}:
        return False
    return ("input" in given or usage[0] == 0) and ("output" in given or usage[1] == 0)


def cost(provider, name, time, usage):
    keys = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "output_reasoning_tokens")
    reported = {key: count for key, count in zip(keys, usage) if count is not None}
    at = datetime.datetime.fromisoformat(time)
    try:
        found, model = get_snapshot().find_provider_model(name, None, provider, None)
    except LookupError:
        return "unknown"
    if not has_rates(model.get_prices(at), usage):
        return "unpriced"
    # A share that is larger than its whole matters to the package only where it is priced apart.
    whole, output, read, written, reasoning = (count or 0 for count in usage)
    if read + written > whole or reasoning > output:
        return "contradictory"
    price = calc_price(Usage(**reported), name, provider_id=provider, genai_request_timestamp=at)
    text = format(price.total_price, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


# Counts of what few models charge apart, among those of a usage; what each is called in the package, and in a usage.
OTHER_COUNTS = {
    "cache_write_1h_tokens": (3_000, "cache_write_1h_tokens"),
    "input_audio_tokens": (4_000, "input_audio_tokens"),
    "cache_audio_read_tokens": (500, "cache_read_audio_tokens"),
    "output_audio_tokens": (700, "output_audio_tokens"),
    "web_searches": (3, "web_searches"),
}
OTHER_PRICES = ("cache_write_1h", "input_audio", "cache_read_audio", "output_audio", "web_searches")


def other_costs():
    """Each model that has such a price, by calls that are charged for all of these."""
    for provider in providers:
        for model in provider.models:
            for one in conditional(model):
                given = rates(one.prices)
                shares = [(key, counts) for price, (key, counts) in zip(OTHER_PRICES, OTHER_COUNTS.items()) if price in given]
                if not shares or "input" not in given or "output" not in given:
                    continue
                usage = {"input_tokens": 20_000, "output_tokens": 900, "cache_read_tokens": 1_000, "cache_write_tokens": 5_000}
                usage |= {key: count for key, (count, _) in shares}
                try:
                    at = datetime.datetime.fromisoformat(DEFAULT_TIME)
                    price = calc_price(Usage(**usage), model.id, provider_id=provider.id, genai_request_timestamp=at)
                except LookupError:
                    continue
                text = format(price.total_price, "f")
                others = {name: count for _, (count, name) in shares}
                yield [provider.id, model.id, DEFAULT_TIME, 20_000, 900, 1_000, 5_000, None, text.rstrip("0").rstrip("."), others]
                break


def refs(match):
    """Names that the clauses of a model speak of, and their neighbours."""
    encoded = clause(match)
    for text in re.findall(r'"([=^$~#%])([^"]+)"', compact([encoded])):
        operator, name = text
        name = name.replace("#", "7")
        yield name
        if operator in "^%":
            yield name + "-20251211"
        if operator in "$~":
            yield "x-" + name


def costs():
    for provider, models in MODELS.items():
        for model in models:
            found, _ = get_snapshot().find_provider_model(model, None, provider, None)
            assert found.id == provider
            for time in TIMES:
                for usage in USAGES:
                    yield provider, model, time, usage
            for usage in IMPOSSIBLE:
                yield provider, model, DEFAULT_TIME, usage
            # As other programs write it: its provider not named, in capitals, with a day.
            for other in (model.upper(), model + "-20251211", model + "-2025-12-11"):
                yield provider, other, DEFAULT_TIME, USAGES[4]
                yield None, other, DEFAULT_TIME, USAGES[4]
            yield None, model, DEFAULT_TIME, USAGES[4]
            for reseller in ("azure", "google", "aws-bedrock", "litellm", "nobody"):
                yield reseller, model, DEFAULT_TIME, USAGES[4]
    # Every model, by each name that its clauses have.
    for provider in providers:
        for model in provider.models:
            for name in dict.fromkeys([model.id, *refs(model.match)]):
                yield provider.id, name, DEFAULT_TIME, USAGES[5]
    # The names of one provider as another's, or as nobody's.
    for number, provider in enumerate(providers):
        for other, model in enumerate(provider.models):
            if other % 7 == 0:
                yield None, model.id, DEFAULT_TIME, USAGES[0]
                yield providers[(number + other) % len(providers)].id, model.id, DEFAULT_TIME, USAGES[0]


def cost_lines():
    for provider, model, time, usage in costs():
        # How `provider/model` is read where no provider is named is ours.
        if provider in (None, "litellm") and "/" in model:
            continue
        yield [provider, model, time, *usage, cost(provider, model, time, usage)]
    yield from other_costs()


def main():
    outdated = []
    for path, lines in ((TABLE, table()), (COSTS, cost_lines())):
        text = "".join(compact(line) + "\n" for line in lines)
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            outdated.append(str(path.relative_to(ROOT)))
    if outdated:
        sys.exit(f"not what genai-prices {genai_prices.__version__} gives: {', '.join(outdated)}; run tests/prices/make_table.py")


main()
