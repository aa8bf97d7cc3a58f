# Builds the Rust package, makes of it libkvblock.a and libkvblock.so.ABI, and defines kvblock::static and kvblock::shared.

find_program(KVBLOCK_CARGO cargo REQUIRED DOC "Rust's cargo")
foreach(tool NM LINKER OBJCOPY AR)
  if(NOT CMAKE_${tool})
    message(FATAL_ERROR "kvblock: CMAKE_${tool} is not set, so the static library cannot be made")
  endif()
endforeach()
set(KVBLOCK_RUST_TARGET "" CACHE STRING "Rust's name of the platform to build for; empty: this one")

# As cargo does it: the directory that the environment names, else one of our own.
if(DEFINED ENV{CARGO_TARGET_DIR})
  get_filename_component(kvblock_cargo_dir "$ENV{CARGO_TARGET_DIR}" ABSOLUTE BASE_DIR "$ENV{PWD}")
else()
  set(kvblock_cargo_dir ${CMAKE_CURRENT_BINARY_DIR}/cargo)
endif()
set(KVBLOCK_CARGO_DIR ${kvblock_cargo_dir} CACHE PATH "Where cargo builds")

set(kvblock_release_dir ${KVBLOCK_CARGO_DIR}/release)
set(kvblock_cargo_arguments build --release --locked --package kvblock-ffi --lib --target-dir ${KVBLOCK_CARGO_DIR})
if(KVBLOCK_RUST_TARGET)
  set(kvblock_release_dir ${KVBLOCK_CARGO_DIR}/${KVBLOCK_RUST_TARGET}/release)
  list(APPEND kvblock_cargo_arguments --target ${KVBLOCK_RUST_TARGET})
endif()

# The version of the binary interface, which the sources know.
file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/src/version.rs kvblock_abi REGEX "const KVB_ABI_VERSION: u32 = ")
string(REGEX REPLACE ".* = ([0-9]+).*" "\\1" kvblock_abi "${kvblock_abi}")
set(kvblock_soname libkvblock.so.${kvblock_abi})
set(kvblock_archive ${CMAKE_CURRENT_BINARY_DIR}/libkvblock.a)
set(kvblock_library ${CMAKE_CURRENT_BINARY_DIR}/libkvblock.so.${PROJECT_VERSION})
set(kvblock_links ${CMAKE_CURRENT_BINARY_DIR}/${kvblock_soname} ${CMAKE_CURRENT_BINARY_DIR}/libkvblock.so)

# Always runs: cargo knows what has changed. What it does not rewrite is not packed again.
add_custom_target(kvblock_cargo
  COMMAND ${CMAKE_COMMAND} -E env --unset=CARGO_BUILD_TARGET ${KVBLOCK_CARGO} ${kvblock_cargo_arguments}
  BYPRODUCTS ${kvblock_release_dir}/libkvblock_c.a ${kvblock_release_dir}/libkvblock_c.so
  WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
  COMMENT "Building kvblock with cargo"
  USES_TERMINAL VERBATIM)

add_custom_command(OUTPUT ${kvblock_archive}
  COMMAND ${CMAKE_COMMAND}
    -D nm=${CMAKE_NM} -D ld=${CMAKE_LINKER} -D objcopy=${CMAKE_OBJCOPY} -D ar=${CMAKE_AR}
    -D from=${kvblock_release_dir}/libkvblock_c.a -D to=${kvblock_archive}
    -P ${CMAKE_CURRENT_LIST_DIR}/prelink.cmake
  DEPENDS kvblock_cargo ${kvblock_release_dir}/libkvblock_c.a ${CMAKE_CURRENT_LIST_DIR}/prelink.cmake
  COMMENT "Linking libkvblock.a into one object"
  VERBATIM)

add_custom_command(OUTPUT ${kvblock_library} ${kvblock_links}
  COMMAND ${CMAKE_COMMAND} -E copy ${kvblock_release_dir}/libkvblock_c.so ${kvblock_library}
  COMMAND ${CMAKE_COMMAND} -E create_symlink libkvblock.so.${PROJECT_VERSION} ${kvblock_soname}
  COMMAND ${CMAKE_COMMAND} -E create_symlink ${kvblock_soname} libkvblock.so
  DEPENDS kvblock_cargo ${kvblock_release_dir}/libkvblock_c.so
  WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}
  VERBATIM)

add_custom_target(kvblock_libraries ALL DEPENDS ${kvblock_archive} ${kvblock_library} ${kvblock_links})

add_library(kvblock::static STATIC IMPORTED GLOBAL)
set_target_properties(kvblock::static PROPERTIES
  IMPORTED_LOCATION ${kvblock_archive}
  IMPORTED_LINK_INTERFACE_LANGUAGES C)

add_library(kvblock::shared SHARED IMPORTED GLOBAL)
set_target_properties(kvblock::shared PROPERTIES
  IMPORTED_LOCATION ${kvblock_library}
  IMPORTED_SONAME ${kvblock_soname})

foreach(target kvblock::static kvblock::shared)
  target_include_directories(${target} INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/include)
  add_dependencies(${target} kvblock_libraries)
endforeach()
