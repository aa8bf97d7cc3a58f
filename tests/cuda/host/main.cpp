// Every kernel, compiled from the shipped source for a CPU, against the plain copy: full production shapes, odd sizes
// and bad lists. Built and run by run.sh under AddressSanitizer and UndefinedBehaviorSanitizer.
//
//   kernels [SEED]

#include <sys/mman.h>

#include "check.hpp"

static_assert(offsetof(PlaneCopy, src_base) == 0 && offsetof(PlaneCopy, src_stride) == 8);
static_assert(offsetof(PlaneCopy, dst_base) == 16 && offsetof(PlaneCopy, dst_stride) == 24);
static_assert(offsetof(PlaneCopy, bytes) == 32 && offsetof(PlaneCopy, first) == 40);
static_assert(offsetof(PlanePermute, src_base) == 0 && offsetof(PlanePermute, src_stride) == 8);
static_assert(offsetof(PlanePermute, dst_base) == 16 && offsetof(PlanePermute, dst_stride) == 24);
static_assert(offsetof(PlanePermute, first) == 32 && offsetof(PlanePermute, parts) == 40);
static_assert(offsetof(PlanePermute, positions) == 44 && offsetof(PlanePermute, heads) == 48);
static_assert(offsetof(PlanePermute, head_bytes) == 52 && offsetof(PlanePermute, src_part) == 56);
static_assert(offsetof(PlanePermute, src_position) == 64 && offsetof(PlanePermute, src_head) == 72);
static_assert(offsetof(PlanePermute, dst_part) == 80 && offsetof(PlanePermute, dst_position) == 88);
static_assert(offsetof(PlanePermute, dst_head) == 96);

namespace {

constexpr u64 KB = 1024, MB = 1024 * KB;
constexpr int widths[] = {16, 8, 4, 2, 1};

Layout apart(u64 blocks, u64 gap) { return {Layout::apart, blocks, gap}; }
Layout block_first(u64 blocks, u64 gap) { return {Layout::block_first, blocks, gap}; }

// Shapes that engines use, in full size. The planes are those of one device.
void production_copies() {
    const Pairs two{{2, 0}, {0, 1}};
    const Layout from = apart(3, 0), into = apart(2, 0);
    const Layout from_pool = block_first(3, 0), into_pool = block_first(2, 0);
    // 80 layers, 8 heads of 128 elements of 2 bytes, 16 positions: 32 KB each for K and V.
    const std::vector<u64> llama_70b(160, 32 * KB);
    check(block_copy("80 layers, K and V of 32 KB, into a pool", 16, llama_70b, from, into_pool), two, {132, 7});
    check(block_copy("80 layers, K and V of 32 KB, from a pool", 16, llama_70b, from_pool, into), two, {1, 2});
    const std::vector<u64> together(80, 64 * KB);
    check(block_copy("80 layers, K and V in one tensor of 64 KB", 16, together, from, into), two, {528});
    // The same with blocks of 256 positions: 512 KB each for K and V.
    const std::vector<u64> large(80, MB);
    check(block_copy("80 layers of 1 MB", 16, large, apart(1, 0), block_first(1, 0)), {{0, 0}}, {132});
    // One tensor over all layers: 80 x 2 x 64 KB.
    check(block_copy("cross-layer, one plane of 10 MB", 16, {10 * MB}, from, into), two, {132, 1});
    // MLA latents of 61 layers, 64 positions: 576 elements of 2 bytes, or 656 bytes as fp8 with scales inside.
    const std::vector<u64> latents(61, 64 * 576 * 2), packed(61, 64 * 656);
    check(block_copy("MLA, 61 layers of 576 x 2 bytes", 16, latents, from, into), two, {132, 2});
    check(block_copy("MLA, 61 layers of 656 bytes", 16, packed, from, into_pool), two, {7, 132});
    // fp8 with scales beside: planes of 16 KB, and scales of 16 bytes (one word) or 8 heads x 16 positions x 4 bytes.
    std::vector<u64> scaled;
    for (int layer = 0; layer < 80; ++layer) scaled.insert(scaled.end(), {16 * KB, 16 * KB, 16, 512});
    check(block_copy("fp8 and scales, 80 layers", 16, scaled, apart(3, 16), into_pool), two, {132, 7, 1});
    const std::vector<u64> beside{2 * MB, 16, 3 * MB, 16, 16};
    check(block_copy("16 bytes beside megabytes", 16, beside, apart(3, 16), apart(2, 32)), two, {132, 2});
    const std::vector<u64> scales(160, 4);
    check(block_copy("scales of 4 bytes alone", 4, scales, apart(90, 4), block_first(90, 0)),
          Pairs{{89, 0}, {0, 89}, {7, 8}, {8, 7}}, {132, 1, 2000});
}

// Every width with sizes around every edge of the loops, guard bytes around each block.
void odd_sizes(std::mt19937_64& random) {
    for (const int width : widths) {
        const u64 w = static_cast<u64>(width), chunk = KVB_CHUNK / w;
        std::vector<u64> planes;
        for (const u64 words : {1, 2, 255, 256, 257, 511, 512, 513, 767, 768, 769, 1023, 1024, 1025, 1792}) {
            planes.push_back(words * w);
        }
        for (const u64 words : {chunk - 1, chunk, chunk + 1, 2 * chunk - 257, 2 * chunk, 3 * chunk + 1}) {
            planes.push_back(words * w);
        }
        std::shuffle(planes.begin(), planes.end(), random);
        const std::string name = "odd sizes, width " + std::to_string(width);
        const auto apart_copy = block_copy(name, width, planes, apart(4, w), apart(5, 3 * w));
        check(apart_copy, random_pairs(random, 4, 4, 5), {1, 2, 7, 132});
        const auto mixed = block_copy(name, width, planes, block_first(4, w), apart(5, 0));
        check(mixed, random_pairs(random, 3, 4, 5), {7, 5000});
        // Each plane alone: one chunk, or a few.
        for (const u64 plane : planes) {
            const auto alone = block_copy(name + ", alone", width, {plane}, apart(3, w), apart(3, w));
            check(alone, random_pairs(random, 3, 3, 3), {2});
        }
    }
}

void permutations() {
    const Pairs two{{2, 0}, {0, 1}};
    const Layout from = apart(3, 0), into = apart(2, 0);
    const Tile nhd{Tile::nhd, 2, 16, 8, 256}, hnd{Tile::hnd, 2, 16, 8, 256};
    const Heads all{0, 0, 8};
    check(permuting_copy("80 layers, NHD to HND", 16, 80, nhd, hnd, all, from, block_first(2, 0)), two, {132, 1});
    check(permuting_copy("80 layers, HND to NHD", 16, 80, hnd, nhd, all, block_first(3, 0), into), two, {7, 2});
    const Tile large{Tile::nhd, 2, 256, 8, 256}, turned{Tile::hnd, 2, 256, 8, 256};
    const Layout one = apart(1, 0);
    check(permuting_copy("20 layers of 1 MB, NHD to HND", 16, 20, large, turned, all, one, one), {{0, 0}}, {132});
    // A shard of a higher tensor-parallel degree holds a slice of the heads of a lower one's, and the other way round.
    for (const u32 degree : {2U, 4U, 8U}) {
        for (const auto wide : {Tile::nhd, Tile::hnd}) {
            for (const auto narrow : {Tile::nhd, Tile::hnd}) {
                const u32 part = 8 / degree;
                const Tile whole{wide, 2, 16, 8, 256}, slice{narrow, 2, 16, part, 256};
                const std::string name = "1 to " + std::to_string(degree) + " shards", back = name + ", back";
                for (u32 rank = 0; rank < degree; rank += degree - 1) {
                    const Heads out{rank * part, 0, part}, in{0, rank * part, part};
                    check(permuting_copy(name, 16, 3, whole, slice, out, from, apart(2, 16)), two, {7});
                    check(permuting_copy(back, 16, 3, slice, whole, in, apart(3, 16), into), two, {132});
                }
            }
        }
    }
    const Tile latents{Tile::nhd, 1, 64, 1, 656}, same{Tile::hnd, 1, 64, 1, 656};
    check(permuting_copy("one head", 16, 61, latents, same, {0, 0, 1}, from, into), two, {132});
}

// Tiles of every width whose runs, positions and heads carry in every combination.
void odd_tiles(std::mt19937_64& random, int rounds) {
    const auto up_to = [&](u32 most) { return static_cast<u32>(1 + random() % most); };
    for (int round = 0; round < rounds; ++round) {
        const int width = widths[random() % 5];
        const u32 run = up_to(random() % 4 == 0 ? 400 : 20) * static_cast<u32>(width);
        const u32 parts = up_to(3), positions = up_to(random() % 4 == 0 ? 300 : 20), heads = up_to(9);
        const u32 first = up_to(5) - 1, target = up_to(5) - 1;
        const auto order = [&] { return random() % 2 == 0 ? Tile::nhd : Tile::hnd; };
        const Tile in{order(), parts, positions, first + heads + up_to(3) - 1, run};
        const Tile out{order(), parts, positions, target + heads + up_to(3) - 1, run};
        const u64 gap = random() % 2 == 0 ? 0 : static_cast<u64>(width);
        const auto layout = [&] { return random() % 2 == 0 ? apart(2, gap) : block_first(2, gap); };
        const std::string name = "tile " + std::to_string(round) + " of width " + std::to_string(width);
        const auto copy = permuting_copy(name, width, up_to(3), in, out, {first, target, heads}, layout(), layout());
        check(copy, random_pairs(random, 2, 2, 2), {round % 7 == 0 ? 132U : static_cast<unsigned>(1 + random() % 5)});
    }
}

// Lists that are empty, too long or wrong.
template <typename Row>
void bad_lists(const Copy<Row>& copy) {
    const u32 sources = copy.source_blocks, destinations = copy.destination_blocks;
    const Pairs good{{0, 0}, {sources - 1, destinations - 1}, {1, 1}};
    check(copy, Launch{good, 0, 3}, {1, 132});
    check(copy, Launch{{}, 0, 0}, {2});
    check(copy, Launch{good, 2, 3}, {1, 7});
    check(copy, Launch{good, 3, 3}, {1, 7});
    check(copy, Launch{good, 4, 3}, {1, 2, 132});
    check(copy, Launch{good, 0xffffffff, 3}, {7});
    check(copy, Launch{good, 1, 0}, {1, 7});
    // The first id too many, on either side; ids with high bits; several, of which the least is reported.
    check(copy, Launch{{{0, 0}, {sources, 1}, {1, 2}}, 3, 3}, {1, 132});
    check(copy, Launch{{{0, 0}, {1, destinations}, {1, 2}}, 3, 3}, {2, 7});
    check(copy, Launch{{{0xffffffff, 0}, {1, 1}}, 2, 2}, {1});
    check(copy, Launch{{{1, 1}, {0, 0x80000000}}, 2, 2}, {3});
    const Pairs mixed{{0, 0}, {1, 1}, {0, destinations + 1}, {sources, destinations}, {1, 2}, {sources, 0}};
    check(copy, Launch{mixed, 6, 8}, {1, 2, 7, 132});
    // Blocks that only one of the sides has.
    if (sources > destinations) check(copy, Launch{{{sources - 1, 0}, {0, sources - 1}}, 2, 2}, {7});
}

void lists() {
    for (const int width : widths) {
        const u64 w = static_cast<u64>(width);
        const std::string name = "bad lists, width " + std::to_string(width);
        bad_lists(block_copy(name, width, {100 * w, KVB_CHUNK + w, w}, apart(9, w), apart(4, w)));
        bad_lists(block_copy(name, width, {w}, apart(4, w), apart(9, w)));
        const u32 run = static_cast<u32>(3 * w);
        const Tile in{Tile::nhd, 2, 5, 4, run}, out{Tile::hnd, 2, 5, 4, run};
        bad_lists(permuting_copy(name + ", permuted", width, 2, in, out, {0, 0, 4}, apart(9, w), apart(4, w)));
    }
    // No plane: nothing to do, and no division by zero.
    check(block_copy("no planes", 16, {}, apart(4, 16), apart(4, 16)), Pairs{{0, 0}, {1, 1}}, {1, 7});
}

// Memory that is there only where it is touched.
class Sparse {
   public:
    explicit Sparse(u64 bytes) : size_(bytes) {
        start_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start_ == MAP_FAILED) wrong("sparse memory", 0, "mmap refuses");
    }
    Sparse(const Sparse&) = delete;
    Sparse& operator=(const Sparse&) = delete;
    ~Sparse() { munmap(start_, size_); }
    unsigned char* at(u64 offset) const { return static_cast<unsigned char*>(start_) + offset; }
    u64 address() const { return reinterpret_cast<u64>(start_); }

   private:
    void* start_;
    u64 size_;
};

// Runs only unit `unit` of a launch.
template <typename Row>
void run_unit(void (*kernel)(const Row*, u32, u32, u32, u32, const uint2*, const u32*, u32, u32*), const Row& row,
              u32 chunks, uint2 pair, u32 unit) {
    const u32 count = 1;
    u32 report[2] = {0xffffffff, 0};
    gridDim.x = chunks;
    blockIdx.x = unit;
    for (threadIdx.x = 0; threadIdx.x < KVB_THREADS; ++threadIdx.x) {
        kernel(&row, 1, chunks, pair.x + 1, pair.y + 1, &pair, &count, 1, report);
    }
}

// Offsets that need 64 bits: block strides and planes of more than 4 GiB, of which single chunks are moved.
void large_offsets() {
    constexpr u64 GB = 1024 * MB;
    const Sparse source(24 * GB), destination(24 * GB);
    const uint2 pair{2, 3};
    const PlaneCopy plane{source.address() + 64, 7 * GB, destination.address() + 128, 5 * GB, 6 * GB + 16, 0};
    const u32 chunks = static_cast<u32>(chunks_of(plane.bytes));
    for (const u32 unit : {0U, static_cast<u32>(4 * GB / KVB_CHUNK), chunks - 2, chunks - 1}) {
        const u64 offset = u64{unit} * KVB_CHUNK, bytes = std::min<u64>(KVB_CHUNK, plane.bytes - offset);
        unsigned char* const from = source.at(64 + 2 * plane.src_stride + offset);
        unsigned char* const to = destination.at(128 + 3 * plane.dst_stride + offset);
        for (u64 i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + unit + 1);
        run_unit(kvb_copy_16, plane, chunks, pair, unit);
        if (std::memcmp(from, to, bytes) != 0) wrong("a plane of 6 GiB", chunks, "unit " + std::to_string(unit));
    }
    // 2 parts x 3 positions x 2 heads x 16 KB, each further than 4 GiB from the next at the source.
    const u32 run = KVB_CHUNK;
    const PlanePermute apart_plane{source.address(), 64 * KB, destination.address(), 64 * MB, 0, 2, 2, 2, run,
                                   9 * GB, 5 * GB, 4 * GB + 32, 8 * run, 2 * run, run};
    const PlanePermute back{source.address(), 64 * KB, destination.address(), 64 * KB, 0, 2, 2, 2, run,
                            8 * run, run, 2 * run, 9 * GB, 5 * GB, 4 * GB + 32};
    for (const PlanePermute& plane : {apart_plane, back}) {
        for (u32 unit = 0; unit < 8; ++unit) {
            const u64 part = unit / 4, outer = unit / 2 % 2, inner = unit % 2;
            const bool heads_inner = plane.dst_head <= plane.dst_position;
            const u64 position = heads_inner ? outer : inner, head = heads_inner ? inner : outer;
            const auto place = [&](u64 stride, u32 block, u64 by_part, u64 by_position, u64 by_head) {
                return stride * block + part * by_part + position * by_position + head * by_head;
            };
            unsigned char* const from =
                source.at(place(plane.src_stride, pair.x, plane.src_part, plane.src_position, plane.src_head));
            unsigned char* const to =
                destination.at(place(plane.dst_stride, pair.y, plane.dst_part, plane.dst_position, plane.dst_head));
            for (u64 i = 0; i < run; ++i) from[i] = static_cast<unsigned char>(i * 11 + unit + 1);
            run_unit(kvb_permute_16, plane, 8, pair, unit);
            if (std::memcmp(from, to, run) != 0) wrong("runs 4 GiB apart", 8, "unit " + std::to_string(unit));
        }
    }
}

}  // namespace

int main(int arguments, char** values) {
    const unsigned long long seed = arguments > 1 ? std::strtoull(values[1], nullptr, 0) : std::random_device{}();
    std::printf("seed %llu\n", seed);
    std::fflush(stdout);
    std::mt19937_64 random(seed);
    lists();
    large_offsets();
    odd_sizes(random);
    odd_tiles(random, 400);
    permutations();
    production_copies();
    std::printf("all copies are right\n");
}
