//! Reports as metrics: their exact text, what is refused, and the rules of the format for every page.
#![cfg(not(loom))]
#![allow(
    clippy::std_instead_of_alloc,
    clippy::std_instead_of_core,
    reason = "tests have std"
)]

#[path = "prometheus/format.rs"]
mod format;

use kvblock::{
    Admit, BlockPool, Fleet, Growth, Instance, Leases, Member, Metrics, MetricsError, Namespace,
    Owner, Placement, PoolConfig, Prompt, Rank, Sequences, SequencesConfig, ShardId,
};

use format::{Sample, parse};

fn pool(blocks: usize) -> BlockPool {
    BlockPool::new(&PoolConfig::new(blocks, 4)).expect("a sound configuration")
}

fn labels(sample: &Sample) -> Vec<(&str, &str)> {
    let labels = sample.0.iter();
    labels
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

#[test]
fn the_parser_is_strict() {
    let head = "# HELP a_b Help.\n# TYPE a_b gauge\n";
    let of = |rest: &str| format!("{head}{rest}");
    assert_eq!(
        parse(&of("a_b{c=\"\\\"\\\\\\n,}\"} 1\n"))["a_b"].samples[0].0[0].1,
        "\"\\\n,}"
    );
    for page in [
        of(""),
        of("a_b 1"),
        of("a_b 1\na_b 2\n"),
        of("a_b{} 1\n"),
        of("a_b{c=\"1\",} 1\n"),
        of("a_b{c=\"1\",c=\"2\"} 1\n"),
        of("a_b{c=\"\\t\"} 1\n"),
        of("a_b{1c=\"\"} 1\n"),
        of("a_b -1\n"),
        of("a_b  1\n"),
        of("a_c 1\n"),
        of(&format!("a_b 1\n{head}a_b{{c=\"1\"}} 1\n")),
        String::from("a_b 1\n"),
        String::from("# TYPE a_b gauge\na_b 1\n"),
        String::from("# HELP a_b Help.\n# TYPE a_b counter\na_b 1\n"),
        String::from("# HELP a_total Help.\n# TYPE a_total gauge\na_total 1\n"),
        String::from("# HELP a-b Help.\n# TYPE a-b gauge\na-b 1\n"),
    ] {
        let parsed = std::panic::catch_unwind(|| parse(&page));
        assert!(parsed.is_err(), "{page}");
    }
}

#[test]
fn a_pool_as_text() {
    let pool = pool(8);
    let mut worker = pool.worker().expect("a worker");
    let mut reservation = pool.reserve(5).expect("all is free");
    let blocks = reservation.take(&mut worker, 2).expect("reserved");
    assert!(pool.reserve(4).is_err() && pool.reserve(9).is_err());
    let report = pool.report();
    let mut metrics = Metrics::new();
    metrics
        .pool(&[("shard", "3")], &report)
        .expect("sound labels");
    let (memory, content) = (report.memory_bytes, report.content_bytes);
    let expected = format!(
        "\
# HELP kvblock_pool_blocks Blocks in service, shared ones once, by state; the states come to the capacity.
# TYPE kvblock_pool_blocks gauge
kvblock_pool_blocks{{shard=\"3\",state=\"free\"}} 6
kvblock_pool_blocks{{shard=\"3\",state=\"idle\"}} 0
kvblock_pool_blocks{{shard=\"3\",state=\"held\"}} 2
kvblock_pool_blocks{{shard=\"3\",state=\"quarantined\"}} 0
# HELP kvblock_pool_capacity_blocks Blocks in service: below the limit, or draining.
# TYPE kvblock_pool_capacity_blocks gauge
kvblock_pool_capacity_blocks{{shard=\"3\"}} 8
# HELP kvblock_pool_max_blocks Blocks that there is bookkeeping for.
# TYPE kvblock_pool_max_blocks gauge
kvblock_pool_max_blocks{{shard=\"3\"}} 8
# HELP kvblock_pool_online_blocks Blocks below the limit.
# TYPE kvblock_pool_online_blocks gauge
kvblock_pool_online_blocks{{shard=\"3\"}} 8
# HELP kvblock_pool_draining_blocks Blocks above the limit that are still in service.
# TYPE kvblock_pool_draining_blocks gauge
kvblock_pool_draining_blocks{{shard=\"3\"}} 0
# HELP kvblock_pool_offline_blocks Blocks that are not in service.
# TYPE kvblock_pool_offline_blocks gauge
kvblock_pool_offline_blocks{{shard=\"3\"}} 0
# HELP kvblock_pool_reserved_blocks Blocks promised and not taken.
# TYPE kvblock_pool_reserved_blocks gauge
kvblock_pool_reserved_blocks{{shard=\"3\"}} 3
# HELP kvblock_pool_available_blocks Free and idle blocks promised to nobody.
# TYPE kvblock_pool_available_blocks gauge
kvblock_pool_available_blocks{{shard=\"3\"}} 3
# HELP kvblock_pool_shared_references References to held blocks beyond the first of each.
# TYPE kvblock_pool_shared_references gauge
kvblock_pool_shared_references{{shard=\"3\"}} 0
# HELP kvblock_pool_block_size_positions Token positions of a block.
# TYPE kvblock_pool_block_size_positions gauge
kvblock_pool_block_size_positions{{shard=\"3\"}} 4
# HELP kvblock_pool_lookups_total Blocks looked up, by whether they were found.
# TYPE kvblock_pool_lookups_total counter
kvblock_pool_lookups_total{{shard=\"3\",result=\"hit\"}} 0
kvblock_pool_lookups_total{{shard=\"3\",result=\"miss\"}} 0
# HELP kvblock_pool_stored_blocks_total Blocks that became findable.
# TYPE kvblock_pool_stored_blocks_total counter
kvblock_pool_stored_blocks_total{{shard=\"3\"}} 0
# HELP kvblock_pool_duplicate_blocks_total Blocks published whose content already was findable.
# TYPE kvblock_pool_duplicate_blocks_total counter
kvblock_pool_duplicate_blocks_total{{shard=\"3\"}} 0
# HELP kvblock_pool_unpaid_duplicates_total Times publishing stopped because a duplicate could not be paid.
# TYPE kvblock_pool_unpaid_duplicates_total counter
kvblock_pool_unpaid_duplicates_total{{shard=\"3\"}} 0
# HELP kvblock_pool_declined_publishes_total Times publishing stopped because the key's buckets were full.
# TYPE kvblock_pool_declined_publishes_total counter
kvblock_pool_declined_publishes_total{{shard=\"3\"}} 0
# HELP kvblock_pool_reclaimed_blocks_total Idle blocks that were taken or evicted.
# TYPE kvblock_pool_reclaimed_blocks_total counter
kvblock_pool_reclaimed_blocks_total{{shard=\"3\"}} 0
# HELP kvblock_pool_second_chances_total Tokens that were sent back to the tail of the order.
# TYPE kvblock_pool_second_chances_total counter
kvblock_pool_second_chances_total{{shard=\"3\"}} 0
# HELP kvblock_pool_sweeps_total Searches of all blocks for want of a token.
# TYPE kvblock_pool_sweeps_total counter
kvblock_pool_sweeps_total{{shard=\"3\"}} 0
# HELP kvblock_pool_refusals_total Refused promises, by whether waiting can help (shortfall) or not (never).
# TYPE kvblock_pool_refusals_total counter
kvblock_pool_refusals_total{{shard=\"3\",reason=\"never\"}} 1
kvblock_pool_refusals_total{{shard=\"3\",reason=\"shortfall\"}} 1
# HELP kvblock_pool_memory_bytes Bytes of all arrays of the pool, in the host's memory.
# TYPE kvblock_pool_memory_bytes gauge
kvblock_pool_memory_bytes{{shard=\"3\"}} {memory}
# HELP kvblock_pool_content_bytes Bytes of them that hold tokens or digests.
# TYPE kvblock_pool_content_bytes gauge
kvblock_pool_content_bytes{{shard=\"3\"}} {content}
"
    );
    assert_eq!(metrics.to_string(), expected);
    parse(&expected);
    drop((blocks, reservation));
}

#[test]
fn the_samples_of_a_family_stand_together() {
    let mut metrics = Metrics::new();
    for (instance, shard, blocks) in [("0", "0", 10), ("0", "1", 11), ("1", "0", 12)] {
        let labels = [("shard", shard), ("instance", instance)];
        metrics
            .pool(&labels, &pool(blocks).report())
            .expect("sound labels");
    }
    let families = parse(&metrics.to_string());
    let found = families["kvblock_pool_available_blocks"].samples.iter();
    let found: Vec<_> = found.map(|sample| (labels(sample), sample.1)).collect();
    let of = |instance, shard| vec![("instance", instance), ("shard", shard)];
    assert_eq!(
        found,
        [(of("0", "0"), 10), (of("0", "1"), 11), (of("1", "0"), 12)]
    );

    let states = families["kvblock_pool_blocks"].samples.iter();
    let states: Vec<_> = states
        .map(|sample| {
            let of = |at: usize| sample.0[at].1.as_str();
            (of(0), of(1), sample.0[2].0.as_str(), of(2), sample.1)
        })
        .collect();
    assert_eq!(states.len(), 12);
    assert_eq!(states[4], ("0", "1", "state", "free", 11));
    assert_eq!(states[7], ("0", "1", "state", "quarantined", 0));
}

#[test]
fn a_registry_and_leases_as_metrics() {
    let mut sequences = Sequences::new(pool(16), &SequencesConfig::new(4)).expect("room for four");
    let (space, prompt) = (Namespace::new(), [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::Cap(6));
    let first = sequences.admit(&request).expect("it fits").handle;
    sequences.computed(first, 9).expect("its positions");
    sequences.admit(&request).expect("it fits");
    let mut leases = Leases::new(sequences.pool(), 8).expect("room for leases");
    let _pins = [(1, 100), (2, 10)].map(|(owner, end)| {
        let pin = sequences.pin(first, &mut leases, Owner::new(owner), end);
        pin.expect("two published blocks")
    });
    assert_eq!(leases.tick(50), 1);
    let report = sequences.report();
    let mut metrics = Metrics::new();
    assert_eq!(metrics.to_string(), "");
    metrics.sequences(&[], &report).expect("no labels");
    metrics.pool(&[], &report.pool).expect("no labels");
    metrics
        .leases(&[("table", "pins")], &leases.report())
        .expect("sound labels");
    let page = metrics.to_string();
    let families = parse(&page);
    assert_eq!(families.len(), 55);
    for line in [
        "kvblock_sequences 2",
        "kvblock_sequences_max 4",
        "kvblock_sequences_held_blocks 4",
        "kvblock_sequences_table_entries 6",
        "kvblock_sequences_shared_entries 2",
        "kvblock_sequences_promised_blocks 2",
        "kvblock_sequences_positions 18",
        "kvblock_sequences_block_positions{use=\"used\"} 10",
        "kvblock_sequences_block_positions{use=\"unused\"} 6",
        "kvblock_sequences_pending_copies 0",
        "kvblock_sequences_loading_blocks 0",
        "kvblock_sequences_duplicated_blocks 0",
        "kvblock_sequences_physical_blocks 6",
        "kvblock_sequences_conservative_blocks 8",
        "kvblock_sequences_watermark_blocks 0",
        "kvblock_sequences_admissions_total{lookup=\"first\"} 2",
        "kvblock_sequences_admissions_total{lookup=\"returned\"} 0",
        "kvblock_sequences_queried_positions_total{lookup=\"first\"} 18",
        "kvblock_sequences_hit_positions_total{lookup=\"first\"} 8",
        "kvblock_sequences_preemptions_total 0",
        "kvblock_sequences_refused_appends_total 0",
        "kvblock_sequences_copies_total 0",
        "kvblock_sequences_imports_total 0",
        "kvblock_sequences_exports_total 0",
        "kvblock_sequences_swapped_out_total 0",
        "kvblock_sequences_swapped_in_total 0",
        "kvblock_sequences_swap_blocks_total{result=\"copied\"} 0",
        "kvblock_sequences_swap_blocks_total{result=\"found\"} 0",
        "kvblock_sequences_adopted_duplicates_total 0",
        "kvblock_sequences_publishing_ended_total 0",
        "kvblock_pool_blocks{state=\"held\"} 4",
        "kvblock_pool_lookups_total{result=\"hit\"} 2",
        "kvblock_pool_stored_blocks_total 2",
        "kvblock_leases{table=\"pins\"} 1",
        "kvblock_leases_blocks{table=\"pins\"} 2",
        "kvblock_leases_capacity_blocks{table=\"pins\"} 16",
        "kvblock_leases_references{table=\"pins\"} 2",
        "kvblock_leases_budget_references{table=\"pins\"} 8",
        "kvblock_leases_time{table=\"pins\"} 50",
        "kvblock_leases_expired_total{table=\"pins\"} 1",
    ] {
        assert!(
            page.lines().any(|it| it == line),
            "`{line}` is not in {page}"
        );
    }
}

#[test]
fn values_are_escaped_and_empty_ones_are_none() {
    let mut metrics = Metrics::new();
    let odd = "a \"b\"\\c\nd,e}=é";
    metrics
        .leases(
            &[("model", odd), ("zone", "")],
            &Leases::new(&pool(4), 2).expect("leases").report(),
        )
        .expect("sound");
    let page = metrics.to_string();
    assert!(
        page.contains("kvblock_leases{model=\"a \\\"b\\\"\\\\c\\nd,e}=é\"} 0\n"),
        "{page}"
    );
    assert_eq!(
        labels(&parse(&page)["kvblock_leases"].samples[0]),
        [("model", odd)]
    );
}

#[test]
fn labels_that_are_none_are_refused_and_nothing_is_added() {
    let report = pool(4).report();
    let mut metrics = Metrics::new();
    metrics
        .pool(&[("a", "1"), ("b", "2")], &report)
        .expect("sound labels");
    let before = metrics.to_string();
    let name = |name: &str| MetricsError::LabelName { name: name.into() };
    let reserved = |name: &str| MetricsError::Reserved { name: name.into() };
    let one = "another report of this kind has the labels {a=\"1\",b=\"2\"}";
    for (labels, error, says) in [
        (
            &[("", "1")][..],
            name(""),
            "`` is no name of a label: a letter or `_`, then letters, digits and `_`",
        ),
        (&[("1a", "1")], name("1a"), "`1a` is no name"),
        (&[("a:b", "1")], name("a:b"), "`a:b` is no name"),
        (&[("é", "1")], name("é"), "`é` is no name"),
        (
            &[("__name", "1")],
            reserved("__name"),
            "the label `__name` is reserved: choose another name",
        ),
        (
            &[("state", "1")],
            reserved("state"),
            "the label `state` is reserved: choose another name",
        ),
        (
            &[("a", "1"), ("c", ""), ("a", "2")],
            MetricsError::Repeated { name: "a".into() },
            "the label `a` is given twice",
        ),
        (
            &[("b", "2"), ("c", ""), ("a", "1")],
            MetricsError::Taken {
                labels: "{a=\"1\",b=\"2\"}".into(),
            },
            one,
        ),
    ] {
        let refused = metrics.pool(labels, &report).expect_err("no labels");
        assert_eq!(refused, error);
        assert!(refused.to_string().starts_with(says), "{refused}");
    }
    assert_eq!(metrics.to_string(), before);
    metrics.pool(&[], &report).expect("no labels");
    let refused = metrics
        .pool(&[("x", "")], &report)
        .expect_err("no labels again");
    assert_eq!(
        refused.to_string(),
        "another report of this kind has no labels, too"
    );
}

/// An instance of two ranks in lockstep, of 12 and 10 blocks, with a sequence of two blocks.
fn instance(first: u32) -> Instance {
    let ranks = [
        Rank::new(ShardId::new(first), 12),
        Rank::new(ShardId::new(first + 1), 10),
    ];
    let config = (PoolConfig::new(1, 4), SequencesConfig::new(3));
    let mut instance = Instance::lockstep(&ranks, &config.0, &config.1).expect("two ranks");
    let (space, prompt) = (Namespace::new(), [1; 8]);
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::Cap(4));
    instance.admit(&request).expect("room");
    instance
}

#[test]
fn an_instance_and_its_ranks() {
    let mut metrics = Metrics::new();
    metrics
        .instance(&[("instance", "a")], &instance(4).report())
        .expect("sound labels");
    let page = metrics.to_string();
    for line in [
        "kvblock_instance_free_blocks{instance=\"a\"} 7",
        "kvblock_instance_physical_blocks{instance=\"a\"} 3",
        "kvblock_instance_conservative_blocks{instance=\"a\"} 3",
        "kvblock_rank_blocks{instance=\"a\",rank=\"4\"} 12",
        "kvblock_rank_usable_blocks{instance=\"a\",rank=\"4\"} 10",
        "kvblock_rank_stranded_blocks{instance=\"a\",rank=\"4\"} 2",
        "kvblock_rank_stranded_blocks{instance=\"a\",rank=\"5\"} 0",
        "kvblock_pool_blocks{instance=\"a\",shard=\"5\",state=\"held\"} 2",
        "kvblock_sequences{instance=\"a\",shard=\"5\"} 1",
    ] {
        assert!(page.lines().any(|it| it == line), "{line}: {page}");
    }
    assert!(parse(&page).len() > 40);
}

#[test]
fn a_fleet_its_models_and_members() {
    let mut fleet = Fleet::new();
    let first = fleet.add(instance(4), Member::new(7, 100)).expect("memory");
    let starting = Member::new(7, 100).ready(false);
    let second = fleet.add(instance(8), starting).expect("memory");
    let (space, prompt) = (Namespace::new(), [2; 64]);
    let request = Admit::new(Prompt::new(&space, &prompt), Growth::OnDemand);
    assert!(fleet.admit(7, &request, Placement::MostFree).is_err());
    let mut metrics = Metrics::new();
    metrics.fleet(&[], &fleet.report()).expect("sound labels");
    let page = metrics.to_string();
    let (first, second) = (first.get(), second.get());
    for line in [
        String::from("kvblock_fleet_requests_total{result=\"never\"} 1"),
        String::from("kvblock_fleet_requests_total{result=\"placed\"} 0"),
        String::from("kvblock_model_instances{model=\"7\"} 2"),
        String::from("kvblock_model_ready_instances{model=\"7\"} 1"),
        String::from("kvblock_model_largest_now_positions{model=\"7\",of=\"one\"} 28"),
        String::from("kvblock_model_largest_ever_positions{model=\"7\",of=\"sum\"} 40"),
        format!("kvblock_member_state{{instance=\"{first}\",model=\"7\",state=\"ready\"}} 1"),
        format!("kvblock_member_state{{instance=\"{second}\",model=\"7\",state=\"starting\"}} 1"),
        format!("kvblock_member_memory_blocks{{instance=\"{first}\",model=\"7\",use=\"used\"}} 3"),
        format!(
            "kvblock_member_service_positions{{instance=\"{first}\",model=\"7\",use=\"used\"}} 8"
        ),
        format!("kvblock_rank_stranded_blocks{{instance=\"{second}\",model=\"7\",rank=\"8\"}} 2"),
    ] {
        assert!(page.lines().any(|it| it == line), "{line}: {page}");
    }
    parse(&page);

    // Names that it gives itself, or a fleet that is there already: nothing is added.
    let report = fleet.report();
    for labels in [
        &[("shard", "x")][..],
        &[("model", "x")],
        &[("rank", "x")],
        &[],
    ] {
        assert!(metrics.fleet(labels, &report).is_err(), "{labels:?}");
        assert_eq!(metrics.to_string(), page, "{labels:?}");
    }
    assert!(
        metrics
            .instance(&[("rank", "x")], &instance(4).report())
            .is_err()
    );
    assert_eq!(metrics.to_string(), page);
    metrics
        .fleet(&[("fleet", "other")], &report)
        .expect("new labels");
    parse(&metrics.to_string());
}
