"""The tokens of a .bif file."""

from __future__ import annotations

import math
import re

from neuraltrees.errors import ParseError

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLANK = re.compile(rf"(?:\s|{COMMENT.pattern})*", re.DOTALL)
STATEMENT = re.compile(rf"(?:{COMMENT.pattern}|[^;])*", re.DOTALL)
BETWEEN = re.compile(r"\s*,\s*|\s+")
TOKEN = re.compile(r'"[^"\n]*"|[{}()\[\]|,;]|[^\s{}()\[\]|,;"]+')


class Tokens:
    """The tokens of a text without its comments; an error gives the line of the last token."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = self._last = 0

    def next(self, what: str) -> str:
        begin = self._skip()
        found = TOKEN.match(self._text, begin)
        if found is None:
            self._last = begin
            raise self.error(
                f"expected {what}, got {'an unpaired quote' if begin < len(self._text) else 'the end of the file'}"
            )
        self._last, self._at = begin, found.end()
        return found.group()

    def peek(self) -> str:
        """The next token, or an empty string at the end."""
        found = TOKEN.match(self._text, self._skip())
        return found.group() if found else ""

    def done(self) -> bool:
        return self._skip() == len(self._text)

    def expect(self, *marks: str) -> str:
        wanted = " or ".join(f"'{mark}'" for mark in marks)
        token = self.next(wanted)
        if token not in marks:
            raise self.error(f"expected {wanted}, got '{shown(token)}'")
        return token

    def name(self, what: str) -> str:
        token = self.next(what)
        if token in "{}()[]|,;":
            raise self.error(f"expected {what}, got '{token}'")
        return token.strip('"')

    def names(self, what: str, end: str) -> list[str]:
        """Names up to the token `end`; commas between them are optional."""
        found = [self.name(what)]
        while self.peek() != end:
            self.skip(",")
            found.append(self.name(what))
        self.expect(end)
        return found

    def skip(self, mark: str) -> None:
        """Skips an optional token."""
        if self.peek() == mark:
            self.next(mark)

    def numbers(self, count: int) -> list[float]:
        """`count` probabilities, separated by commas or blanks, and the semicolon after them."""
        begin = self._skip()
        end = self._text.find(";", begin)
        commented = "/" in self._text[begin:end]
        if commented:
            found = STATEMENT.match(self._text, begin)
            end = found.end() if found and found.end() < len(self._text) else -1
        self._last, self._at = begin, end + 1
        if end < 0:
            raise self.error("expected ';' after the probabilities, got the end of the file")
        listed = COMMENT.sub(" ", self._text[begin:end]) if commented else self._text[begin:end]
        try:
            values = [float(word) for word in BETWEEN.split(listed.strip())]
        except ValueError:
            values = [math.nan]
        if "_" in listed or not all(0 <= value < math.inf for value in values):
            raise self.error(f"expected {count} probabilities, got '{shown(listed)}'")
        if len(values) != count:
            raise self.error(f"expected {count} probabilities, got {len(values)}")
        return values

    def skip_statement(self) -> None:
        while self.next("';'") != ";":
            pass

    def error(self, why: str) -> ParseError:
        return ParseError(f"line {self._text.count(chr(10), 0, self._last) + 1}: {why}.")

    def _skip(self) -> int:
        found = BLANK.match(self._text, self._at)
        return found.end() if found else self._at


def shown(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 40 else f"{text[:37]}..."
