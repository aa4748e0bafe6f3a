#include <algorithm>

#include "neuraltrees/canonical.hpp"
#include "split_components.hpp"

namespace neuraltrees {
namespace {

/// Writes the SPQR trees of blocks one after another.
class SpqrWriter {
public:
    SpqrWriter(SpqrTrees& out, const BlockSearch& search) : out_(out), search_(search) {}

    void add(std::span<const Arc> arcs, Watch& watch) {
        const auto m = static_cast<std::int64_t>(arcs.size());
        Vertex n = 1;
        for (const auto& [from, to] : arcs) n += to > from;
        if (m == 1) {
            edge(arcs[0][0], arcs[0][1]);
            close(BagKind::bridge);
        } else if (m == n) {
            // A path of tree arcs and the frond back to its beginning.
            for (const auto& [from, to] : arcs) edge(from, to);
            close(BagKind::cycle);
        } else {
            palm_.build(arcs, search_, watch);
            split_.run(palm_, watch);
            merge();
            write(watch);
        }
        ++block_;
    }

private:
    using Kind = SplitComponents::Kind;

    void edge(Vertex from, Vertex to) {
        out_.edges.push_back({search_.vertex(from), search_.vertex(to)});
        out_.partner.push_back(-1);
    }
    void close(BagKind kind) {
        out_.kind.push_back(static_cast<std::int8_t>(kind));
        out_.block.push_back(block_);
        out_.ptr.push_back(static_cast<std::int64_t>(out_.edges.size()));
    }
    Vertex find(Vertex c) {
        while (leader_[c] != c) c = leader_[c] = leader_[leader_[c]];
        return c;
    }

    /// Joins bonds that share a virtual edge, and polygons that do; that edge is then inside and vanishes.
    void merge() {
        const Vertex components = split_.count();
        leader_.resize(components);
        for (Vertex c = 0; c < components; ++c) leader_[c] = c;
        first_.assign(palm_.source.size(), -1);
        last_.assign(palm_.source.size(), -1);
        inside_.assign(palm_.source.size(), 0);
        for (Vertex c = 0; c < components; ++c)
            for (Vertex i = split_.ptr[c]; i < split_.ptr[c + 1]; ++i) {
                const Vertex e = split_.edges[i];
                last_[e] = c;
                if (first_[e] < 0) {
                    first_[e] = c;
                } else if (split_.kind[c] == split_.kind[first_[e]] && split_.kind[c] != Kind::rigid) {
                    inside_[e] = 1;
                    leader_[find(c)] = find(first_[e]);
                }
            }
    }

    void write(Watch& watch) {
        const Vertex components = split_.count();
        // The components of every leader, as linked lists.
        head_.assign(components, -1);
        next_.resize(components);
        for (Vertex c = components; c-- > 0;) {
            const Vertex leader = find(c);
            next_[c] = head_[leader];
            head_[leader] = c;
        }
        where_.assign(palm_.source.size(), -1);
        slots_.resize(palm_.n + 1);
        for (Vertex leader = 0; leader < components; ++leader) {
            if (leader_[leader] != leader) continue;
            skeleton_.clear();
            for (Vertex c = head_[leader]; c >= 0; c = next_[c])
                for (Vertex i = split_.ptr[c]; i < split_.ptr[c + 1]; ++i)
                    if (!inside_[split_.edges[i]]) skeleton_.push_back(split_.edges[i]);
            watch.check(4 * static_cast<std::int64_t>(skeleton_.size()));
            if (split_.kind[leader] == Kind::polygon) {
                write_cycle();
                close(BagKind::cycle);
                continue;
            }
            for (Vertex e : skeleton_) write_edge(e, palm_.source[e], palm_.target[e]);
            close(split_.kind[leader] == Kind::bond ? BagKind::pair : BagKind::rigid);
        }
    }

    /// The second time that a virtual edge is written, both places become partners.
    void write_edge(Vertex e, Vertex from, Vertex to) {
        const auto at = static_cast<std::int64_t>(out_.edges.size());
        edge(palm_.name[from], palm_.name[to]);
        if (first_[e] == last_[e]) return;
        if (where_[e] >= 0) {
            out_.partner[at] = where_[e];
            out_.partner[where_[e]] = at;
        }
        where_[e] = at;
    }

    void write_cycle() {
        for (Vertex e : skeleton_) slots_[palm_.source[e]] = slots_[palm_.target[e]] = {-1, -1};
        for (Vertex e : skeleton_)
            for (Vertex v : {palm_.source[e], palm_.target[e]}) slots_[v][slots_[v][0] >= 0] = e;
        Vertex e = skeleton_[0], from = palm_.source[e];
        for (std::size_t i = 0; i < skeleton_.size(); ++i) {
            const Vertex to = palm_.source[e] ^ palm_.target[e] ^ from;
            write_edge(e, from, to);
            e = slots_[to][slots_[to][0] == e];
            from = to;
        }
    }

    SpqrTrees& out_;
    const BlockSearch& search_;
    PalmTree palm_;
    SplitComponents split_;
    Vertex block_ = 0;
    std::vector<Vertex> leader_, head_, next_, skeleton_;
    std::vector<Vertex> first_, last_;  // the components of an edge; of a real one they are the same
    std::vector<char> inside_;
    std::vector<std::int64_t> where_;           // where a virtual edge was written first
    std::vector<std::array<Vertex, 2>> slots_;  // the two edges of a cycle at a vertex
};

}  // namespace

SpqrTrees spqr_trees(GraphView graph, Watch watch) {
    SpqrTrees out;
    out.edges.reserve(static_cast<std::size_t>(graph.num_edges()));
    out.partner.reserve(static_cast<std::size_t>(graph.num_edges()));
    BlockSearch search(graph);
    SpqrWriter writer(out, search);
    search.run([&](std::span<const Arc> arcs) { writer.add(arcs, watch); }, watch);
    return out;
}

BlockCutTree block_cut_tree(GraphView graph, Watch watch) {
    BlockCutTree out;
    BlockSearch search(graph);
    std::vector<Vertex> blocks(graph.num_nodes(), 0);  // of every vertex
    const auto add = [&](std::span<const Arc> arcs) {
        watch.check(4 * static_cast<std::int64_t>(arcs.size()));
        out.nodes.push_back(search.vertex(arcs[0][0]));
        for (auto [from, to] : arcs) {
            out.edges.push_back({search.vertex(from), search.vertex(to)});
            if (to > from) out.nodes.push_back(search.vertex(to));
        }
        const auto first = out.nodes.begin() + out.node_ptr.back();
        std::sort(first, out.nodes.end());
        std::for_each(first, out.nodes.end(), [&](Vertex v) { ++blocks[v]; });
        out.edge_ptr.push_back(static_cast<std::int64_t>(out.edges.size()));
        out.node_ptr.push_back(static_cast<std::int64_t>(out.nodes.size()));
    };
    search.run(add, watch);
    for (Vertex v = 0; v < graph.num_nodes(); ++v)
        if (blocks[v] > 1) out.cut_vertices.push_back(v);
    return out;
}

}  // namespace neuraltrees
