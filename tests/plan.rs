//! How many blocks fit into the memory of a rank, and of an instance: exact figures of known models, errors, and all sums for
//! any numbers.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "support/properties.rs"]
mod properties;

use kvblock::{
    BlockLayout, BlockPool, CapacityPlan, ElementType, InstancePlan, InstancePlanError, KvShape,
    LayoutError, MAX_BLOCK_SIZE, MAX_BLOCKS, Margin, PlanError, PlanInput, PlanStep, PlanTerm,
    Plane, PoolConfig, RankMemory,
};
use proptest::prelude::*;

const GIB: u64 = 1 << 30;

/// 80 GiB, of which 40 are left for K/V.
fn memory() -> RankMemory {
    RankMemory::new(80 * GIB, 34 * GIB)
        .workspaces(3 * GIB)
        .staging(GIB)
        .margin(Margin::Bytes(2 * GIB))
}

fn plan(memory: RankMemory, layers: u64, shape: KvShape, block_size: usize) -> CapacityPlan {
    CapacityPlan::new(&memory, layers, &shape, block_size).expect("it fits")
}

/// Bytes of a block that holds one position.
fn position_bytes(layers: u64, shape: KvShape) -> u64 {
    plan(memory(), layers, shape, 1).block_bytes()
}

/// A device with so many blocks of 10 bytes and one position, and some bytes more.
fn small(blocks: u64, more: u64) -> CapacityPlan {
    plan(
        RankMemory::new(blocks * 10 + more, 0),
        1,
        KvShape::heads(1, 5, 8),
        1,
    )
}

#[test]
fn llama_3_70b_on_four_ranks() {
    let model = KvShape::heads(8, 128, 16);
    assert_eq!(position_bytes(80, model), 327_680);
    let rank = model.on_rank(4, 3).expect("one of four");
    let plan = plan(memory(), 80, rank, 16);
    assert_eq!(plan.cache_bytes(), 40 * GIB);
    assert_eq!(
        plan.terms(),
        [
            (PlanTerm::Weights, 34 * GIB),
            (PlanTerm::Workspaces, 3 * GIB),
            (PlanTerm::Staging, GIB),
            (PlanTerm::Margin, 2 * GIB),
        ]
    );
    assert_eq!(plan.block_bytes(), 1_310_720);
    assert_eq!((plan.blocks(), plan.remainder()), (32_768, 0));
    assert_eq!(plan.longest_request(), 524_288);
    for (positions, sequences) in [
        (0, 32_768),
        (1, 32_768),
        (16, 32_768),
        (17, 16_384),
        (8192, 64),
        (8193, 63),
        (524_288, 1),
        (524_289, 0),
        (u64::MAX, 0),
    ] {
        assert_eq!(plan.sequences_at(positions), sequences, "{positions}");
    }
    let pool = BlockPool::new(&PoolConfig::new(plan.blocks(), plan.block_size()));
    assert_eq!(pool.expect("a sound plan").available(), 32_768);
}

#[test]
fn a_position_of_known_models() {
    let gqa_8b = |bits| KvShape::heads(8, 128, bits);
    for (model, layers, shape, bytes) in [
        ("Llama-3-8B, bf16", 32, gqa_8b(16), 131_072),
        ("the same, fp8", 32, gqa_8b(8), 65_536),
        // A scale of 4 bytes for each head, of K and of V.
        (
            "fp8 with scales",
            32,
            gqa_8b(8).scale_bytes_per_position(64),
            67_584,
        ),
        ("fp4", 32, gqa_8b(4), 32_768),
        // A scale of a byte for 16 elements: 2 * 8 * 128 / 16.
        (
            "fp4 with scales",
            32,
            gqa_8b(4).scale_bytes_per_position(128),
            36_864,
        ),
        (
            "Llama-2-7B, no groups",
            32,
            KvShape::heads(32, 128, 16),
            524_288,
        ),
        ("one K/V head", 22, KvShape::heads(1, 256, 16), 22_528),
        ("DeepSeek-V3, bf16", 61, KvShape::latent(576, 16), 70_272),
        // 512 elements of a byte, 16 bytes of scales, 64 elements of two bytes.
        (
            "the same, fp8",
            61,
            KvShape::latent(512, 8).scale_bytes_per_position(144),
            40_016,
        ),
    ] {
        assert_eq!(position_bytes(layers, shape), bytes, "{model}");
    }
}

#[test]
fn scales_of_a_block_are_counted_once_a_block() {
    let shape = KvShape::heads(2, 64, 8);
    let plain = plan(memory(), 10, shape, 32).block_bytes();
    assert_eq!(plain, 2 * 2 * 64 * 32 * 10);
    let of_blocks = plan(memory(), 10, shape.scale_bytes_per_block(8), 32);
    assert_eq!(of_blocks.block_bytes(), plain + 80);
    let of_positions = plan(memory(), 10, shape.scale_bytes_per_position(8), 32);
    assert_eq!(of_positions.block_bytes(), plain + 80 * 32);
}

#[test]
fn a_latent_is_on_every_rank_and_a_head_is_on_at_least_one() {
    let latent = KvShape::latent(576, 16);
    assert_eq!(latent.on_rank(8, 5), Ok(latent));
    let two_heads = KvShape::heads(2, 128, 16);
    assert_eq!(two_heads.on_rank(8, 7), Ok(KvShape::heads(1, 128, 16)));
    assert_eq!(
        two_heads.on_rank(0, 0),
        Err(PlanError::Zero {
            input: PlanInput::TensorParallel
        })
    );
    let uneven = KvShape::heads(10, 64, 16);
    let heads = [3, 3, 2, 2].map(|n| Ok(KvShape::heads(n, 64, 16)));
    assert_eq!([0, 1, 2, 3].map(|rank| uneven.on_rank(4, rank)), heads);
}

#[test]
fn the_format_and_a_layout_have_the_bytes_of_the_plan() {
    for (shape, planes) in [
        (KvShape::heads(2, 128, 16), vec![8192, 8192]),
        (
            KvShape::heads(2, 128, 8).scale_bytes_per_position(16),
            vec![4096, 4096, 256],
        ),
        (KvShape::latent(576, 16), vec![18_432]),
        (KvShape::latent(3, 4).scale_bytes_per_block(5), vec![24, 5]),
        (KvShape::heads(1, 3, 3), vec![18, 18]),
    ] {
        let plan = plan(RankMemory::new(1 << 24, 100), 3, shape, 16);
        assert_eq!(
            plan.plane_bytes().collect::<Vec<_>>(),
            planes.repeat(3),
            "{shape}"
        );
        let format = plan.format(ElementType::new(7)).expect("there are planes");
        assert_eq!(format.block_bytes(), plan.block_bytes());
        assert_eq!(
            (format.block_size(), format.element()),
            (16, ElementType::new(7))
        );
        let mut base = 0;
        let planes: Vec<_> = plan
            .plane_bytes()
            .map(|bytes| {
                let plane = Plane::new(base, bytes, bytes);
                base += bytes * plan.blocks() as u64;
                plane
            })
            .collect();
        let layout = BlockLayout::new(&planes, plan.blocks()).expect("it fits");
        assert_eq!(layout.block_bytes(), plan.block_bytes());
        assert_eq!(base + plan.remainder(), plan.cache_bytes());
    }
}

#[test]
fn planes_that_no_memory_can_list_are_an_error() {
    for (layers, shape) in [
        (1 << 60, KvShape::latent(1, 1)),
        (1 << 59, KvShape::heads(1, 1, 1).scale_bytes_per_block(1)),
    ] {
        let plan = plan(RankMemory::new(u64::MAX, 0), layers, shape, 1);
        let format = plan.format(ElementType::new(7));
        assert_eq!(format, Err(LayoutError::OutOfMemory), "{layers}");
    }
}

#[test]
fn a_margin_is_bytes_or_a_share_of_the_device() {
    let shape = KvShape::heads(1, 5, 8);
    let blocks = |margin| {
        let memory = RankMemory::new(1000, 0).margin(margin);
        CapacityPlan::new(&memory, 1, &shape, 1).map(|plan| (plan.blocks(), plan.remainder()))
    };
    assert_eq!(blocks(Margin::Bytes(49)), Ok((95, 1)));
    assert_eq!(blocks(Margin::PartsPerMillion(50_000)), Ok((95, 0)));
    // 50.001 bytes are 51.
    assert_eq!(blocks(Margin::PartsPerMillion(50_001)), Ok((94, 9)));
    assert_eq!(
        blocks(Margin::PartsPerMillion(1_000_000)),
        Err(PlanError::LessThanABlock {
            block_bytes: 10,
            left: 0
        })
    );
    assert_eq!(
        blocks(Margin::PartsPerMillion(1_000_001)),
        Err(PlanError::MarginRange {
            parts_per_million: 1_000_001,
            max: 1_000_000
        })
    );
}

#[test]
fn what_is_wrong_is_named() {
    let heads = KvShape::heads(8, 128, 16);
    let max = MAX_BLOCK_SIZE;
    let new = |memory: RankMemory, layers, shape: KvShape, block_size| {
        CapacityPlan::new(&memory, layers, &shape, block_size).expect_err("no plan")
    };
    let zero = |input| PlanError::Zero { input };
    let overflow = |step| PlanError::Overflow { step };
    const HUGE: u64 = u64::MAX;
    for (error, expected, says) in [
        (
            new(RankMemory::new(0, 0), 1, heads, 16),
            zero(PlanInput::DeviceMemory),
            "the device memory is 0",
        ),
        (
            new(memory(), 0, heads, 16),
            zero(PlanInput::Layers),
            "the number of layers is 0",
        ),
        (
            new(memory(), 1, KvShape::heads(0, 128, 16), 16),
            zero(PlanInput::KvHeads),
            "the number of K/V heads is 0",
        ),
        (
            new(memory(), 1, KvShape::heads(8, 0, 16), 16),
            zero(PlanInput::HeadSize),
            "the head size is 0",
        ),
        (
            new(memory(), 1, KvShape::latent(0, 16), 16),
            zero(PlanInput::Latent),
            "the size of the latent vector is 0",
        ),
        (
            new(memory(), 1, KvShape::latent(576, 0), 16),
            zero(PlanInput::ElementBits),
            "the size of an element is 0",
        ),
        (
            new(memory(), 1, heads, 0),
            PlanError::BlockSize { asked: 0, max },
            "block size 0 is not between 1 and 65536 positions",
        ),
        (
            new(memory(), 1, heads, max + 1),
            PlanError::BlockSize { asked: 65_537, max },
            "block size 65537 is not between 1 and 65536 positions",
        ),
        (
            new(RankMemory::new(80 * GIB, 90 * GIB), 80, heads, 16),
            PlanError::DoesNotFit {
                term: PlanTerm::Weights,
                needed: 90 * GIB,
                left: 80 * GIB,
            },
            "weights do not fit: 96636764160 bytes (90.00 GiB) needed, 85899345920 bytes (80.00 GiB) left",
        ),
        (
            new(RankMemory::new(100, 60).staging(41), 80, heads, 16),
            PlanError::DoesNotFit {
                term: PlanTerm::Staging,
                needed: 41,
                left: 40,
            },
            "staging does not fit: 41 bytes needed, 40 bytes left",
        ),
        (
            new(memory(), 1, KvShape::heads(HUGE, 2, 1), 1),
            overflow(PlanStep::PlaneBits),
            "the bits of a block's K, V or latent in a layer (elements * bits * positions) overflow 64 bits",
        ),
        (
            new(
                memory(),
                1,
                heads.scale_bytes_per_position(HUGE / 16 + 1),
                16,
            ),
            overflow(PlanStep::ScaleBytes),
            "the scales of a block in a layer (scale bytes * positions) overflow 64 bits",
        ),
        (
            new(memory(), 1, heads.scale_bytes_per_block(HUGE), 16),
            overflow(PlanStep::LayerBytes),
            "the bytes of a block in a layer (K + V + scales) overflow 64 bits",
        ),
        (
            new(memory(), HUGE, heads, 16),
            overflow(PlanStep::BlockBytes),
            "the bytes of a block (bytes in a layer * layers) overflow 64 bits",
        ),
        (
            new(RankMemory::new(65_535, 0), 1, heads, 16),
            PlanError::LessThanABlock {
                block_bytes: 65_536,
                left: 65_535,
            },
            "less than one block is left: 65535 bytes (64.00 KiB) of the 65536 bytes (64.00 KiB) of a block",
        ),
        (
            new(
                RankMemory::new(MAX_BLOCKS as u64 + 1, 0),
                1,
                KvShape::latent(1, 8),
                1,
            ),
            PlanError::TooManyBlocks {
                blocks: 33_554_432,
                max: MAX_BLOCKS,
            },
            "33554432 blocks are more than the 33554431 ids of a shard",
        ),
    ] {
        assert_eq!(error, expected);
        assert_eq!(error.to_string(), says);
    }
    let most = plan(
        RankMemory::new(MAX_BLOCKS as u64, 0),
        1,
        KvShape::latent(1, 8),
        1,
    );
    assert_eq!(most.blocks(), MAX_BLOCKS);
}

#[test]
fn the_rank_with_the_fewest_blocks_binds_and_the_rest_is_stranded() {
    // C061: 35341, 34435 and 36561 blocks.
    let plan = InstancePlan::new(vec![small(35_341, 0), small(34_435, 9), small(36_561, 3)]);
    let plan = plan.expect("alike");
    assert_eq!((plan.blocks(), plan.binding_rank()), (34_435, 1));
    assert_eq!(
        [0, 1, 2, 3].map(|rank| plan.stranded_blocks(rank)),
        [Some(906), Some(0), Some(2126), None]
    );
    assert_eq!(
        [0, 1, 2, 3].map(|rank| plan.stranded_bytes(rank)),
        [Some(9060), Some(0), Some(21_260), None]
    );
    assert_eq!(
        (plan.longest_request(), plan.sequences_at(1000)),
        (34_435, 34)
    );
    assert_eq!((plan.ranks().len(), plan.block_size()), (3, 1));

    let equal = InstancePlan::new(vec![small(5, 0), small(5, 1)]).expect("alike");
    assert_eq!(
        (equal.binding_rank(), equal.stranded_blocks(1)),
        (0, Some(0))
    );
}

#[test]
fn pipeline_stages_have_blocks_of_their_own_sizes_and_one_table() {
    // 20, 20, 22 and 18 layers, and the rest of equal devices.
    let stages =
        [20, 20, 22, 18].map(|layers| plan(memory(), layers, KvShape::heads(8, 128, 16), 16));
    let blocks = stages.map(|stage| (stage.block_bytes(), stage.blocks()));
    assert_eq!(
        blocks,
        [
            (1_310_720, 32_768),
            (1_310_720, 32_768),
            (1_441_792, 29_789),
            (1_179_648, 36_408)
        ]
    );
    let plan = InstancePlan::new(stages.to_vec()).expect("alike");
    assert_eq!((plan.blocks(), plan.binding_rank()), (29_789, 2));
    assert_eq!(plan.stranded_bytes(3), Some(6619 * 1_179_648));
}

#[test]
fn ranks_that_cannot_share_a_table_are_no_instance() {
    assert_eq!(
        InstancePlan::new(Vec::new()),
        Err(InstancePlanError::NoRanks)
    );
    let other = plan(RankMemory::new(1000, 0), 1, KvShape::heads(1, 5, 8), 2);
    let error = InstancePlan::new(vec![small(5, 0), small(6, 0), other]).expect_err("two sizes");
    assert_eq!(
        error,
        InstancePlanError::BlockSize {
            rank: 2,
            block_size: 2,
            expected: 1
        }
    );
    assert_eq!(
        error.to_string(),
        "rank 2 has blocks of 2 positions, rank 0 of 1"
    );
    assert_eq!(
        InstancePlanError::NoRanks.to_string(),
        "an instance needs at least one rank"
    );
}

#[test]
fn a_plan_is_a_table() {
    let rank = |device| {
        let memory = RankMemory::new(device, 34 * GIB)
            .workspaces(3 * GIB)
            .margin(Margin::Bytes(500));
        plan(memory, 80, KvShape::heads(2, 128, 16), 16)
    };
    let plan = InstancePlan::new(vec![rank(80 * GIB), rank(79 * GIB), rank(79 * GIB)]);
    let expected = "\
rank 0
    80 layers, 2 K/V heads of 128 elements of 16 bits
    device memory          85899345920 bytes         80.00 GiB
  - weights                36507222016 bytes         34.00 GiB
  - workspaces              3221225472 bytes          3.00 GiB
  - staging                          0 bytes
  - margin                         500 bytes
  = left for K/V           46170897932 bytes         43.00 GiB
    a block                    1310720 bytes          1.25 MiB
    blocks                       35225 blocks of 16 positions
    remainder                   785932 bytes        767.51 KiB
    longest request             563600 positions
    stranded                       819 blocks, 1073479680 bytes (1023.75 MiB): rank 1 has fewer
ranks 1 to 2, each
    80 layers, 2 K/V heads of 128 elements of 16 bits
    device memory          84825604096 bytes         79.00 GiB
  - weights                36507222016 bytes         34.00 GiB
  - workspaces              3221225472 bytes          3.00 GiB
  - staging                          0 bytes
  - margin                         500 bytes
  = left for K/V           45097156108 bytes         42.00 GiB
    a block                    1310720 bytes          1.25 MiB
    blocks                       34406 blocks of 16 positions
    remainder                   523788 bytes        511.51 KiB
    longest request             550496 positions
all 3 ranks in lockstep
    usable                       34406 blocks, as many as rank 1 has
    longest request             550496 positions";
    assert_eq!(plan.expect("alike").to_string(), expected);

    let alone = InstancePlan::new(vec![small(5, 3)]).expect("one rank");
    assert_eq!(alone.to_string(), small(5, 3).to_string());
    let expected = "    1 layers, 1 K/V heads of 5 elements of 8 bits
    device memory                   53 bytes
  - weights                          0 bytes
  - workspaces                       0 bytes
  - staging                          0 bytes
  - margin                           0 bytes
  = left for K/V                    53 bytes
    a block                         10 bytes
    blocks                           5 blocks of 1 positions
    remainder                        3 bytes
    longest request                  5 positions";
    assert_eq!(alone.to_string(), expected);
}

/// Any number, small ones and those at the ends more often.
fn any_number() -> impl Strategy<Value = u64> {
    prop_oneof![
        0..=4_u64,
        0..=300_u64,
        any::<u64>(),
        (0..64_u32, 0..=2_u64).prop_map(|(power, less)| (1_u64 << power).saturating_sub(less)),
        (0..=2_u64).prop_map(|less| u64::MAX - less),
    ]
}

/// Mostly a sound one.
fn any_size(most: u64) -> impl Strategy<Value = u64> {
    prop_oneof![12 => 1..=most, 1 => any_number()]
}

fn any_margin() -> impl Strategy<Value = Margin> {
    prop_oneof![
        any_number().prop_map(Margin::Bytes),
        (0..=1_000_001_u32).prop_map(Margin::PartsPerMillion),
    ]
}

fn any_shape() -> impl Strategy<Value = KvShape> {
    let sizes = (any_size(16), any_size(256), any_size(32));
    let scales = (any_size(64), any_size(64));
    (any::<bool>(), sizes, scales).prop_map(|(latent, (heads, size, bits), (position, block))| {
        let shape = if latent {
            KvShape::latent(size, bits)
        } else {
            KvShape::heads(heads, size, bits)
        };
        shape
            .scale_bytes_per_position(position)
            .scale_bytes_per_block(block)
    })
}

/// Any device with anything subtracted, or a usual one from which at most seven eighths are.
fn any_memory() -> impl Strategy<Value = RankMemory> {
    let numbers = [any_number(), any_number(), any_number(), any_number()];
    let any = (numbers, any_margin()).prop_map(|([device, weights, work, staging], margin)| {
        let memory = RankMemory::new(device, weights);
        memory.workspaces(work).staging(staging).margin(margin)
    });
    let part = || 0..1_000_u64;
    let usual = (GIB..1 << 40, [part(), part(), part()], 0..=500_000_u32);
    let usual = usual.prop_map(|(device, parts, margin)| {
        let [weights, work, staging] = parts.map(|part| device / 8_000 * part);
        let memory = RankMemory::new(device, weights)
            .workspaces(work)
            .staging(staging);
        memory.margin(Margin::PartsPerMillion(margin))
    });
    prop_oneof![any, usual]
}

proptest! {
    #![proptest_config(properties::config(4096, "proptest-regressions/plan.txt", 10_000))]

    #[test]
    fn any_numbers_have_a_plan_that_adds_up_or_an_error(
        memory in any_memory(),
        layers in any_size(100),
        shape in any_shape(),
        block_size in any_size(MAX_BLOCK_SIZE as u64),
        positions in any_number(),
    ) {
        let block_size = usize::try_from(block_size).unwrap_or(usize::MAX);
        match CapacityPlan::new(&memory, layers, &shape, block_size) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(plan) => {
                let subtracted: u128 = plan.terms().iter().map(|&(_, bytes)| u128::from(bytes)).sum();
                let blocks = plan.blocks() as u128;
                let used = blocks * u128::from(plan.block_bytes());
                prop_assert_eq!(
                    subtracted + used + u128::from(plan.remainder()),
                    u128::from(plan.device_memory())
                );
                prop_assert!(plan.remainder() < plan.block_bytes());
                prop_assert!((1..=MAX_BLOCKS).contains(&plan.blocks()));
                prop_assert_eq!(u128::from(plan.longest_request()), blocks * block_size as u128);
                let each = positions.div_ceil(block_size as u64).max(1);
                prop_assert_eq!(plan.sequences_at(positions), plan.blocks() as u64 / each);
                prop_assert!(!plan.to_string().is_empty());
            }
        }
    }

    #[test]
    fn any_ranks_together_have_all_heads(kv_heads in 1..200_u64, degree in 1..40_u64) {
        let model = KvShape::heads(kv_heads, 64, 16);
        let bytes = |rank| {
            let shape = model.on_rank(degree, rank).expect("one of them");
            plan(RankMemory::new(GIB, 0), 1, shape, 1).block_bytes()
        };
        let sum: u64 = (0..degree).map(bytes).sum();
        prop_assert_eq!(sum, kv_heads.max(degree) * 64 * 2 * 2);
        prop_assert!(bytes(0) - bytes(degree - 1) <= 64 * 2 * 2);
    }
}
