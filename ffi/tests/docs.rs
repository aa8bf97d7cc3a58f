//! Every function of the header says what a caller must know: threads, cost, errors and NULL.

#[allow(dead_code, reason = "each test uses a part of it")]
mod support;

/// A function of the C API as its source declares it.
struct Function {
    name: String,
    docs: String,
    /// From its parameters to what it returns.
    signature: String,
}

/// The functions of a source.
fn functions(source: &str) -> Vec<Function> {
    let mut found = Vec::new();
    let mut pieces = source.split("#[unsafe(no_mangle)]\n");
    let mut before = pieces.next().unwrap_or_default();
    for after in pieces {
        let (head, _) = after.split_once('{').expect("a body");
        let (_, named) = head.split_once("fn ").expect("a function");
        let (name, signature) = named.split_once('(').expect("parameters");
        let lines = before.lines().rev();
        // An attribute may stand between the two.
        let docs = lines.skip_while(|line| !line.starts_with("///"));
        let docs: Vec<_> = docs
            .map_while(|line| line.strip_prefix("///"))
            .map(str::trim)
            .collect();
        found.push(Function {
            name: name.to_owned(),
            docs: docs.into_iter().rev().collect::<Vec<_>>().join(" "),
            signature: signature.to_owned(),
        });
        before = after;
    }
    found
}

impl Function {
    /// What its documentation lacks. One that says `As kvb_other` leaves to that what it does not say itself.
    fn missing(&self) -> Vec<&'static str> {
        let says = |what: &str| self.docs.contains(what);
        if self.docs.to_lowercase().contains("as `kvb_") {
            return Vec::new();
        }
        let pointers = self.signature.contains("*const ") || self.signature.contains("*mut ");
        let fails = self.signature.contains("-> kvb_status") && pointers;
        let mut missing = Vec::new();
        if !says("Threads:") {
            missing.push("Threads:");
        }
        if !says("O(") && !says("asses over all") && !says("no other call may use") {
            missing.push("its complexity");
        }
        if fails && !says("Errors") {
            missing.push("Errors:");
        }
        if pointers && self.signature.contains("-> kvb_status") && !says("NULL") {
            missing.push("NULL:");
        }
        missing
    }
}

#[test]
fn every_function_says_what_a_caller_must_know() {
    let mut lacking = Vec::new();
    let mut functions_seen = 0;
    for source in support::sources() {
        for function in functions(&source) {
            functions_seen += 1;
            let missing = function.missing();
            if !missing.is_empty() {
                lacking.push(format!("{}: {}", function.name, missing.join(", ")));
            }
        }
    }
    assert!(functions_seen > 70, "only {functions_seen} functions seen");
    assert!(lacking.is_empty(), "{}", lacking.join("\n"));
}
