// What is used of libcurl, as its header declares it: numbers and functions of
// its binary interface, which have stood since 7.61 (2018).
#ifndef SHARDC_RUNTIME_MLFLOW_CURL_H
#define SHARDC_RUNTIME_MLFLOW_CURL_H

#include <string>

namespace shardc::runtime::curl {

enum Option : int {
  WriteData = 10001,
  Url = 10002,
  ReadData = 10009,
  ErrorBuffer = 10010,
  PostFields = 10015,
  UserAgent = 10018,
  LowSpeedLimit = 19,
  LowSpeedTime = 20,
  HttpHeader = 10023,
  SslCertificate = 10025,
  CustomRequest = 10036,
  NoProgress = 43,
  Upload = 46,
  FollowLocation = 52,
  ProgressData = 10057,
  SslVerifyPeer = 64,
  CertificateAuthorities = 10065,
  MaxRedirects = 68,
  SslVerifyHost = 81,
  NoSignal = 99,
  HttpAuthentication = 107,
  TimeoutMilliseconds = 155,
  ConnectTimeoutMilliseconds = 156,
  PostRedirect = 161,
  SeekData = 10168,
  Username = 10173,
  Password = 10174,
  Protocols = 181,
  RedirectProtocols = 182,
  Bearer = 10220,
  WriteFunction = 20011,
  ReadFunction = 20012,
  SeekFunction = 20167,
  ProgressFunction = 20219,
  FileSize = 30115,
  PostFieldSize = 30120,
};
inline constexpr int responseCode = 0x200002; // CURLINFO_RESPONSE_CODE
inline constexpr long globalAll = 3, http = 1, https = 2, basic = 1,
                      bearer = 1 << 6, keepPost = 7;
inline constexpr size_t abortRead = 0x10000000, errorBufferSize = 256;

struct Library {
  int (*globalInit)(long flags);
  void *(*init)();
  void (*reset)(void *handle);
  void (*cleanup)(void *handle);
  int (*setOption)(void *handle, int option, ...);
  int (*perform)(void *handle);
  int (*information)(void *handle, int what, ...);
  const char *(*errorText)(int code);
  void *(*append)(void *list, const char *text);
  void (*freeList)(void *list);
};

/// Opens it once for the process. Null where there is none: `why` says so.
const Library *library(std::string &why);

} // namespace shardc::runtime::curl

#endif
