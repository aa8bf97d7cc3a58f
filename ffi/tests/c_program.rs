//! C programs against the shared library of this build, as a C programmer would compile them.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

use core::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use support::prototypes::prototypes;

/// A directory of this test alone, with the library under the names that linkers and loaders look for.
fn directory(test: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("c_program")
        .join(test);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("a directory for the test");
    let soname = format!("libkvblock.so.{}", support::number("KVB_ABI_VERSION"));
    for name in ["libkvblock.so", &soname] {
        std::os::unix::fs::symlink(support::shared_library(), directory.join(name))
            .expect("a link to the library");
    }
    directory
}

/// Compiles a C99 or C++17 program with all warnings as errors, runs it, and gives what it writes.
fn compile_and_run(source: &Path, directory: &Path) -> String {
    let program = directory.join("program");
    let (compiler, standard) = match source.extension() {
        Some(cpp) if cpp == "cpp" => ("c++", "-std=c++17"),
        _ => ("cc", "-std=c99"),
    };
    support::run(
        Command::new(compiler)
            .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g"])
            .arg("-I")
            .arg(support::package().join("include"))
            .arg(source)
            .arg("-o")
            .arg(&program)
            .arg(format!("-Wl,-rpath,{}", directory.display()))
            .arg("-L")
            .arg(directory)
            .arg("-lkvblock"),
    );
    support::run(&mut Command::new(&program))
}

#[test]
fn c99_program_runs_on_the_shared_library() {
    let directory = directory("consumer");
    let source = support::package().join("tests/packaging/consumer/consumer.c");
    let written = compile_and_run(&source, &directory);
    let expected = format!("kvblock {}: done\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(written, expected);
}

#[test]
fn every_status_of_the_header_is_known_to_the_library_by_its_name() {
    let directory = directory("status");
    let mut names = support::macros("KVB_ERR_");
    names.push("KVB_OK".to_owned());
    let mut code = String::from(
        "#include <kvblock.h>\n#include <stdio.h>\n#include <string.h>\n\
         static int wrong(kvb_status status, const char *name) {\n\
         if (strcmp(kvb_status_name(status), name) == 0 && *kvb_status_message(status)) return 0;\n\
         printf(\"%s is %s: %s\\n\", name, kvb_status_name(status), kvb_status_message(status));\n\
         return 1;\n}\nint main(void) {\nint bad = 0;\n",
    );
    for name in &names {
        writeln!(code, "bad += wrong({name}, \"{name}\");").expect("text grows");
    }
    code.push_str("bad += wrong(-1, \"KVB_ERR_UNKNOWN\");\nreturn bad;\n}\n");
    let source = directory.join("status.c");
    std::fs::write(&source, code).expect("a C source");
    assert_eq!(compile_and_run(&source, &directory), "");
}

/// An argument that is nothing: NULL, 0, a handle of no bits.
fn nothing(parameter: &str) -> &'static str {
    if parameter.contains('*') {
        "NULL"
    } else if parameter.starts_with("kvb_handle ") {
        "(kvb_handle){0}"
    } else {
        "0"
    }
}

#[test]
fn every_function_can_be_called_with_nothing() {
    let directory = directory("nothing");
    let mut code = String::from(
        "#include <kvblock.h>\n#include <stdio.h>\n#define CHECK(call) \\\n\
         if ((call) != KVB_ERR_NULL) { puts(#call); bad++; }\nint main(void) {\nint bad = 0;\n",
    );
    for function in prototypes() {
        let arguments: Vec<_> = function.parameters.iter().map(|it| nothing(it)).collect();
        let call = format!("{}({})", function.name, arguments.join(", "));
        // NULL are the library's own hooks; a text of no ranks may be written nowhere.
        let may_be_null = ["kvb_set_hooks", "kvb_plan_text"].contains(&function.name.as_str());
        let refuses = function.answer == "kvb_status" && !may_be_null;
        if refuses && arguments.contains(&"NULL") {
            writeln!(code, "CHECK({call})").expect("text grows");
        } else {
            writeln!(code, "(void){call};").expect("text grows");
        }
    }
    code.push_str("return bad;\n}\n");
    let source = directory.join("nothing.c");
    std::fs::write(&source, code).expect("a C source");
    assert_eq!(compile_and_run(&source, &directory), "");
}

/// The section of the repository's README for C and C++.
fn section_for_c() -> String {
    let path = support::package().join("../README.md");
    let readme = std::fs::read_to_string(path).expect("the README of the repository");
    let heading = "## From C and C++\n";
    let (_, section) = readme.split_once(heading).expect("a section for C");
    let (section, _) = section.split_once("\n## ").unwrap_or((section, ""));
    section.to_owned()
}

/// The first block of a language in a text, and what comes after it.
fn block<'a>(text: &'a str, language: &str) -> (&'a str, &'a str) {
    let start = format!("```{language}\n");
    let (_, rest) = text.split_once(&start).expect("a block of this language");
    rest.split_once("```\n").expect("the end of the block")
}

#[test]
fn program_of_the_readme_writes_what_the_readme_says() {
    let section = section_for_c();
    let (program, rest) = block(&section, "c");
    let (expected, _) = block(rest, "text");
    let directory = directory("readme_c");
    let source = directory.join("readme.c");
    std::fs::write(&source, program).expect("a C source");
    assert_eq!(compile_and_run(&source, &directory), expected);
}

#[test]
fn cpp_program_of_the_readme_runs() {
    let section = section_for_c();
    let directory = directory("readme_cpp");
    let source = directory.join("readme.cpp");
    std::fs::write(&source, block(&section, "cpp").0).expect("a C++ source");
    assert_eq!(compile_and_run(&source, &directory), "writes slot 10\n");
}
