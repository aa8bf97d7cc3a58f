//! Instances and fleets as metrics: each sample says whose it is, and a page that refuses one report has none of it.

use kvblock::{Member, Metrics, MetricsError, Placement};

use crate::format::parse;
use crate::words::{MODEL, add, admit, fleet, replica, run_on, stages};

/// Labels as they stand, and the value.
fn samples(page: &str, family: &str) -> Vec<(String, u64)> {
    let families = parse(page);
    let family = families.get(family).expect("the page has it");
    let labels = |labels: &[(String, String)]| {
        let all = labels.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join(",")
    };
    let samples = family.samples.iter();
    samples.map(|(of, value)| (labels(of), *value)).collect()
}

#[test]
fn an_instance_has_its_own_figures_and_those_of_its_shards() {
    let split = stages(&[8, 6]);
    let report = split.report();
    let mut metrics = Metrics::new();
    metrics.instance(&[("host", "a")], &report).unwrap();
    let page = metrics.to_string();
    let own = |family| samples(&page, family);
    assert_eq!(own("kvblock_instance_free_blocks"), [("host=a".into(), 6)]);
    assert_eq!(own("kvblock_instance_ranks"), [("host=a".into(), 2)]);
    let shards = report
        .ranks
        .iter()
        .map(|it| format!("host=a,shard={}", it.shard));
    let available: Vec<_> = shards.zip([8, 6]).collect();
    assert_eq!(own("kvblock_pool_available_blocks"), available);
    assert_eq!(own("kvblock_sequences").len(), 2);
}

#[test]
fn a_fleet_has_the_largest_that_fits_beside_the_sum() {
    let (mut fleet, ids) = fleet(&[8, 8]);
    run_on(&mut fleet, ids[0], "A20");
    run_on(&mut fleet, ids[1], "B12");
    add(&mut fleet, replica(4), Member::new(3, 16).ready(false));
    for tokens in ["C32", "C36", "D4"] {
        let _ = admit(&mut fleet, tokens, Placement::MostFree);
    }
    let mut metrics = Metrics::new();
    metrics.fleet(&[], &fleet.report()).unwrap();
    let page = metrics.to_string();
    let of = |family| samples(&page, family);
    let names = [
        "instance=0,model=7",
        "instance=1,model=7",
        "instance=2,model=3",
    ];
    let members = |values: [u64; 3]| names.map(str::to_string).into_iter().zip(values);
    let is = |family, values| assert!(members(values).eq(of(family)), "{:?}", of(family));
    is("kvblock_fleet_instance_used_blocks", [5, 4, 0]);
    is("kvblock_fleet_instance_capacity_blocks", [8, 8, 4]);
    is("kvblock_fleet_instance_demanded_positions", [1, 5, 0]);
    is("kvblock_fleet_instance_service_positions", [64, 64, 16]);
    is("kvblock_instance_free_blocks", [3, 4, 4]);
    let states = of("kvblock_fleet_instance_state");
    let is_one = |(labels, value): &&(String, u64)| *value == 1 && labels.contains("state=");
    let ones: Vec<_> = states
        .iter()
        .filter(is_one)
        .map(|it| it.0.as_str())
        .collect();
    assert_eq!(
        ones,
        [
            "instance=0,model=7,state=ready",
            "instance=1,model=7,state=ready",
            "instance=2,model=3,state=starting"
        ]
    );
    let models = |family, values: [u64; 2]| {
        let models = ["model=3", "model=7"].map(str::to_string);
        assert!(
            models.into_iter().zip(values).eq(of(family)),
            "{:?}",
            of(family)
        );
    };
    models("kvblock_fleet_model_largest_now_positions", [0, 16]);
    models("kvblock_fleet_model_sum_now_positions", [0, 28]);
    models("kvblock_fleet_model_largest_ever_positions", [0, 32]);
    models("kvblock_fleet_model_ready_instances", [0, 2]);
    assert_eq!(of("kvblock_fleet_placed_total"), [(String::new(), 1)]);
    assert_eq!(
        of("kvblock_fleet_refused_total"),
        [
            ("reason=never".into(), 1),
            ("reason=later".into(), 1),
            ("reason=service".into(), 0),
            ("reason=otherwise".into(), 0)
        ]
    );
    // 8 blocks were 3 and 5.
    assert_eq!(
        of("kvblock_fleet_refused_fits_in_sum_total"),
        [(String::new(), 1)]
    );
}

#[test]
fn a_refused_report_adds_nothing() {
    let (fleet, ids) = fleet(&[8, 8]);
    let (report, instance) = (fleet.report(), fleet.get(ids[1]).unwrap().report());
    let mut metrics = Metrics::new();
    // The labels of the second one's pool are taken: all else of the fleet comes before or after.
    let shard = instance.binding.to_string();
    let labels = [("instance", "1"), ("model", "7"), ("shard", &*shard)];
    metrics.pool(&labels, &instance.shards[0].pool).unwrap();
    let before = metrics.to_string();
    let refused = metrics.fleet(&[], &report).unwrap_err();
    assert!(matches!(refused, MetricsError::Taken { .. }), "{refused:?}");
    assert_eq!(metrics.to_string(), before);
    for name in ["instance", "model", "shard", "state"] {
        let refused = metrics.fleet(&[(name, "x")], &report).unwrap_err();
        assert!(
            matches!(
                refused,
                MetricsError::Repeated { .. } | MetricsError::Reserved { .. }
            ),
            "{refused:?}"
        );
        assert_eq!(metrics.to_string(), before);
    }
    metrics.fleet(&[("fleet", "b")], &report).unwrap();
    let free = samples(&metrics.to_string(), "kvblock_instance_free_blocks");
    assert_eq!(free[0], (format!("fleet=b,instance=0,model={MODEL}"), 8));
}
