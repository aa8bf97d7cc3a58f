// The model that the server runs: so small that a client can compute it, too, and yet every token depends on all K/V before it.
//
// K/V of a position is a 64-bit digest of its token and of the K/V of the position before it; before the first one stands a digest of the
// tenant. The next token is drawn from the last digest. So a block that is shared, reused or overwritten wrongly changes every token after
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace model {

using Token = std::uint32_t;
using Digest = std::uint64_t;

constexpr Token vocabulary = 32000;

// An answer ends with this token, or at its length.
constexpr Token end_of_text = 0;

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit depends on every other.
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(mix(a) ^ b); }

// What memory is filled with that nobody has written.
constexpr Digest unwritten = 0xdeadbeefdeadbeef;

// What stands before the first position.
constexpr Digest start(std::uint64_t tenant) { return mix(0x7e4a, tenant); }

constexpr Digest digest(Token token, Digest predecessor) {
    const Digest made = mix(predecessor, token);
    return made == unwritten ? made + 1 : made;
}

// The token after the position with this digest. Branches of a request draw different ones.
constexpr Token sample(Digest last, std::uint32_t branch) {
    const std::uint64_t drawn = mix(last, 0x5a3d1e ^ (std::uint64_t{branch} << 32));
    return drawn % 512 == 0 ? end_of_text : 1 + static_cast<Token>((drawn >> 16) % (vocabulary - 1));
}

// Never the end of text.
constexpr Token word(std::uint64_t stream, std::uint64_t at) {
    return 1 + static_cast<Token>(mix(stream, at) % (vocabulary - 1));
}

// The first `system_tokens` of a system prompt, then the tokens of the request's own.
inline std::vector<Token> prompt(std::uint64_t system, std::size_t system_tokens, std::uint64_t seed, std::size_t prompt_tokens) {
    std::vector<Token> tokens;
    tokens.reserve(system_tokens + prompt_tokens);
    for (std::size_t at = 0; at < system_tokens; ++at) tokens.push_back(word(mix(1, system), at));
    for (std::size_t at = 0; at < prompt_tokens; ++at) tokens.push_back(word(mix(2, seed), at));
    return tokens;
}

}  // namespace model
