#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/error.hpp"
#include "neuraltrees/pace.hpp"

using namespace neuraltrees;

TEST(a_graph_file_is_read) {
    const Graph g = parse_gr("c a triangle with a tail\np tw 4 4\n1 2\n2 3\nc in between\n3 1\n3 4\n");
    CHECK_EQ(g.view().num_nodes(), 4);
    CHECK_EQ(edges_of(g), (Edges{{0, 1}, {0, 2}, {1, 2}, {2, 3}}));
    CHECK_EQ(parse_gr("p tw 0 0").view().num_nodes(), 0);
    CHECK_EQ(parse_gr("p tw 3 0\n").view().num_nodes(), 3);
}

TEST(white_space_and_line_ends_do_not_matter) {
    const Graph g = parse_gr("\r\n  p\ttw  3 2 \r\n\n\t1 2\r\n 2\t 3  \nc");
    CHECK_EQ(edges_of(g), (Edges{{0, 1}, {1, 2}}));
    CHECK_EQ(edges_of(parse_gr("p tw 2 3\n1 2\n2 1\n1 1")), (Edges{{0, 1}}));
}

TEST(a_broken_graph_file_is_named_with_its_line) {
    CHECK_THROWS(parse_gr(""), ParseError, "line 1: expected a header 'p tw NODES EDGES', got the end of the file");
    CHECK_THROWS(parse_gr("c only\n\n"), ParseError, "line 2: expected a header");
    CHECK_THROWS(parse_gr("p td 3 1\n"), ParseError, "line 1: expected 'tw', got 'td'.");
    CHECK_THROWS(parse_gr("1 2\n"), ParseError, "line 1: expected 'p', got '1'.");
    CHECK_THROWS(parse_gr("p tw\n"), ParseError, "line 1: expected the number of nodes, got the end of the line.");
    CHECK_THROWS(parse_gr("p tw x 1\n"), ParseError, "line 1: expected the number of nodes, got 'x'.");
    CHECK_THROWS(parse_gr("p tw -3 1\n"), ParseError, "line 1: expected the number of nodes between 0 and");
    CHECK_THROWS(parse_gr("p tw 3 1 7\n"), ParseError, "line 1: expected the end of the line, got '7'.");
    CHECK_THROWS(parse_gr("p tw 3 1\n1 4\n"), ParseError, "line 2: expected a node between 1 and 3, got 4.");
    CHECK_THROWS(parse_gr("p tw 3 1\n0 2\n"), ParseError, "line 2: expected a node between 1 and 3, got 0.");
    CHECK_THROWS(parse_gr("p tw 3 1\n1\n"), ParseError, "line 2: expected a node, got the end of the line.");
    CHECK_THROWS(parse_gr("p tw 3 1\n1 2 3\n"), ParseError, "line 2: expected the end of the line, got '3'.");
    CHECK_THROWS(parse_gr("p tw 3 1\n1 2.0\n"), ParseError, "line 2: expected a node, got '2.0'.");
    CHECK_THROWS(parse_gr("p tw 3 1\n\n1 2\n2 3\n"), ParseError,
                 "line 4: expected 1 edges as the header says, got more.");
    CHECK_THROWS(parse_gr("p tw 3 2\n1 2\n"), ParseError, "expected 2 edges as the header says, got 1.");
    CHECK_THROWS(parse_gr("p tw 99999999999999999999 2\n"), ParseError,
                 "line 1: expected the number of nodes, got '9999");
    CHECK_THROWS(parse_gr("p tw 2147483648 0\n"), ParseError, "line 1: expected the number of nodes between 0 and");
    CHECK_THROWS(parse_gr("p tw 0 1\n1 1\n"), ParseError, "line 2");
    CHECK_THROWS(parse_gr(std::string_view("p tw 3\0 1", 9)), ParseError, "got '3?'");
}

TEST(a_decomposition_file_is_read) {
    const auto [td, nodes] =
        parse_td("c the paper's figure\ns td 3 3 5\nb 2 2 3 4\nb 1 3 2 1\n1 2\nb 3 3 4 5 4\n2 3\n");
    CHECK_EQ(nodes, 5);
    CHECK_EQ(bags_of(td), (Bags{{0, 1, 2}, {1, 2, 3}, {2, 3, 4}}));
    CHECK_EQ(td.edges, (std::vector<std::array<Vertex, 2>>{{0, 1}, {1, 2}}));
    CHECK_EQ(bags_of(parse_td("s td 1 0 0\nb 1").decomposition), (Bags{{}}));
    CHECK_EQ(parse_td("s td 0 0 0").decomposition.view().num_bags(), 0);
}

TEST(a_broken_decomposition_file_is_named_with_its_line) {
    CHECK_THROWS(parse_td(""), ParseError,
                 "line 1: expected a header 's td BAGS MAXBAG NODES', got the end of the file");
    CHECK_THROWS(parse_td("p tw 1 1\n"), ParseError, "line 1: expected 's', got 'p'.");
    CHECK_THROWS(parse_td("s td 1 1\n"), ParseError, "line 1: expected the number of nodes, got the end of the line.");
    CHECK_THROWS(parse_td("s td 1 1 1 1\n"), ParseError, "line 1: expected the end of the line, got '1'.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 2 1\n"), ParseError,
                 "line 2: expected the number of a bag between 1 and 1, got 2.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb\n"), ParseError,
                 "line 2: expected the number of a bag, got the end of the line.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 4\n"), ParseError, "line 2: expected a node between 1 and 3, got 4.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 0\n"), ParseError, "line 2: expected a node between 1 and 3, got 0.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 x\n"), ParseError, "line 2: expected a node, got 'x'.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 2 3\n"), ParseError, "line 2: expected bags of at most 2 nodes");
    CHECK_THROWS(parse_td("s td 2 2 3\nb 1 1 2\n"), ParseError, "expected 2 bags as the header says, got 1.");
    CHECK_THROWS(parse_td("s td 2 2 3\nb 1 1 2\nb 1 3\n1 2\n"), ParseError, "line 3: bag 1 is given twice.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 2\nb 1 3\n"), ParseError,
                 "line 3: expected 1 bags as the header says, got more.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 2\n1 2\n"), ParseError, "line 3: expected a bag between 1 and 1, got 2.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 2\n1\n"), ParseError, "line 3: expected a bag, got the end of the line.");
    CHECK_THROWS(parse_td("s td 1 2 3\nb 1 1 2\nx 1\n"), ParseError, "line 3: expected a bag, got 'x'.");
    CHECK_THROWS(parse_td("s td 1073741824 3 3\nb 1 1 2\n"), ParseError,
                 "expected 1073741824 bags as the header says, got 1.");
}

TEST(files_have_the_limit_of_graphs) {
    // The header is within the limit, and the file ends before a graph of that size is made.
    CHECK_THROWS(parse_gr("p tw 2147483646 1\n"), ParseError, "expected 1 edges as the header says, got 0.");
    CHECK_THROWS(parse_gr("p tw 2147483647 1\n"), ParseError,
                 "line 1: expected the number of nodes between 0 and 2147483646, got 2147483647; split the graph");
    const auto [td, nodes] = parse_td("s td 1 1 2147483646\nb 1 2147483646\n");
    CHECK_EQ(nodes, max_graph_nodes);
    CHECK_EQ(bags_of(td), (Bags{{2147483645}}));
    CHECK_THROWS(parse_td("s td 2147483646 1 1\n"), ParseError, "expected 2147483646 bags as the header says, got 0.");
    for (const char* header : {"s td 2147483647 1 1\n", "s td 1 2147483647 1\n", "s td 1 1 2147483647\n"})
        CHECK_THROWS(parse_td(header), ParseError, "between 0 and 2147483646, got 2147483647; split the graph");
}

TEST(a_strange_word_is_shortened_and_kept_printable) {
    CHECK_THROWS(parse_gr("p tw \x01\xff 1\n"), ParseError, std::string("got '") + "??" + "'.");
    CHECK_THROWS(parse_gr("p " + std::string(50, 'x')), ParseError, "got '" + std::string(20, 'x') + "...'.");
}

TEST(what_is_written_is_read_again) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Graph g = random_graph(1 + static_cast<int>(seed % 12), 0.3, seed);
        const Edges edges = edges_of(g);
        std::string gr = "p tw " + std::to_string(g.view().num_nodes()) + " " + std::to_string(edges.size()) + "\n";
        for (auto [u, v] : edges) gr += std::to_string(v + 1) + " " + std::to_string(u + 1) + "\n";
        CHECK_EQ(edges_of(parse_gr(gr)), edges);
        const TreeDecomposition td = messy_decomposition(g, seed);
        std::string text = "s td " + std::to_string(td.view().num_bags()) + " " + std::to_string(td.width() + 1) + " " +
                           std::to_string(g.view().num_nodes()) + "\n";
        for (auto [a, b] : td.edges) text += std::to_string(a + 1) + " " + std::to_string(b + 1) + "\n";
        for (std::int64_t b = td.view().num_bags(); b-- > 0;) {
            text += "b " + std::to_string(b + 1);
            for (Vertex v : td.view().bag(b)) text += " " + std::to_string(v + 1);
            text += "\n";
        }
        const auto [read, nodes] = parse_td(text);
        CHECK_EQ(nodes, g.view().num_nodes());
        CHECK_EQ(bags_of(read), bags_of(td));
        CHECK_EQ(read.edges, td.edges);
    }
}
