"""Check digits: Luhn (ISO/IEC 7812-1), Verhoeff (1969), and MOD 97-10 (ISO 7064)."""

_DOUBLED = str.maketrans("0123456789", "0246813579")
# Verhoeff's scheme: products in the dihedral group of order ten, and permutations by position.
_PRODUCTS = (
    "0123456789",
    "1234067895",
    "2340178956",
    "3401289567",
    "4012395678",
    "5987604321",
    "6598710432",
    "7659821043",
    "8765932104",
    "9876543210",
)
_PERMUTATIONS = (
    "0123456789",
    "1576283094",
    "5803796142",
    "8916043527",
    "9453126870",
    "4286573901",
    "2793806415",
    "7046913258",
)


def has_luhn_digit(digits: str) -> bool:
    """Tell whether the last digit is the Luhn check digit of the others."""
    doubled = digits[-1::-2] + digits[-2::-2].translate(_DOUBLED)
    return sum(map(int, doubled)) % 10 == 0


def has_verhoeff_digit(digits: str) -> bool:
    """Tell whether the last digit is the Verhoeff check digit of the others."""
    check = "0"
    for position, digit in enumerate(reversed(digits)):
        check = _PRODUCTS[int(check)][int(_PERMUTATIONS[position % 8][int(digit)])]
    return check == "0"


def has_iban_digits(code: str) -> bool:
    """Tell whether the check digits of an IBAN are right; `code` is upper-case without spaces."""
    rearranged = code[4:] + code[:4]
    return int("".join(str(int(character, 36)) for character in rearranged)) % 97 == 1
