//! Modules and their functions.

use core::ffi::CStr;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{
    INVALID_HANDLE, INVALID_IMAGE, INVALID_PTX, NOT_FOUND, Outcome, UNSUPPORTED_PTX_VERSION,
};
use crate::ptx::{self, Kernel, PtxError};
use crate::world::{World, handle};

/// A loaded module.
#[derive(Debug)]
pub(crate) struct Module {
    kernels: Arc<BTreeMap<String, Arc<Kernel>>>,
}

/// A file that was parsed: tests load the same one again and again.
#[derive(Debug)]
struct Parsed {
    text: String,
    version: (u32, u32),
    kernels: Arc<BTreeMap<String, Arc<Kernel>>>,
}

static PARSED: Mutex<Vec<Arc<Parsed>>> = Mutex::new(Vec::new());

impl Parsed {
    const KEPT: usize = 4;

    fn of(text: &str) -> Result<Arc<Self>, PtxError> {
        let mut known = PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parsed) = known.iter().find(|parsed| parsed.text == text) {
            return Ok(parsed.clone());
        }
        let ptx = ptx::parse(text)?;
        let kernels = ptx
            .kernels
            .into_iter()
            .map(|kernel| (kernel.name.clone(), Arc::new(kernel)))
            .collect();
        let parsed = Arc::new(Self {
            text: text.into(),
            version: ptx.version,
            kernels: Arc::new(kernels),
        });
        if known.len() == Self::KEPT {
            known.remove(0);
        }
        known.push(parsed.clone());
        Ok(parsed)
    }
}

/// A kernel of a module.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) module: usize,
    pub(crate) kernel: Arc<Kernel>,
}

impl World {
    /// Parses PTX text; on an error the second answer says what was wrong.
    pub(crate) fn load_module(&mut self, image: &CStr) -> (Outcome<usize>, String) {
        let Ok(text) = image.to_str() else {
            return (Err(INVALID_IMAGE), "not PTX text".into());
        };
        let ptx = match Parsed::of(text) {
            Ok(ptx) => ptx,
            Err(error) => return (Err(INVALID_PTX), error.to_string()),
        };
        // CUDA 12.0 came with PTX 8.0, 11.8 with 7.8.
        let known = ptx_version(self.settings.version);
        if ptx.version > known {
            return (
                Err(UNSUPPORTED_PTX_VERSION),
                format!("PTX {:?} is newer than {known:?}", ptx.version),
            );
        }
        let module = handle();
        self.modules.insert(
            module,
            Module {
                kernels: ptx.kernels.clone(),
            },
        );
        (Ok(module), String::new())
    }

    pub(crate) fn function(&mut self, module: usize, name: &CStr) -> Outcome<usize> {
        let kernels = &self.modules.get(&module).ok_or(INVALID_HANDLE)?.kernels;
        let kernel = name
            .to_str()
            .ok()
            .and_then(|name| kernels.get(name))
            .ok_or(NOT_FOUND)?
            .clone();
        let known = self.functions.iter().find(|(_, function)| {
            function.module == module && Arc::ptr_eq(&function.kernel, &kernel)
        });
        if let Some((known, _)) = known {
            return Ok(*known);
        }
        let function = handle();
        self.functions.insert(function, Function { module, kernel });
        Ok(function)
    }

    pub(crate) fn unload(&mut self, module: usize) -> Outcome {
        self.modules.remove(&module).ok_or(INVALID_HANDLE)?;
        self.functions
            .retain(|_, function| function.module != module);
        Ok(())
    }
}

fn ptx_version(driver: i32) -> (u32, u32) {
    let (major, minor) = (driver / 1000, driver % 1000 / 10);
    let (major, minor) = if major >= 12 {
        (major - 4, minor)
    } else {
        (7, minor)
    };
    (major.unsigned_abs(), minor.unsigned_abs())
}
