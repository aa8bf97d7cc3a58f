# cmake -D nm= -D ld= -D objcopy= -D ar= -D from=libkvblock_c.a -D to=libkvblock.a -P prelink.cmake
#
# Two static libraries that are written in Rust define the same names (the panic handler, the allocator's shim) and cannot be
# linked together. This makes of such a library one object in which only the names of the C API are global.

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(NOT code EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${code}\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run(${nm} -g --defined-only ${from})
string(REGEX MATCHALL " T kvb_[A-Za-z0-9_]+" symbols "${output}")
if(NOT symbols)
  message(FATAL_ERROR "${from} has no function whose name begins with kvb_")
endif()
list(REMOVE_DUPLICATES symbols)
# Only what these need is taken. All of it (--whole-archive) would be too much: compiler_builtins is there twice.
list(TRANSFORM symbols REPLACE " T " "--undefined=")

# Rust's own objects carry LLVM's intermediate code beside machine code, for which linkers with an older LLVM take them to be unusable.
run(${objcopy} --remove-section=.llvmbc --remove-section=.llvmcmd ${from} ${to}.code.a)
# Groups of sections that each Rust library has (the reference to the personality of its unwinder) are resolved here: as groups the linker
# would keep one of both, and if that is this one, whose names are no longer global, the other library would miss its own.
run(${ld} -r --gc-sections --force-group-allocation -o ${to}.all.o ${symbols} ${to}.code.a)
run(${objcopy} --strip-debug --wildcard "--keep-global-symbol=kvb_*" ${to}.all.o ${to}.o)
file(REMOVE ${to})
run(${ar} rcs ${to} ${to}.o)
file(REMOVE ${to}.code.a ${to}.all.o ${to}.o)
