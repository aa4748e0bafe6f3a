#pragma once

// A function with this attribute is compiled for several generations of processors, and one version is selected when
// the library is loaded; not under AddressSanitizer, which is not initialised at that time.
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__)
#define NEURALTREES_CLONED 1
#define NEURALTREES_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define NEURALTREES_INLINE __attribute__((always_inline)) inline
#else
#define NEURALTREES_CLONED 0
#define NEURALTREES_CLONES
#define NEURALTREES_INLINE inline
#endif
