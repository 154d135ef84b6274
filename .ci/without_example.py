"""Fails when a public item of a crate has no example in its documentation.

    python3 .ci/without_example.py target/doc/tracer_sdk.json

Reads rustdoc's JSON. Items are structs, enums, traits, functions, methods and macros; fields, variants, constants and
modules are shown by the examples of what uses them, and a trait's implementation by those of the trait.

`rustdoc --show-coverage` cannot do this: it passes over what a private module defines and the crate's root re-exports.
"""

import json
import sys

ITEMS = {"enum", "function", "macro", "proc_attribute", "struct", "trait", "union"}

def public_items(crate):
    """Yields the path and the rustdoc item of everything that a user can name."""
    index = crate["index"]
    seen = set()

    def below(item_id, path):
        item = index.get(str(item_id))
        if item is None or item["crate_id"] != 0 or item["visibility"] not in ("public", "default"):
            return
        (kind, inner), = item["inner"].items()
        if kind == "use":
            yield from below(inner["id"], path)
            return
        if item_id in seen:
            return
        seen.add(item_id)
        path = [*path, item["name"]]
        if kind in ITEMS:
            yield "::".join(path), item
        for child in inner.get("items", []) if isinstance(inner, dict) else []:
            yield from below(child, path)
        for implementation in inner.get("impls", []) if kind in ("enum", "struct", "union") else []:
            block = index[str(implementation)]["inner"]["impl"]
            if block["trait"] is None:
                for method in block["items"]:
                    yield from below(method, path)

    yield from below(crate["root"], [])


def main(path):
    with open(path, encoding="utf-8") as file:
        items = list(public_items(json.load(file)))
    without = [f"{name} ({item['span']['filename']})" for name, item in items if "```" not in (item["docs"] or "")]
    print(f"{len(items) - len(without)} of {len(items)} public items have an example")
    if without or not items:
        sys.exit("\n".join(f"error: {name} has no example" for name in without) or f"error: {path} has no items")


if __name__ == "__main__":
    main(sys.argv[1])
