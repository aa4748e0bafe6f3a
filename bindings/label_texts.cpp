// Labels of scenes as texts, and texts in which they replace others.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <cmath>

#include "arrays.hpp"
#include "neuraltrees/error.hpp"

using namespace bindings;

namespace {

/// Appends a number as JSON, or as Python's json module writes one that JSON does not have.
void append(std::string& text, double number) {
    if (!std::isfinite(number)) {
        text += std::isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity";
        return;
    }
    char letters[32];
    const auto end = std::to_chars(letters, letters + sizeof letters, number).ptr;
    text.append(letters, end);
}

void expect_columns(std::size_t got, std::size_t expected) {
    if (got != expected)
        throw nt::InputError("Expected " + std::to_string(expected) + " columns, one per name; got " +
                             std::to_string(got) + ".");
}

}  // namespace

void bindings::bind_label_texts(nb::module_& m) {
    m.def(
        "spliced",
        [](const nb::bytes& text, const Ids& start, const Ids& stop, const nb::list& values) {
            const std::string_view whole = text_of(text);
            const std::size_t count = start.size();
            if (stop.size() != count || values.size() != count)
                throw nt::InputError("Expected a start, a stop and a value per edit; got other numbers of them.");
            std::string found;
            std::int64_t done = 0;
            for (std::size_t i = 0; i < count; ++i) {
                if (start(i) < done || stop(i) < start(i) || static_cast<std::size_t>(stop(i)) > whole.size())
                    throw nt::InputError(
                        "Expected edits in the order of the text, none in another; got other numbers.");
                found += whole.substr(done, start(i) - done);
                found += text_of(nb::cast<nb::bytes>(values[i]));
                done = stop(i);
            }
            found += whole.substr(done);
            return nb::bytes(found.data(), found.size());
        },
        "text"_a, "start"_a.noconvert(), "stop"_a.noconvert(), "values"_a);
    m.def(
        "probability_texts",
        [](const std::vector<std::string>& names, const Doubles& rows) {
            expect_columns(rows.shape(1), names.size());
            nb::list found;
            std::string text;
            for (std::size_t i = 0; i < rows.shape(0); ++i) {
                text = "{";
                for (std::size_t c = 0; c < names.size(); ++c) {
                    if (c > 0) text += ',';
                    text += names[c];
                    text += ':';
                    append(text, rows(i, c));
                }
                text += '}';
                found.append(nb::bytes(text.data(), text.size()));
            }
            return found;
        },
        "names"_a, "rows"_a.noconvert());
    m.def(
        "label_texts",
        [](const std::vector<std::string>& heads, const std::vector<std::string>& names, const Doubles& rows,
           const Ids& chosen, const Id2& top) {
            const std::size_t count = rows.shape(0);
            expect_columns(rows.shape(1), names.size());
            if (heads.size() != count || chosen.size() != count || top.shape(0) != count)
                throw nt::InputError(
                    "Expected a head, a label and the most probable labels per row; got other numbers.");
            const auto place_of = [&](std::int64_t place) {
                if (place < 0 || static_cast<std::size_t>(place) >= names.size())
                    throw nt::InputError("Expected labels as places among the names; got other numbers.");
                return static_cast<std::size_t>(place);
            };
            std::string text;
            nb::list found;
            const auto probability = [&](std::size_t i, std::size_t place) {
                text += "\"probability\":";
                append(text, std::rint(rows(i, place) * 1e6) / 1e6);
            };
            for (std::size_t i = 0; i < count; ++i) {
                text = heads[i];
                text += ',';
                probability(i, place_of(chosen(i)));
                text += ",\"top\":[";
                for (std::size_t k = 0; k < top.shape(1); ++k) {
                    const std::size_t place = place_of(top(i, k));
                    text += k == 0 ? "{\"label\":" : ",{\"label\":";
                    text += names[place];
                    text += ',';
                    probability(i, place);
                    text += '}';
                }
                text += "]}";
                found.append(nb::str(text.data(), text.size()));
            }
            return found;
        },
        "heads"_a, "names"_a, "rows"_a.noconvert(), "chosen"_a.noconvert(), "top"_a.noconvert());
}
