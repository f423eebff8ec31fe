# shardc_llvm and shardc_mlir: LLVM, and MLIR with it, for whoever links them. Debian's shared libraries, or in a program that has the
# property SHARDC_HOLDS_LLVM what it needs of the archives: the programs that are installed ask for neither library on a user's machine, and
# start in a third of the time (docs/decisions/0059-llvm-in-the-program.md). Builds for developers (debug, sanitizers) take the shared
# libraries: they link faster, and sanitizers want one copy of each global.
set(SHARDC_LLVM_TARGETS X86 NVPTX)

# lld initializes all of LLVM's targets. Under the names of those that no kernel is compiled for stand X86's functions, and the targets
# themselves, which are half of the archives, are left out.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
file(GLOB descriptions RELATIVE ${LLVM_LIBRARY_DIR} ${LLVM_LIBRARY_DIR}/libLLVM*Desc.a)
set(aliases)
foreach(description IN LISTS descriptions)
  string(REGEX REPLACE "^libLLVM(.*)Desc\\.a$" "\\1" target ${description})
  if(target IN_LIST SHARDC_LLVM_TARGETS)
    continue()
  endif()
  list(FILTER archives EXCLUDE REGEX "/libLLVM${target}(AsmParser|CodeGen|Desc|Disassembler|Info|TargetMCA|Utils)\\.a$")
  foreach(part TargetInfo Target TargetMC AsmParser AsmPrinter Disassembler)
    string(APPEND aliases "PROVIDE(LLVMInitialize${target}${part} = LLVMInitializeX86${part});\n")
  endforeach()
endforeach()
list(JOIN archives "\n" archives)
set(SHARDC_LLVM_ARCHIVES ${CMAKE_BINARY_DIR}/llvm-archives.rsp)
set(SHARDC_LLVM_ALIASES ${CMAKE_BINARY_DIR}/llvm-aliases.ld)
file(CONFIGURE OUTPUT ${SHARDC_LLVM_ARCHIVES} CONTENT "@archives@\n" @ONLY)
file(CONFIGURE OUTPUT ${SHARDC_LLVM_ALIASES} CONTENT "@aliases@" @ONLY)
find_library(SHARDC_ZSTD_STATIC libzstd.a REQUIRED)

define_property(TARGET PROPERTY SHARDC_HOLDS_LLVM BRIEF_DOCS "whether a program holds what it needs of LLVM and MLIR")
set(held "$<AND:$<CONFIG:Release>,$<BOOL:$<TARGET_PROPERTY:SHARDC_HOLDS_LLVM>>>")
add_library(shardc_llvm INTERFACE)
target_link_libraries(shardc_llvm INTERFACE
  "$<$<NOT:${held}>:LLVM>" "$<${held}:-Wl,@${SHARDC_LLVM_ARCHIVES};-Wl,${SHARDC_LLVM_ALIASES};${SHARDC_ZLIB_STATIC};${SHARDC_ZSTD_STATIC}>")
target_link_options(shardc_llvm INTERFACE "$<${held}:-Wl,--gc-sections;-static-libstdc++;-static-libgcc>")
add_library(shardc_mlir INTERFACE)
target_link_libraries(shardc_mlir INTERFACE "$<$<NOT:${held}>:MLIR>" shardc_llvm)
