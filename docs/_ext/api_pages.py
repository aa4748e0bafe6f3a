"""Directives that write reference pages from the code: public names, options of a specification, and commands.

A name that is added to the `__all__` of a package appears on its page without another word.
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any
from zlib import crc32

from docutils import nodes
from formulas import formula
from page_examples import has_example, pages_with
from sphinx.application import Sphinx
from sphinx.domains.python import PyXRefRole
from sphinx.util.docutils import SphinxDirective

import neuraltrees


def stage_names(module: str) -> list[str]:
    """The dotted names that a page documents: what a package and `neuraltrees` itself list of what is defined in it."""
    found = import_module(module)
    top = [name for name in neuraltrees.__all__ if _is_of(getattr(neuraltrees, name), module)]
    own = [name for name in getattr(found, "__all__", ()) if name not in top and _is_of(getattr(found, name), module)]
    return [f"neuraltrees.{name}" for name in top] + [f"{module}.{name}" for name in own]


def _is_of(value: Any, module: str) -> bool:
    return f"{getattr(value, '__module__', '')}.".startswith(f"{module}.")


def find(dotted: str) -> Any:
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


class Public(SphinxDirective):
    """`.. public:: MODULE`: every public name of a package, with its docstring."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        lines: list[str] = []
        found = {dotted: find(dotted) for dotted in stage_names(self.arguments[0])}
        for dotted, value in sorted(found.items(), key=lambda each: inspect.isclass(each[1])):  # functions first
            if inspect.isclass(value):
                kind = "autoexception" if issubclass(value, BaseException) else "autoclass"
                lines += [f".. {kind}:: {dotted}", ""]
            elif inspect.isroutine(value):
                lines += [f".. autofunction:: {dotted}", ""]
        return self.parse_text_to_nodes("\n".join(lines))


class Options(SphinxDirective):
    """`.. options:: MODULE:CLASS`: the fields of a specification, with their defaults and their lines of help."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        rows = [
            [f"``{each.name}``", f"``{each.default!r}``", _plain(each.metadata["help"])]
            for each in fields(getattr(import_module(module), name))
        ]
        return self.parse_text_to_nodes(_table(["option", "default", "meaning"], rows))


class Commands(SphinxDirective):
    """`.. commands::`: a section per command of the command line, with its help, its options and its examples."""

    def run(self) -> list[nodes.Node]:
        import typer.main

        from neuraltrees.cli import COMMANDS, app

        click: Any = typer.main.get_command(app)
        lines: list[str] = []
        for name in COMMANDS:
            command = click.commands[name]
            title = f"neuraltrees {name}"
            lines += [title, "-" * len(title), ""]
            for paragraph in (command.help or "").replace("\\[", "[").split("\n\n"):
                before, colon, example = paragraph.partition(": neuraltrees ")
                if colon and len(before) < 12:
                    lines += [".. code-block:: console", "", f"   $ neuraltrees {example}", ""]
                else:
                    lines += [_plain(paragraph), ""]
            rows = [
                [f"``{_flags(each)}``", _plain(_help_of(each))]
                for each in command.params
                if not getattr(each, "hidden", False)
            ]
            lines += [_table(["option", "meaning"], rows), ""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def _flags(param: Any) -> str:
    if not param.opts[0].startswith("-"):
        return str(param.metavar or param.name.upper())
    return ", ".join([*param.opts, *param.secondary_opts])


def _help_of(param: Any) -> str:
    text = getattr(param, "help", None) or ""
    shown = getattr(param, "show_default", False) and not getattr(param, "is_flag", False)
    default = (
        f" Default: {param.default}." if shown and param.default is not None and param.opts[0].startswith("-") else ""
    )
    return f"{text}{default}"


def _plain(text: str) -> str:
    """Text in which nothing is markup but the code between backticks."""
    parts = " ".join(text.split()).split("`")
    escaped = ["".join(f"\\{letter}" if letter in "*_|\\" else letter for letter in part) for part in parts]
    return "".join(f"``{parts[n]}``" if n % 2 else each for n, each in enumerate(escaped))


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [".. list-table::", "   :header-rows: 1", "   :class: reference", ""]
    for row in [header, *rows]:
        lines += [f"   {'* -' if place == 0 else '  -'} {cell}" for place, cell in enumerate(row)]
    return "\n".join(lines)


def _visit_math(self: Any, node: nodes.Element) -> None:
    self.body.append(f'<span class="formula">{formula(node.astext())}</span>')
    raise nodes.SkipNode


def name_role(role: str, rawtext: str, text: str, *rest: Any, **options: Any) -> Any:
    """What stands between single backticks in a docstring: a link where it is a public name, else code."""
    if text in neuraltrees.__all__:
        return PyXRefRole()("py:obj", rawtext, f"~neuraltrees.{text}", *rest, **options)
    return [nodes.literal(rawtext, text)], []


def link_examples(app: Sphinx, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """A public name without an example of its own gets links to the pages that have one."""
    if what not in ("class", "exception", "function") or has_example(value):
        return
    pages = [f":doc:`/{page}`" for page in pages_with(name.rpartition(".")[2])][:2]
    if pages:
        lines += ["", f"Example: {', '.join(pages)}.", ""]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_role("name", name_role)
    app.connect("autodoc-process-docstring", link_examples)
    app.add_directive("public", Public)
    app.add_directive("options", Options)
    app.add_directive("commands", Commands)
    app.add_html_math_renderer("text", (_visit_math, None), (_visit_math, None))
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {"env_version": crc32(code), "parallel_read_safe": True, "parallel_write_safe": True}  # new code, new pages
