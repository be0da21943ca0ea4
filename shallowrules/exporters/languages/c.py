"""C: a header with a struct for a row and a function."""

from __future__ import annotations

from shallowrules.exporters.languages.exporter import LanguageExporter
from shallowrules.exporters.languages.language import Kind, Language, double, quoted
from shallowrules.exporters.python.inputs import snake_case
from shallowrules.rules import INT64

__all__ = ["C", "CExporter"]

TAKEN = """
alignas alignof asm auto bool break case char const constexpr continue default do double else enum extern false
float for goto if inline int long nullptr register restrict return short signed sizeof static static_assert struct
switch thread_local true typedef typeof typeof_unqual union unsigned void volatile while
and and_eq bitand bitor catch char8_t char16_t char32_t class compl concept consteval constinit const_cast
co_await co_return co_yield decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not
not_eq operator or or_eq private protected public reinterpret_cast requires static_cast template this throw try
typeid typename using virtual wchar_t xor xor_eq
assert errno i386 isfinite isinf isnan linux main offsetof row signbit stderr stdin stdout unix
none size strcmp strlen memcmp size_t int64_t
FLT_EVAL_METHOD INT64_C INT64_MIN NAN NULL
"""
"""Keywords of C and C++, macros, and names that the header uses."""

FUNCTIONS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax
fmin fmod fpclassify frexp hypot ilogb isgreater isgreaterequal isless islessequal islessgreater isnormal isunordered
j0 j1 jn ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround modf nearbyint nextafter nexttoward pow
remainder remquo rint round scalbln scalbn sin sinh sqrt tan tanh tgamma trunc y0 y1 yn gamma drem significand scalb
memchr memcpy memmove memset strcat strchr strcoll strcpy strcspn strerror strncat strncmp strncpy strpbrk strrchr
strspn strstr strtok strxfrm memccpy stpcpy stpncpy strdup strndup strnlen strsep strsignal strcasecmp strncasecmp
bcmp bcopy bzero ffs index rindex
ptrdiff_t max_align_t int8_t int16_t int32_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t intmax_t uintmax_t
float_t double_t DBL_MAX DBL_MIN FLT_MAX FLT_MIN HUGE_VAL INFINITY INT64_MAX
"""
"""What the headers that it includes declare: a function cannot have these names, a field can."""


def _whole(value: int, is_long: bool = True) -> str:
    if value == INT64[0]:
        return "INT64_MIN"
    return f"INT64_C({value})" if is_long else str(value)


def _string(text: str) -> str:
    return quoted(
        text.encode("utf-8", "surrogatepass").decode("latin-1"),
        lambda byte: f"\\{ord(byte):03o}",
        lambda byte: " " <= byte <= "~" and byte != "?",
    )


C = Language(
    title="C",
    template="language_c.h.j2",
    kinds={
        "number": Kind("double", "{x} != {x}", double, "{x} {sign} {v}"),
        "whole": Kind("const int64_t *", "{x} == NULL", _whole, "*{x} {sign} {v}"),
        "text": Kind("const char *", "{x} == NULL", _string, "", "strcmp({x}, {v}) == 0", "strcmp({x}, {v}) != 0"),
        "truth": Kind("int", "{x} < 0", lambda value: str(int(value))),
    },
    labels={"int": "int", "long": "int64_t", "text": "const char *"},
    whole=_whole,
    string=_string,
    name="assign_cluster",
    spell=snake_case,
    taken=frozenset(TAKEN.split()),
    names=frozenset(FUNCTIONS.split()),
    none="return {NAME}_NONE;",
    refused="[\0\ud800-\udfff]",
    never="0",
)


class CExporter(LanguageExporter):
    """Writes rules as a header of C with a function of a row; options: `LanguageOptions`."""

    name = "c"
    file_extension = ".h"
    media_type = "text/x-c"
    language = C
    compiled = (
        "Compile a program that includes this file: cc -std=c99 -O2 program.c\n"
        "It needs no library, and doubles as IEEE 754 has them: neither -ffast-math nor -ffinite-math-only."
    )
