"""Names in the spelling of the API."""


def camel_case(name: str) -> str:
    """Return a Python name in camelCase."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
