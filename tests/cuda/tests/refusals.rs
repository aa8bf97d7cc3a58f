//! What is wrong is told at the call, by its name, and changes nothing; what is right is not refused.

mod support;

use kvblock::cuda::{CudaError, CudaStream, PairList};
use support::driver::Driver;
use support::rig::{HOST, NEAR, Rig, config};

#[test]
fn a_list_for_a_route_to_the_host_is_refused_with_what_is_wrong() {
    let driver = Driver::new(1);
    let mut rig = Rig::new(&driver, &config());
    let route = rig.route(NEAR, HOST);
    let refused = PairList::new(&mut rig.mover, &route, 4).expect_err("not on the device");
    assert!(
        !refused.to_string().contains("both of the host"),
        "only one is of the host: {refused}"
    );
}

#[test]
fn every_result_that_nothing_recovers_from_poisons() {
    for code in [226, 700, 719, 810, 911] {
        let driver = Driver::new(1);
        let rig = Rig::new(&driver, &config());
        let engine = CudaStream::new(&rig.device).expect("a stream");
        driver.stand_in.fail("cuStreamSynchronize", 1, code);
        let poisoned = CudaError::Poisoned {
            call: "cuStreamSynchronize",
            code: code as u32,
        };
        assert_eq!(engine.synchronize(), Err(poisoned));
        assert_eq!(rig.device.check_alive(), Err(poisoned));
        assert!(!poisoned.to_string().contains("a result of"), "{poisoned}");
        drop(rig);
        drop(driver);
    }
}
