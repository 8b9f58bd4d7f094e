/* Floating-point conversions of printf, exact to the last digit
 *
 * A double is m * 2^e with whole m. It has a finite decimal expansion, which is held in words of nine digits:
 * at most 35 words before the point and 120 behind it. Every digit that is asked for is therefore the
 * right one, and rounding to the nearest, ties to even, sees the whole rest. */
#include "format.h"

enum {
    WHOLE = 36,     /* words before the point */
    FRACTION = 121, /* words behind it */
    WORDS = WHOLE + FRACTION,
    DIGITS = 9, /* digits of a word */
};
#define BASE 1000000000u

static const uint32_t powers[DIGITS] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* A number in decimal: the word at WHOLE - 1 ends at the point. */
struct decimal {
    uint32_t words[WORDS];
};

/* The parts of a double. */
struct parts {
    uint64_t mantissa;
    int exponent; /* the value is mantissa * 2^exponent */
    int negative, infinite, invalid;
};

static struct parts parts_of(double value)
{
    union {
        double value;
        uint64_t bits;
    } as = {value};
    int exponent = (int)(as.bits >> 52 & 0x7ff);
    uint64_t mantissa = as.bits & ((1ull << 52) - 1);
    struct parts parts = {.negative = (int)(as.bits >> 63)};
    parts.infinite = exponent == 0x7ff && !mantissa;
    parts.invalid = exponent == 0x7ff && mantissa;
    parts.mantissa = exponent ? mantissa | 1ull << 52 : mantissa;
    parts.exponent = (exponent ? exponent : 1) - 1075;
    return parts;
}

static void multiply(struct decimal *number, int shift)
{
    uint64_t carry = 0;
    for (int i = WORDS - 1; i >= 0; i--) {
        carry += (uint64_t)number->words[i] << shift;
        number->words[i] = (uint32_t)(carry % BASE);
        carry /= BASE;
    }
}

/* By 2^shift, which divides BASE: nothing is lost as long as there are words behind. */
static void divide(struct decimal *number, int shift)
{
    uint32_t rest = 0;
    for (int i = 0; i < WORDS; i++) {
        uint32_t word = number->words[i];
        number->words[i] = (word >> shift) + rest;
        rest = (BASE >> shift) * (word & ((1u << shift) - 1));
    }
}

static void to_decimal(struct decimal *number, const struct parts *parts)
{
    for (int i = 0; i < WORDS; i++)
        number->words[i] = 0;
    number->words[WHOLE - 1] = (uint32_t)(parts->mantissa % BASE);
    number->words[WHOLE - 2] = (uint32_t)(parts->mantissa / BASE);
    int exponent = parts->exponent;
    for (; exponent > 0; exponent -= exponent < 29 ? exponent : 29)
        multiply(number, exponent < 29 ? exponent : 29);
    for (; exponent < 0; exponent += exponent > -DIGITS ? -exponent : DIGITS)
        divide(number, exponent > -DIGITS ? -exponent : DIGITS);
}

/* Place 0 is the units' one, 1 that of tens, -1 that of tenths: its word, and the place in that. */
static int word_at(int place, int *within)
{
    int whole = place >= 0 ? place / DIGITS : -((DIGITS - 1 - place) / DIGITS);
    *within = place - whole * DIGITS;
    return WHOLE - 1 - whole;
}

static int digit(const struct decimal *number, int64_t place)
{
    int within;
    if (place >= WHOLE * DIGITS || place < -FRACTION * DIGITS)
        return 0;
    int word = word_at((int)place, &within);
    return (int)(number->words[word] / powers[within] % 10);
}

/* The place of the first digit that is not 0; 0 for nothing. */
static int first_place(const struct decimal *number)
{
    for (int i = 0; i < WORDS; i++)
        for (int within = DIGITS - 1; number->words[i] && within >= 0; within--)
            if (number->words[i] / powers[within])
                return (WHOLE - 1 - i) * DIGITS + within;
    return 0;
}

static int rest_is_zero(const struct decimal *number, int from)
{
    for (int i = from; i < WORDS; i++)
        if (number->words[i])
            return 0;
    return 1;
}

/* Rounds to the digit at that place, to the nearest, ties to even. */
static void round_at(struct decimal *number, int64_t place)
{
    int within;
    if (place < -FRACTION * DIGITS || place >= (WHOLE - 1) * DIGITS)
        return;
    int word = word_at((int)place, &within), next = word + 1;
    uint32_t unit = powers[within], rest = number->words[word] % unit, half = unit / 2;
    if (within == 0) {
        rest = next < WORDS ? number->words[next] : 0;
        half = BASE / 2;
        next++;
    }
    int odd = (int)(number->words[word] / unit & 1);
    int up = rest > half || (rest == half && (odd || !rest_is_zero(number, next)));
    number->words[word] -= number->words[word] % unit;
    for (int i = word + 1; i < WORDS; i++)
        number->words[i] = 0;
    if (!up)
        return;
    number->words[word] += unit;
    for (; number->words[word] >= BASE && word > 0; word--) {
        number->words[word] -= BASE;
        number->words[word - 1]++;
    }
}

/* Digits behind the point that are written. */
static void put_fraction(struct sink *sink, const struct decimal *number, int64_t place, int64_t digits, int point)
{
    if (digits > 0 || point)
        put(sink, '.');
    for (; digits > 0; digits--)
        put(sink, (char)('0' + digit(number, place--)));
}

static void fixed(struct sink *sink, const struct conversion *as, const struct decimal *number, const char *sign, int64_t digits)
{
    int first = first_place(number);
    if (first < 0)
        first = 0;
    int64_t length = first + 1 + digits + (digits > 0 || as->alternate);
    begin_field(sink, as, sign, length, as->zero);
    for (int place = first; place >= 0; place--)
        put(sink, (char)('0' + digit(number, place)));
    put_fraction(sink, number, -1, digits, as->alternate);
}

/* The exponent with its sign, and as many digits as it has but at least `least`. */
static void put_exponent(struct sink *sink, char letter, int exponent, int least)
{
    put(sink, letter);
    put(sink, exponent < 0 ? '-' : '+');
    int size = exponent < 0 ? -exponent : exponent;
    for (int place = 3; place >= 0; place--)
        if (place < least || size / (int)powers[place])
            put(sink, (char)('0' + size / (int)powers[place] % 10));
}

static int exponent_length(int exponent, int least)
{
    int size = exponent < 0 ? -exponent : exponent, digits = least;
    while (digits < 4 && size / (int)powers[digits])
        digits++;
    return 2 + digits;
}

static void scientific(struct sink *sink, const struct conversion *as, const struct decimal *number, const char *sign, int64_t digits)
{
    int first = first_place(number);
    int64_t length = 1 + digits + (digits > 0 || as->alternate) + exponent_length(first, 2);
    begin_field(sink, as, sign, length, as->zero);
    put(sink, (char)('0' + digit(number, first)));
    put_fraction(sink, number, first - 1, digits, as->alternate);
    put_exponent(sink, as->letter >= 'a' ? 'e' : 'E', first, 2);
}

/* The last place of a rounded number that is not 0, at least `least`. */
static int64_t last_place(const struct decimal *number, int64_t from, int64_t least)
{
    int64_t place = from < -FRACTION * DIGITS ? -FRACTION * DIGITS : from;
    while (place < least && digit(number, place) == 0)
        place++;
    return place;
}

/* %g: the shorter of both, without zeros at its end. */
static void general(struct sink *sink, const struct conversion *as, struct decimal *number, const char *sign)
{
    int64_t precision = as->precision < 0 ? 6 : as->precision ? as->precision : 1;
    round_at(number, first_place(number) - (precision - 1));
    int first = first_place(number);
    int as_fixed = first >= -4 && first < precision;
    int64_t last = first - (precision - 1), end = as_fixed ? 0 : first;
    if (!as->alternate)
        last = last_place(number, last, end);
    int64_t digits = end > last ? end - last : 0;
    (as_fixed ? fixed : scientific)(sink, as, number, sign, digits);
}

/* %a: the mantissa in hexadecimal, one digit before the point. */
static void hexadecimal(struct sink *sink, const struct conversion *as, const struct parts *parts, char sign)
{
    uint64_t mantissa = parts->mantissa;
    int exponent = mantissa ? parts->exponent + 52 : 0;
    int small = as->letter == 'a', digits = as->precision;
    if (digits >= 0 && digits < 13) {
        uint64_t unit = 1ull << 4 * (13 - digits), rest = mantissa & (unit - 1);
        mantissa -= rest;
        if (rest > unit / 2 || (rest == unit / 2 && mantissa & unit))
            mantissa += unit;
    }
    if (digits < 0)
        for (digits = 13; digits > 0 && !(mantissa >> 4 * (13 - digits) & 15); digits--)
            ;
    char prefix[4] = {0}, *end = prefix;
    if (sign)
        *end++ = sign;
    *end++ = '0';
    *end = small ? 'x' : 'X';
    int64_t length = 1 + (int64_t)digits + (digits || as->alternate) + exponent_length(exponent, 1);
    begin_field(sink, as, prefix, length, as->zero);
    const char *letters = small ? "0123456789abcdef" : "0123456789ABCDEF";
    put(sink, letters[mantissa >> 52]);
    if (digits || as->alternate)
        put(sink, '.');
    for (int i = 1; i <= digits; i++)
        put(sink, i <= 13 ? letters[mantissa >> 4 * (13 - i) & 15] : '0');
    put_exponent(sink, small ? 'p' : 'P', exponent, 1);
}

static void not_finite(struct sink *sink, const struct conversion *as, const struct parts *parts, const char *sign)
{
    const char *small = parts->infinite ? "inf" : "nan", *capital = parts->infinite ? "INF" : "NAN";
    begin_field(sink, as, sign, 3, 0);
    for (const char *text = as->letter >= 'a' ? small : capital; *text; text++)
        put(sink, *text);
}

void format_double(struct sink *sink, const struct conversion *as, double value)
{
    struct parts parts = parts_of(value);
    char sign[2] = {sign_of(as, parts.negative), 0};
    int64_t digits = as->precision < 0 ? 6 : as->precision;
    uint64_t start = sink->count;
    struct decimal number;
    if (parts.infinite || parts.invalid) {
        not_finite(sink, as, &parts, sign);
    } else if (as->letter == 'a' || as->letter == 'A') {
        hexadecimal(sink, as, &parts, sign[0]);
    } else {
        to_decimal(&number, &parts);
        switch (as->letter) {
        case 'f':
        case 'F':
            round_at(&number, -digits);
            fixed(sink, as, &number, sign, digits);
            break;
        case 'e':
        case 'E':
            round_at(&number, first_place(&number) - digits);
            scientific(sink, as, &number, sign, digits);
            break;
        default:
            general(sink, as, &number, sign);
        }
    }
    end_field(sink, as, start);
}

/* A quad, by the halves of its bits, as the nearest double, ties to even: the compiler's own library is not there. */
double quad_to_double(uint64_t low, uint64_t high)
{
    union {
        uint64_t bits;
        double value;
    } is;
    uint64_t sign = high >> 63 << 63, fraction = high & ((1ull << 48) - 1);
    int exponent = (int)(high >> 48 & 0x7fff) - 16383 + 1023;
    uint64_t mantissa = fraction << 4 | low >> 60, rest = low << 4;
    if ((high >> 48 & 0x7fff) == 0x7fff) {
        is.bits = 0x7ffull << 52 | (uint64_t)(fraction || low) << 51;
    } else if (exponent >= 0x7ff) {
        is.bits = 0x7ffull << 52;
    } else if (exponent < -52) {
        is.bits = 0;
    } else {
        if (exponent <= 0) {
            int shift = 1 - exponent;
            mantissa |= 1ull << 52;
            rest = mantissa << (64 - shift) | (rest != 0);
            mantissa >>= shift;
            exponent = 0;
        }
        is.bits = ((uint64_t)exponent << 52) + mantissa;
        is.bits += rest > 1ull << 63 || (rest == 1ull << 63 && is.bits & 1);
    }
    is.bits |= sign;
    return is.value;
}

double rounded_to_double(long double value)
{
#if __LDBL_MANT_DIG__ == 113
    union {
        long double value;
        uint64_t words[2]; /* little-endian */
    } as = {value};
    return quad_to_double(as.words[0], as.words[1]);
#else
    return (double)value;
#endif
}
