# shardc_embed(FILE INC): INC is what `#include` between the braces of an array makes the bytes of FILE, each with a comma behind it. FILE may
# be an output of the build: whoever includes INC has FILE among its sources, or depends on the target that makes it.
function(shardc_embed file inc)
  file(GENERATE OUTPUT ${inc} CONTENT
"#pragma clang diagnostic push
#pragma clang diagnostic ignored \"-Wc23-extensions\"
#embed \"${file}\" suffix(,)
#pragma clang diagnostic pop
")
endfunction()
