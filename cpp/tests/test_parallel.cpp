#include <array>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

#include "check.hpp"
#include "decompositions.hpp"
#include "graphs.hpp"
#include "neuraltrees/decompose.hpp"
#include "neuraltrees/htree.hpp"
#include "neuraltrees/parallel.hpp"
#include "neuraltrees/watch.hpp"

using namespace neuraltrees;

TEST(every_index_is_visited_once) {
    for (int threads : {-1, 0, 1, 2, 7, 64})
        for (std::int64_t count : {0, 1, 9, 10, 11, 1000})
            for (std::int64_t chunk : {1, 10, 5000}) {
                const check::Note note("threads", threads, "count", count, "chunk", chunk);
                std::vector<std::atomic<int>> visits(count);
                std::atomic<int> largest{0};
                parallel_chunks(count, chunk, threads, [&](std::int64_t begin, std::int64_t end, int worker) {
                    CHECK(begin % chunk == 0 && end == std::min(count, begin + chunk) && begin < end);
                    for (std::int64_t i = begin; i < end; ++i) ++visits[i];
                    int before = largest;
                    while (before < worker && !largest.compare_exchange_weak(before, worker)) {
                    }
                });
                for (const auto& v : visits) CHECK_EQ(v.load(), 1);
                CHECK(largest < std::max(1, threads));
            }
}

TEST(one_thread_works_in_order) {
    std::vector<std::int64_t> begins;
    parallel_chunks(25, 10, 1, [&](std::int64_t begin, std::int64_t, int worker) {
        CHECK_EQ(worker, 0);
        begins.push_back(begin);
    });
    CHECK_EQ(begins, (std::vector{0, 10, 20}));
}

TEST(an_exception_reaches_the_caller_and_ends_the_work) {
    for (int threads : {1, 4}) {
        std::atomic<std::int64_t> chunks{0};
        auto work = [&](std::int64_t begin, std::int64_t, int) {
            ++chunks;
            if (begin == 3) throw std::runtime_error("chunk three");
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        };
        CHECK_THROWS(parallel_chunks(100'000, 1, threads, work), std::runtime_error, "chunk three");
        CHECK(chunks < 50'000);
    }
}

TEST(only_the_thread_of_the_caller_asks) {
    int asked = 0;
    bool go_on = true;
    const Report report = [&](int, int) {
        ++asked;
        return go_on;
    };
    Caller caller(report, std::chrono::milliseconds(0));
    Watch watch(caller);
    CHECK(!watch.late());
    CHECK_EQ(asked, 1);
    std::thread([&] { Watch(caller).late(); }).join();
    CHECK_EQ(asked, 1);
    go_on = false;
    CHECK_THROWS(watch.late(), Interrupted, "");
    CHECK_EQ(asked, 2);
    // Once it stopped, all threads hear of it, whatever the caller would say now.
    go_on = true;
    bool heard = false;
    std::thread([&] {
        try {
            Watch(caller).late();
        } catch (const Interrupted&) {
            heard = true;
        }
    }).join();
    CHECK(heard);
}

TEST(the_caller_is_asked_while_other_threads_work) {
    // The caller's thread has nothing left to do, while the other one works on and on.
    std::atomic<bool> begun{false};
    Caller caller([&](int, int) { return !begun; }, std::chrono::milliseconds(0));
    const auto own = std::this_thread::get_id();
    auto work = [&](std::int64_t, std::int64_t, int) {
        if (std::this_thread::get_id() == own) {
            while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return;
        }
        begun = true;
        for (Watch watch(caller);;) watch.check(1 << 20);
    };
    CHECK_THROWS(parallel_chunks(2, 1, 2, work, Watch(caller)), Interrupted, "");
}

TEST(the_number_of_threads_changes_no_array) {
    std::vector<Graph> parts;
    for (std::uint64_t seed = 0; seed < 1500; ++seed)
        parts.push_back(random_connected(1 + static_cast<int>(seed % 12), 0.2, seed));
    for (std::uint64_t seed = 0; seed < 4; ++seed) parts.push_back(partial_k_tree(150, 5, 0.8, seed));
    const Graph g = disjoint_union(parts);
    for (Method method : {Method::min_fill, Method::junction_tree}) {
        HTreeOptions options;
        options.nested.method = method;
        options.nested.seed = 3;
        const TreeDecomposition plain = decompose(g, options.nested);
        const HTree tree = build_htree(g, plain, options);
        CHECK(plain.view().num_bags() > 2048);  // several chunks, or nothing is shared out
        for (int threads : {2, 3, 8}) {
            const check::Note note("threads", threads);
            options.nested.threads = threads;
            const TreeDecomposition td = decompose(g, options.nested);
            CHECK_EQ(td.bag_ptr, plain.bag_ptr);
            CHECK_EQ(td.bag_nodes, plain.bag_nodes);
            CHECK_EQ(td.edges, plain.edges);
            CHECK_EQ(td.lower_bound, plain.lower_bound);
            const HTree other = build_htree(g, plain, options);
            for (Buffer HTree::* array : {&HTree::parent, &HTree::level, &HTree::kappa, &HTree::component,
                                          &HTree::bag_ptr, &HTree::bag_nodes, &HTree::edge_index, &HTree::edge_type})
                CHECK(std::ranges::equal((other.*array).view(), (tree.*array).view()));
        }
    }
}
