// Requests over HTTP and HTTPS, by the system's libcurl.
#include "runtime/mlflow/Http.h"

#include "runtime/base/Error.h"
#include "runtime/files/Descriptor.h"
#include "runtime/mlflow/Curl.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <unistd.h>
#include <utility>

namespace shardc::runtime {

namespace {

/// No answer that is asked for is near that.
constexpr size_t mostAnswerBytes = 64 << 20;

const curl::Library &library() {
  std::string why;
  const curl::Library *found = curl::library(why);
  if (!found)
    fail("libcurl cannot be opened: ", why);
  return *found;
}

size_t receive(char *bytes, size_t size, size_t count, void *to) {
  auto *text = static_cast<std::string *>(to);
  if (text->size() + size * count > mostAnswerBytes)
    return 0; // ends the request with an error
  text->append(bytes, size * count);
  return size * count;
}

/// A file that is sent.
struct Upload {
  Descriptor file;
  off_t at = 0;
};

size_t provide(char *bytes, size_t size, size_t count, void *from) {
  auto *upload = static_cast<Upload *>(from);
  ssize_t got = pread(upload->file.get(), bytes, size * count, upload->at);
  if (got < 0)
    return curl::abortRead;
  upload->at += got;
  return static_cast<size_t>(got);
}

/// A redirect wants it from its begin again.
int seek(void *from, int64_t offset, int origin) {
  if (origin != SEEK_SET)
    return 2; // cannot
  static_cast<Upload *>(from)->at = offset;
  return 0;
}

int isOver(void *http, int64_t, int64_t, int64_t, int64_t) {
  return static_cast<Http *>(http)->isAbandoned();
}

} // namespace

Http::Http(HttpSettings given) : settings(std::move(given)) {
  handle = library().init();
  if (!handle)
    fail("libcurl does not start");
}

Http::~Http() { library().cleanup(handle); }

HttpAnswer Http::send(const HttpRequest &request) {
  const curl::Library &curl = library();
  if (abandoned)
    fail("the run does not wait any longer");
  auto set = [&](curl::Option option, auto value) {
    if (int code = curl.setOption(handle, option, value))
      fail("libcurl's option ", option, ": ", curl.errorText(code));
  };
  HttpAnswer answer;
  Upload upload;
  char reason[curl::errorBufferSize] = {};
  curl.reset(handle); // connections stay
  set(curl::NoSignal, 1L);
  set(curl::ErrorBuffer, reason);
  set(curl::UserAgent, "shardc");
  set(curl::Url, request.url.c_str());
  set(curl::CustomRequest, request.method.c_str());
  bool secure = request.url.starts_with("https");
  set(curl::Protocols, curl::http | curl::https);
  // What was encrypted does not go on in the clear.
  set(curl::RedirectProtocols, curl::https | (secure ? 0 : curl::http));
  set(curl::FollowLocation, 1L);
  set(curl::MaxRedirects, 5L);
  set(curl::PostRedirect, curl::keepPost);
  set(curl::ConnectTimeoutMilliseconds,
      static_cast<long>(1e3 * std::min(10.0, settings.timeout)));
  if (!settings.username.empty()) {
    set(curl::HttpAuthentication, curl::basic);
    set(curl::Username, settings.username.c_str());
    set(curl::Password, settings.password.c_str());
  } else if (!settings.token.empty()) {
    set(curl::HttpAuthentication, curl::bearer);
    set(curl::Bearer, settings.token.c_str());
  }
  set(curl::SslVerifyPeer, settings.checksCertificate ? 1L : 0L);
  set(curl::SslVerifyHost, settings.checksCertificate ? 2L : 0L);
  if (!settings.authorities.empty())
    set(curl::CertificateAuthorities, settings.authorities.c_str());
  if (!settings.clientCertificate.empty())
    set(curl::SslCertificate, settings.clientCertificate.c_str());
  set(curl::WriteFunction, receive);
  set(curl::WriteData, static_cast<void *>(&answer.body));
  set(curl::ProgressFunction, isOver);
  set(curl::ProgressData, static_cast<void *>(this));
  set(curl::NoProgress, 0L);
  const char *type = "Content-Type: application/json";
  if (!request.file.empty()) {
    type = "Content-Type: application/octet-stream";
    upload.file = Descriptor::openForReading(request.file);
    set(curl::Upload, 1L);
    set(curl::ReadFunction, provide);
    set(curl::ReadData, static_cast<void *>(&upload));
    set(curl::SeekFunction, seek);
    set(curl::SeekData, static_cast<void *>(&upload));
    set(curl::FileSize,
        static_cast<int64_t>(upload.file.regularSize(request.file)));
    // However long it takes, as long as it goes on.
    set(curl::LowSpeedLimit, 1L);
    set(curl::LowSpeedTime, std::max(1L, static_cast<long>(settings.timeout)));
  } else {
    set(curl::TimeoutMilliseconds, static_cast<long>(1e3 * settings.timeout));
    if (!request.body.empty()) {
      set(curl::PostFieldSize, static_cast<int64_t>(request.body.size()));
      set(curl::PostFields, request.body.c_str());
    }
  }
  // Without waiting for a server to say "100 Continue", which some never do.
  std::unique_ptr<void, void (*)(void *)> headers(curl.append(nullptr, type),
                                                  curl.freeList);
  if (!headers || !curl.append(headers.get(), "Expect:"))
    fail("out of memory");
  set(curl::HttpHeader, headers.get());
  int code = curl.perform(handle);
  if (abandoned)
    fail("the run does not wait any longer");
  if (code)
    fail(*reason ? reason : curl.errorText(code));
  if (int failed = curl.information(handle, curl::responseCode, &answer.status))
    fail(curl.errorText(failed));
  return answer;
}

std::string percentEncoded(const std::string &text) {
  std::string encoded;
  for (unsigned char c : text) {
    bool isPlain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
                   c == '~';
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", c);
    encoded += isPlain ? std::string(1, static_cast<char>(c)) : code;
  }
  return encoded;
}

} // namespace shardc::runtime
