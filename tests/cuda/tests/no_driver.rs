//! A machine without a driver, with one that is too old, that does not take the kernels, or that has no device: an
//! error that says so, and no panic. A driver is loaded once for a process, so each case has a process of its own.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use kvblock::cuda::{CudaDevice, CudaError};
use support::stand_in::{self, StandIn};

/// The test that is run in a process of its own, and what it is to look at.
const CHILD: &str = "opens_a_device_in_a_process_of_its_own";
const CASE: &str = "KVB_CASE";

/// Every entry point that is looked for.
fn needed() -> Vec<String> {
    let source = include_str!("../../../src/cuda/driver.rs");
    let names = source
        .lines()
        .filter_map(|line| line.split_once("= \"cu")?.1.split_once('"'));
    let found: Vec<_> = names.map(|(name, _)| format!("cu{name}")).collect();
    assert!(found.len() > 30, "{found:?}");
    found
}

/// Opens a device in a process that finds libcuda.so in one directory only; answers what that says.
fn opened_with(libraries: &Path, case: &str) -> String {
    let program = std::env::current_exe().expect("the test's own path");
    let done = Command::new(program)
        .args(["--exact", CHILD, "--nocapture"])
        .env(CASE, case)
        .env("LD_LIBRARY_PATH", libraries)
        .env_remove("LD_PRELOAD")
        .output()
        .expect("the test runs itself");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success(),
        "{case}: {text} {}",
        String::from_utf8_lossy(&done.stderr)
    );
    let said = text
        .lines()
        .find_map(|line| line.split_once("opened: "))
        .map(|line| line.1.to_owned());
    said.unwrap_or_else(|| panic!("{case}: {text}"))
}

/// A new directory, with a copy of the stand-in in which one name is another.
fn directory(name: &str, without: Option<&str>) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("no_driver-{name}"));
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory");
    if let Some(symbol) = without {
        let mut library = std::fs::read(stand_in::path()).expect("the stand-in");
        let name = [b"\0", symbol.as_bytes(), b"\0"].concat();
        let places: Vec<usize> = (0..library.len() - name.len())
            .filter(|at| library[*at..].starts_with(&name))
            .collect();
        assert!(!places.is_empty(), "{symbol} is exported");
        for place in places {
            library[place + 1] = b'x';
        }
        std::fs::write(directory.join("libcuda.so"), library).expect("a copy");
    }
    directory
}

#[test]
fn opens_a_device_in_a_process_of_its_own() {
    if std::env::var_os(CASE).is_none() {
        return;
    }
    match CudaDevice::open(0) {
        Ok(device) => println!("\nopened: {:?}", device.name()),
        Err(error) => println!("\nopened: {error:?}; {error}"),
    }
}

#[test]
fn no_driver_is_an_error() {
    let said = opened_with(&directory("none", None), "none");
    if said.starts_with("Ok") {
        println!("this machine has a driver of its own, in a place that is always looked at");
        return;
    }
    assert!(said.starts_with("DriverNotFound; no CUDA driver"), "{said}");
}

#[test]
fn a_driver_without_a_function_is_an_error_that_names_it() {
    // A copy with every function is opened: it is the missing name that counts.
    let said = opened_with(&directory("whole", Some("cuMemcpyDtoD_v2")), "whole");
    assert_eq!(said, "Ok(\"stand-in (CPU)\")");
    for symbol in needed() {
        let said = opened_with(&directory(&symbol, Some(&symbol)), &symbol);
        assert!(
            said.starts_with(&format!("MissingSymbol {{ name: \"{symbol}\" }};")),
            "{symbol}: {said}"
        );
    }
}

#[test]
fn a_driver_that_has_no_device_or_does_not_take_the_kernels_is_an_error() {
    let stand_in = StandIn::lock(1);
    // The first call in this process that gets as far: until it succeeds the driver is initialised anew.
    stand_in.set_device(false);
    let nothing = CudaError::Driver {
        call: "cuInit",
        code: 100,
    };
    assert_eq!(CudaDevice::open(0).map(drop), Err(nothing));
    stand_in.set_device(true);
    assert!(CudaDevice::open(0).is_ok());
    assert_eq!(
        CudaDevice::open(1).map(drop),
        Err(CudaError::NoSuchDevice {
            asked: 1,
            devices: 1
        })
    );
    for code in [200, 209, 218, 222] {
        stand_in.fail("cuModuleLoadData", 1, code);
        assert_eq!(
            CudaDevice::open(0).map(drop),
            Err(CudaError::BadPtx { code: code as u32 })
        );
    }
    // CUDA 11.7 knows PTX up to 7.7, the kernels are in 7.8.
    stand_in.set_driver_version(11070);
    assert_eq!(
        CudaDevice::open(0).map(drop),
        Err(CudaError::BadPtx { code: 222 })
    );
    stand_in.set_driver_version(11080);
    assert!(CudaDevice::open(0).is_ok());
    stand_in.assert_nothing_live();
}
