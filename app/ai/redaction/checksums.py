"""Check digits: Luhn (ISO/IEC 7812-1), Verhoeff (1969), and MOD 97-10 (ISO 7064)."""

_DOUBLED = str.maketrans("0123456789", "0246813579")
# The dihedral group of order ten, and the permutation of Verhoeff's scheme.
_PRODUCTS = tuple(
    tuple(
        (a + b) % 5
        if a < 5 and b < 5
        else 5 + (a + b) % 5
        if a < 5
        else 5 + (a - 5 - b) % 5
        if b < 5
        else (a - b) % 5
        for b in range(10)
    )
    for a in range(10)
)
_STEP = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)


def luhn(digits: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    counted = digits[-1::-2] + digits[-2::-2].translate(_DOUBLED)
    return sum(map(int, counted)) % 10 == 0


def verhoeff(digits: str) -> bool:
    """Whether the last digit is the check digit of the others."""
    check = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit)
        for _ in range(place % 8):
            value = _STEP[value]
        check = _PRODUCTS[check][value]
    return check == 0


def mod97(code: str) -> bool:
    """Whether an IBAN, upper-case and without spaces, has its check digits."""
    moved = code[4:] + code[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1
