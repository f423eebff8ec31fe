// libcurl, opened at run time.
#include "runtime/mlflow/Curl.h"

#include <dlfcn.h>

namespace shardc::runtime::curl {

namespace {

struct Opened {
  Library functions = {};
  bool isThere = false;
  std::string why;

  Opened() {
    // Built with OpenSSL, and with GnuTLS.
    void *library = nullptr;
    for (const char *name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
      if ((library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
        break;
      const char *error = dlerror();
      why += (why.empty() ? "" : "; ") + std::string(error ? error : name);
    }
    isThere = library &&
              find(library, "curl_global_init", functions.globalInit) &&
              find(library, "curl_easy_init", functions.init) &&
              find(library, "curl_easy_reset", functions.reset) &&
              find(library, "curl_easy_cleanup", functions.cleanup) &&
              find(library, "curl_easy_setopt", functions.setOption) &&
              find(library, "curl_easy_perform", functions.perform) &&
              find(library, "curl_easy_getinfo", functions.information) &&
              find(library, "curl_easy_strerror", functions.errorText) &&
              find(library, "curl_slist_append", functions.append) &&
              find(library, "curl_slist_free_all", functions.freeList);
    if (isThere && functions.globalInit(globalAll) != 0) {
      isThere = false;
      why = "it does not start";
    }
  }

  template <typename Function>
  bool find(void *library, const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function)
      why = std::string("it has no ") + name;
    return function;
  }
};

} // namespace

const Library *library(std::string &why) {
  static const Opened opened;
  why = opened.why;
  return opened.isThere ? &opened.functions : nullptr;
}

} // namespace shardc::runtime::curl
