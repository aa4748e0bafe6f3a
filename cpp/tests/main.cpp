#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include "check.hpp"
#include "neuraltrees/watch.hpp"

/// neuraltrees_tests [-v] [WORD...]: runs the tests whose file or name holds a word; -v names those that pass.
int main(int argc, char** argv) {
    bool verbose = false;
    std::vector<std::string> words;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "-v") == 0)
            verbose = true;
        else
            words.push_back(argv[i]);
    }
    int passed = 0, failed = 0;
    for (const auto& test : check::tests()) {
        const std::string name = std::string(test.file) + " " + test.name;
        bool wanted = words.empty();
        for (const auto& word : words) wanted |= name.find(word) != std::string::npos;
        if (!wanted) continue;
        std::string why;
        const auto begin = std::chrono::steady_clock::now();
        try {
            test.run();
        } catch (const check::Failure& failure) {
            why = failure.what;
        } catch (const std::exception& error) {
            why = std::string("uncaught exception: ") + error.what();
        } catch (const neuraltrees::Interrupted&) {
            why = "uncaught Interrupted";
        }
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        ++(why.empty() ? passed : failed);
        if (!why.empty()) std::printf("FAIL %s\n     %s\n", name.c_str(), why.c_str());
        if (verbose && why.empty()) std::printf("ok   %s (%.2f s)\n", name.c_str(), seconds);
        std::fflush(stdout);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
